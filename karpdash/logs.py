"""Log lines as JSON on standard error, without bodies of other people's requests (K17)."""

import logging

import structlog
from structlog.typing import Processor

SILENCED = ("urllib3", "kubernetes", "botocore", "boto3")


class NoBodies(logging.Filter):
    """Drops DEBUG lines of libraries that print bodies and headers with tokens in them."""

    def filter(self, record: logging.LogRecord) -> bool:
        return record.levelno > logging.DEBUG or not record.name.startswith(SILENCED)


def json_formatter() -> logging.Formatter:
    """One JSON object a line: event, level, logger, timestamp."""
    shared: list[Processor] = [
        structlog.stdlib.add_log_level,
        structlog.stdlib.add_logger_name,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
    ]
    return structlog.stdlib.ProcessorFormatter(
        foreign_pre_chain=shared,
        processors=[
            structlog.stdlib.ProcessorFormatter.remove_processors_meta,
            structlog.processors.format_exc_info,
            structlog.processors.JSONRenderer(),
        ],
    )

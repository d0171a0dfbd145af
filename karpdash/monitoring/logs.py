"""JSON log lines on standard error, with request, scan and rollout ids, without bodies and secrets (K17, T23)."""

import logging
import re
import sys
import traceback
from collections.abc import Callable, Iterator
from typing import Any

import structlog
from structlog.typing import EventDict, Processor, WrappedLogger

from karpdash.configuration.env import Env, current
from migrations_app.errors import KarpdashError, TaskFailed
from migrations_app.redaction import replace_secrets

SILENCED = ("urllib3", "kubernetes", "botocore", "boto3", "django.db.backends")
EXTRAS = (
    *("scan", "rollout", "cluster", "fleet_scan", "request_id", "row", "rows", "sink", "code", "reason", "task"),
    *("method", "path", "status", "ms", "account", "address"),
)
"""Record fields that become fields of the line; other attributes that a library sets are left out."""
HIDDEN = "[secret]"
_HARMLESS = (KarpdashError, OSError, AttributeError, TypeError, NameError, ArithmeticError, ImportError)
"""Errors whose text only names parts of the code or the system. The text of other errors may contain input and is left
out.
"""


class NoBodies(logging.Filter):
    """Drops DEBUG lines of libraries that log bodies, and headers with tokens."""

    def filter(self, record: logging.LogRecord) -> bool:
        if record.name == "celery.app.trace" and record.exc_info:
            if isinstance(record.exc_info[1], TaskFailed):
                return False  # the task has logged its failure itself
            # Celery puts the error and its traceback into the message; `exception_as_text` logs them without the input
            # they contain.
            record.task = str(getattr(record, "data", {}).get("name", ""))
            record.msg, record.args = "task failed", ()
        return record.levelno > logging.DEBUG or not record.name.startswith(SILENCED)


def json_formatter() -> logging.Formatter:
    """Returns a formatter of one JSON object a line: event, level, logger, timestamp, and the ids of request, scan and
    rollout.
    """
    shared: list[Processor] = [
        structlog.contextvars.merge_contextvars,
        structlog.stdlib.add_log_level,
        structlog.stdlib.add_logger_name,
        structlog.stdlib.ExtraAdder(allow=EXTRAS),
        structlog.processors.TimeStamper(fmt="iso", utc=True),
    ]
    return structlog.stdlib.ProcessorFormatter(
        foreign_pre_chain=shared,
        processors=[
            structlog.stdlib.ProcessorFormatter.remove_processors_meta,
            exception_as_text,
            scrubber(current()),
            structlog.processors.JSONRenderer(),
        ],
    )


def exception_as_text(_logger: WrappedLogger, _method: str, event: EventDict) -> EventDict:
    """Replaces an exception by types and stack frames; the exception's message is kept only if it is harmless."""
    exc_info = event.pop("exc_info", None)
    if exc_info is True:
        exc_info = sys.exc_info()
    error = exc_info[1] if isinstance(exc_info, tuple) else exc_info
    if isinstance(error, BaseException):
        event["exception"] = "\n".join(_lines(error))
    return event


def _lines(error: BaseException) -> Iterator[str]:
    """Returns, for the exception and each of its causes, the type (with the message if harmless), then the stack
    frames, innermost last.
    """
    visited: set[int] = set()
    current: BaseException | None = error
    while current is not None and id(current) not in visited:
        visited.add(id(current))
        kind = type(current)
        text = f": {current}" if _is_harmless(current) else ""
        yield f"{'because of ' if current is not error else ''}{kind.__module__}.{kind.__qualname__}{text}"
        for frame in traceback.extract_tb(current.__traceback__):
            yield f"  {frame.filename}:{frame.lineno} in {frame.name}"
        current = current.__cause__ or (None if current.__suppress_context__ else current.__context__)


def _is_harmless(error: BaseException) -> bool:
    return isinstance(error, _HARMLESS) or type(error).__module__.startswith(("django.db", "redis", "kombu"))


def scrubber(env: Env) -> Processor:
    """Returns a processor that hides secrets: those of this installation, and everything that looks like one."""
    secret_texts = sorted({secret for secret in _secrets(env) if len(secret) >= 8}, key=len, reverse=True)
    secret_pattern = re.compile("|".join(map(re.escape, secret_texts))) if secret_texts else None

    def scrub(_logger: WrappedLogger, _method: str, event: EventDict) -> EventDict:
        return {name: _scrubbed(value, lambda text: _hidden(text, secret_pattern)) for name, value in event.items()}

    return scrub


def _secrets(env: Env) -> Iterator[str]:
    yield env.secret_key
    yield str(env.database.get("PASSWORD", ""))
    yield env.audit_sinks.token.reveal()
    if env.email:
        yield env.email.password.reveal()
    if env.aws.keys:
        yield env.aws.keys.secret.reveal()
        yield env.aws.keys.token.reveal()


def _hidden(text: str, secret_pattern: re.Pattern[str] | None) -> str:
    return replace_secrets(secret_pattern.sub(HIDDEN, text) if secret_pattern else text, HIDDEN)


def _scrubbed(value: Any, hide: Callable[[str], str]) -> Any:  # noqa: ANN401 - any JSON goes in and comes out
    if isinstance(value, str):
        return hide(value)
    if isinstance(value, dict):
        return {hide(str(name)): _scrubbed(item, hide) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [_scrubbed(item, hide) for item in value]
    return value if isinstance(value, int | float | bool) or value is None else hide(str(value))

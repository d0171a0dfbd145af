"""The log of karpdash as a test reads it."""

import io
import logging
from collections.abc import Iterator
from contextlib import contextmanager

from karpdash.monitoring import logs


@contextmanager
def captured_log() -> Iterator[io.StringIO]:
    """Everything that is logged at DEBUG, written as a worker writes it."""
    stream = io.StringIO()
    handler = logging.StreamHandler(stream)
    handler.setFormatter(logs.json_formatter())
    handler.addFilter(logs.NoBodies())
    root = logging.getLogger()
    level = root.level
    root.addHandler(handler)
    root.setLevel(logging.DEBUG)
    try:
        yield stream
    finally:
        root.removeHandler(handler)
        root.setLevel(level)

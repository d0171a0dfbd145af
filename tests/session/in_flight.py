"""Connections that the live server holds. A test ends when there is none: its tables are emptied over the connection to
the database that its requests use.
"""

import threading
from typing import Any

from django.core.servers.basehttp import ThreadedWSGIServer

from tests.servers.waiting import eventually

_lock = threading.Lock()
_open = 0


def _count(by: int) -> None:
    global _open
    with _lock:
        _open += by


def watch() -> None:
    """Counts from now on: a connection from its acceptance on to the end of its thread."""
    accept, serve = ThreadedWSGIServer.process_request, ThreadedWSGIServer.process_request_thread

    def accepted(self: ThreadedWSGIServer, *of: Any) -> None:
        _count(1)
        accept(self, *of)

    def served(self: ThreadedWSGIServer, *of: Any) -> None:
        try:
            serve(self, *of)
        finally:
            _count(-1)

    setattr(ThreadedWSGIServer, "process_request", accepted)  # noqa: B010 - mypy takes no assignment to a method
    setattr(ThreadedWSGIServer, "process_request_thread", served)  # noqa: B010 - the same


def connections() -> int:
    """How many there are now."""
    return _open


def wait() -> None:
    """Returns when the browser has closed its connections and every request has its answer. Raises TimeoutError."""
    eventually(lambda: connections() == 0, what="the live server to have answered every request")

"""Renews a lease on a thread of its own while a worker does the work."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from django.db import Error, connection


@contextmanager
def renewed_lease(renew: Callable[[], bool], *, seconds: float) -> Iterator[None]:
    """Calls `renew` every `seconds` until the block ends, or until it returns False because the lease is lost.

    Losing the lease raises nothing here: the next write with its fencing token is refused. After an error of
    the database it is tried again over a new connection, because a restart does not end a lease.
    """
    ended = threading.Event()

    def keep_renewing() -> None:
        while not ended.wait(seconds) and _is_held(renew):
            pass
        connection.close()

    thread = threading.Thread(target=keep_renewing, name="lease", daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join(timeout=5)


def _is_held(renew: Callable[[], bool]) -> bool:
    try:
        return renew()
    except Error:
        connection.close()
        return True

"""Serializes the use of a SQLite connection that several threads of a test share.

Django's live server and the test use one connection to a database in memory. Two threads inside it can end in a
deadlock that no time limit ends: one holds the connection's mutex and waits for the interpreter's lock, to call a
function that Django wrote in Python; the other holds the interpreter's lock and waits for the mutex. The product has a
connection for each thread.
"""

import threading
from typing import Any

from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.backends.sqlite3.base import DatabaseWrapper, SQLiteCursorWrapper


class OneAtATimeCursor(SQLiteCursorWrapper):
    """A cursor whose calls into SQLite wait for those of other threads on the same connection."""

    lock: threading.RLock

    def execute(self, *given: Any, **named: Any) -> Any:
        with self.lock:
            return super().execute(*given, **named)

    def executemany(self, *given: Any, **named: Any) -> Any:
        with self.lock:
            return super().executemany(*given, **named)

    def fetchone(self) -> Any:
        with self.lock:
            return super().fetchone()

    def fetchmany(self, *given: Any, **named: Any) -> Any:
        with self.lock:
            return super().fetchmany(*given, **named)

    def fetchall(self) -> Any:
        with self.lock:
            return super().fetchall()

    def __next__(self) -> Any:
        with self.lock:
            return super().__next__()


def serialise() -> None:
    """Makes every SQLite connection of this process admit one thread at a time."""

    def create_cursor(self: DatabaseWrapper, name: str | None = None) -> OneAtATimeCursor:
        cursor: OneAtATimeCursor = self.connection.cursor(factory=OneAtATimeCursor)
        cursor.lock = vars(self).setdefault("_one_at_a_time", threading.RLock())
        return cursor

    setattr(DatabaseWrapper, "create_cursor", create_cursor)  # noqa: B010 # mypy takes no assignment to a method


def close_in_threads() -> None:
    """Makes each thread really close its own connection to a database in memory, which Django would keep open: Python
    3.13 and newer warn of each open connection. The thread that calls this keeps its own, as the database is lost with
    its last connection.
    """
    keeper, kept = threading.get_ident(), DatabaseWrapper.close

    def close(self: DatabaseWrapper) -> None:
        own = vars(self)["_thread_ident"]
        if own == threading.get_ident() != keeper:
            BaseDatabaseWrapper.close(self)
        else:
            kept(self)

    setattr(DatabaseWrapper, "close", close)  # noqa: B010 # mypy takes no assignment to a method

"""Time that stands still until an event moves it: for Python, for SQLite, and for each worker's own clock."""

from datetime import UTC, datetime, timedelta
from typing import Any

from django.db import connection
from django.utils import timezone

BEGAN = datetime(2026, 1, 5, 12, tzinfo=UTC)


class FrozenTime:
    """The time of the database and of `timezone.now`."""

    def __init__(self) -> None:
        self.now = BEGAN

    def pass_by(self, seconds: float) -> None:
        self.now += timedelta(seconds=seconds)

    def age(self, moment: datetime | None) -> float | None:
        """Seconds since then, negative for the future."""
        return None if moment is None else (self.now - moment).total_seconds()

    def install(self) -> None:
        """Everything in this process goes by it from now on; only for a process of its own."""
        timezone.now = lambda: self.now  # this process does nothing else
        connection.ensure_connection()
        connection.connection.create_function("strftime", -1, self._in_sqlite)

    def _in_sqlite(self, _form: str, *rest: Any) -> str:
        assert rest[0] == "NOW", rest
        return self.now.strftime("%Y-%m-%d %H:%M:%S.%f")[:-3]

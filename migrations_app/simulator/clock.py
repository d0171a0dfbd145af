"""The time that the simulator goes by: that of the machine, or a simulated one that is moved by hand."""

from datetime import UTC, datetime, timedelta
from typing import Protocol


class SimulatorClock(Protocol):
    """Tells the time."""

    def now(self) -> datetime:
        """The current time, with its time zone."""


class MachineClock:
    """The clock of this machine."""

    def now(self) -> datetime:
        return datetime.now(UTC)


class SimulatedClock:
    """Stands still until it is moved; never runs backwards."""

    def __init__(self, start: datetime) -> None:
        self._now = start

    def now(self) -> datetime:
        return self._now

    def advance(self, to: datetime) -> None:
        """Moves it to this time. Raises ValueError for a time in its past."""
        if to < self._now:
            raise ValueError(f"{to.isoformat()} is before {self._now.isoformat()}")
        self._now = to

    def add(self, seconds: float) -> None:
        self.advance(self._now + timedelta(seconds=seconds))

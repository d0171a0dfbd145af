"""The clocks of the simulator: that of the machine, and a simulated one that is advanced by calls."""

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
    """Shows the same time until it is advanced; never runs backwards."""

    def __init__(self, start: datetime) -> None:
        self._now = start

    def now(self) -> datetime:
        return self._now

    def advance(self, to: datetime) -> None:
        """Sets the time. Raises ValueError for an earlier time."""
        if to < self._now:
            raise ValueError(f"{to.isoformat()} is before {self._now.isoformat()}")
        self._now = to

    def add(self, seconds: float) -> None:
        self.advance(self._now + timedelta(seconds=seconds))

"""Keeps the moments at which something is due; the simulator jumps from one to the next."""

import heapq
from collections.abc import Hashable, Iterator, Mapping

from migrations_app.simulator.clock import SimulatorClock


class Agenda:
    """The moments that controllers wait for, in seconds since the epoch."""

    def __init__(self, clock: SimulatorClock) -> None:
        self._clock = clock
        self._moments: dict[Hashable, float] = {}
        self._heap: list[float] = []
        self._stops: set[float] = set()

    @property
    def now(self) -> float:
        return self._clock.now().timestamp()

    def due(self, key: Hashable, *, after: float) -> bool:
        """Returns whether `after` seconds have passed since the first call for this key, and then forgets the key.

        If not, the simulator stops at that moment.
        """
        if after <= 0:
            return True
        moment = self._moments.get(key)
        if moment is None:
            moment = self._moments[key] = self.now + after
            heapq.heappush(self._heap, moment)
        if moment > self.now:
            return False
        del self._moments[key]
        return True

    def reached(self, moment: float) -> bool:
        """Returns whether the time has come; if not, the simulator stops at that moment."""
        if moment <= self.now:
            return True
        if moment not in self._stops:
            self._stops.add(moment)
            heapq.heappush(self._heap, moment)
        return False

    def moments(self) -> dict[Hashable, float]:
        """Returns the moments of keys that are not due yet, by key."""
        return dict(self._moments)

    def recall(self, moments: Mapping[Hashable, float]) -> None:
        """Adds the moments of another agenda, to continue its work."""
        for key, moment in moments.items():
            self._moments[key] = moment
            heapq.heappush(self._heap, moment)

    def next(self) -> float | None:
        """Returns the next moment at which something may be due; None if there is none."""
        while self._heap and self._heap[0] <= self.now:
            self._stops.discard(heapq.heappop(self._heap))
        return self._heap[0] if self._heap else None


class Timers:
    """Timers of one controller, by key; each one fires once."""

    def __init__(self, agenda: Agenda) -> None:
        self._agenda = agenda
        self._heap: list[tuple[float, int, str]] = []
        self._known: set[str] = set()
        self._count = 0

    def add(self, key: str, *, after: float) -> None:
        """Sets a timer, unless the key has one."""
        if key in self._known:
            return
        self._known.add(key)
        self._count += 1
        moment = self._agenda.now + max(0.0, after)
        heapq.heappush(self._heap, (moment, self._count, key))
        self._agenda.reached(moment)

    def ready(self) -> Iterator[str]:
        """Yields the keys whose time has come, in the order of their times."""
        now = self._agenda.now
        while self._heap and self._heap[0][0] <= now:
            key = heapq.heappop(self._heap)[2]
            self._known.discard(key)
            yield key

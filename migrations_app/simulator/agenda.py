"""What is due when: the simulator jumps from one of these moments to the next."""

import heapq
from collections.abc import Hashable, Iterator, Mapping

from migrations_app.simulator.clock import SimulatorClock


class Agenda:
    """Times are seconds since the epoch."""

    def __init__(self, clock: SimulatorClock) -> None:
        self._clock = clock
        self._moments: dict[Hashable, float] = {}
        self._heap: list[float] = []
        self._stops: set[float] = set()

    @property
    def now(self) -> float:
        return self._clock.now().timestamp()

    def due(self, key: Hashable, *, after: float) -> bool:
        """Whether that many seconds have passed since this was first asked for the key; then it is forgotten."""
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
        """Whether this time has come; if not, the simulator stops there."""
        if moment <= self.now:
            return True
        if moment not in self._stops:
            self._stops.add(moment)
            heapq.heappush(self._heap, moment)
        return False

    def moments(self) -> dict[Hashable, float]:
        """What was asked for and is not due yet, by key."""
        return dict(self._moments)

    def recall(self, moments: Mapping[Hashable, float]) -> None:
        """Waits for these moments, as another agenda did."""
        for key, moment in moments.items():
            self._moments[key] = moment
            heapq.heappush(self._heap, moment)

    def next(self) -> float | None:
        """The next moment at which something may be due; None if nothing is."""
        while self._heap and self._heap[0] <= self.now:
            self._stops.discard(heapq.heappop(self._heap))
        return self._heap[0] if self._heap else None


class Timers:
    """What one controller does later: each key is told once, when its time has come."""

    def __init__(self, agenda: Agenda) -> None:
        self._agenda = agenda
        self._heap: list[tuple[float, int, str]] = []
        self._known: set[str] = set()
        self._count = 0

    def add(self, key: str, *, after: float) -> None:
        """Sets a timer, unless there is one for this key."""
        if key in self._known:
            return
        self._known.add(key)
        self._count += 1
        moment = self._agenda.now + max(0.0, after)
        heapq.heappush(self._heap, (moment, self._count, key))
        self._agenda.reached(moment)

    def ready(self) -> Iterator[str]:
        """The keys whose time has come, in the order of their times."""
        now = self._agenda.now
        while self._heap and self._heap[0][0] <= now:
            key = heapq.heappop(self._heap)[2]
            self._known.discard(key)
            yield key

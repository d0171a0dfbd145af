"""How long the pages that watch runs wait before they ask again: longer the more of them there are."""

import threading
from dataclasses import dataclass, field

WINDOW_SECONDS = 10.0
ANSWERS_A_SECOND = 40
"""Measured: with more, 200 readers of one run cost more than a fifth of a core."""
SHORTEST, LONGEST = 2, 15
"""Seconds."""


@dataclass(slots=True)
class Watchers:
    """The readers that asked one process in this window of WINDOW_SECONDS, and in the window before it."""

    _began: float = 0.0
    _now: set[str] = field(default_factory=set)
    _before: set[str] = field(default_factory=set)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def pause_for(self, reader: str, *, at: float) -> int:
        """Seconds until that reader may ask again. `at` is a clock in seconds that never goes back."""
        with self._lock:
            if at - self._began >= WINDOW_SECONDS:
                self._before = self._now if at - self._began < 2 * WINDOW_SECONDS else set()
                self._now, self._began = set(), at
            self._now.add(reader)
            many = len(self._now | self._before)
        return min(LONGEST, max(SHORTEST, -(-many // ANSWERS_A_SECOND)))

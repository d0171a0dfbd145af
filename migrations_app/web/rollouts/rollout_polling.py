"""Answers the polling of many pages that watch one rollout, mostly with 304. Rights are checked at each request."""

import gzip
import hashlib
import threading
import time
import uuid
from collections.abc import Callable
from dataclasses import dataclass, field

from django.core.cache.backends.locmem import LocMemCache
from django.http import HttpRequest, HttpResponse

from migrations_app.queries.rollouts.page_version import PageVersion, page_version_of

WINDOW_SECONDS = 10.0
ANSWERS_A_SECOND = 40
"""Measured: with more, 200 readers of one run cost more than a fifth of a core."""
MIN_PAUSE_SECONDS, MAX_PAUSE_SECONDS = 2, 15
"""The shortest and the longest pause in seconds before a page asks again."""
DRAWN_SECONDS = 10
"""Seconds for which a rendered live part is reused; the elapsed times in it are up to that old."""
_DRAWN = LocMemCache("live-rollouts", {"OPTIONS": {"MAX_ENTRIES": 20}})
_LOCK = threading.Lock()
PAUSE = "X-Rollout-Pause"
"""Header with the minimum number of seconds until the page polls again."""


@dataclass(slots=True)
class Watchers:
    """Counts the sessions that polled this process in this window of WINDOW_SECONDS, and in the window before."""

    _began: float = 0.0
    _now: set[str] = field(default_factory=set)
    _before: set[str] = field(default_factory=set)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def pause_for(self, reader: str, *, at: float) -> int:
        """Returns the seconds until that session may poll again. `at` is a clock in seconds that never goes back."""
        with self._lock:
            if at - self._began >= WINDOW_SECONDS:
                self._before = self._now if at - self._began < 2 * WINDOW_SECONDS else set()
                self._now, self._began = set(), at
            self._now.add(reader)
            readers = len(self._now | self._before)
        return min(MAX_PAUSE_SECONDS, max(MIN_PAUSE_SECONDS, -(-readers // ANSWERS_A_SECOND)))


_WATCHERS = Watchers()


def live_answer(request: HttpRequest, rollout_id: uuid.UUID, *, draw: Callable[[], str]) -> HttpResponse:
    """Returns the live part for a user whose rights were just checked; 304 while it has not changed.

    `draw` is called once for all who watch the rollout. Raises NotFound.
    """
    mark = page_version_of(rollout_id)
    client_etag = request.headers.get("If-None-Match", "").removeprefix("W/")  # weak once a proxy compressed the answer
    if client_etag == mark.etag:
        answer = HttpResponse(status=304)
    else:
        answer = _part_response(request, _cached_part(_name(request, rollout_id, mark=mark), draw))
    answer["ETag"] = mark.etag
    answer["X-Rollout-Version"] = mark.page_version
    answer[PAUSE] = str(_WATCHERS.pause_for(request.session.session_key or "", at=time.monotonic()))
    return answer


def _cached_part(name: str, draw: Callable[[], str]) -> tuple[bytes, bytes]:
    """Returns the part plain and compressed. A request that comes while the part is being rendered waits for it."""
    with _LOCK:
        part: tuple[bytes, bytes] | None = _DRAWN.get(name)
        if part is None:
            body = draw().encode()
            part = body, gzip.compress(body, 6, mtime=0)
            _DRAWN.set(name, part, DRAWN_SECONDS)
    return part


def _part_response(request: HttpRequest, part: tuple[bytes, bytes]) -> HttpResponse:
    """Returns the part, already compressed. It holds nothing that belongs to one reader, so its length reveals nothing
    (BREACH).
    """
    packed = "gzip" in request.headers.get("Accept-Encoding", "")
    answer = HttpResponse(part[packed])
    answer["Vary"] = "Accept-Encoding"
    if packed:
        answer["Content-Encoding"] = "gzip"
    return answer


def _name(request: HttpRequest, rollout_id: uuid.UUID, *, mark: PageVersion) -> str:
    return hashlib.sha256(f"{rollout_id} {mark.etag} {request.GET.urlencode()}".encode()).hexdigest()

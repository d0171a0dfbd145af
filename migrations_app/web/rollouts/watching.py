"""Answers pages that watch a run: many ask, often, and mostly nothing has changed. They need no database for that.

Who was let in to a live part is let in to the same part for TRUSTED_SECONDS more, in this process. A session that ended
or a right that was taken back therefore ends the watching after that time at the latest; every other page asks at once.
"""

import gzip
import hashlib
import threading
import time
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from typing import NamedTuple

from django.conf import settings
from django.core.cache.backends.locmem import LocMemCache
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase

from migrations_app.errors import NotFound
from migrations_app.queries.rehearsals.rehearsals import rehearsal_mark
from migrations_app.queries.rollouts.live_mark import live_mark
from migrations_app.queries.visibility import ALL, visibility_scope

TRUSTED_SECONDS = 10
SHARED_SECONDS = 1
"""For how long a reading of the run serves others; nobody is answered from the same one twice."""
DRAWN_SECONDS = 10
"""For how long a drawn live part is used again; its elapsed times are as old."""
MOST_WATCHERS = 5000
LiveView = Callable[[HttpRequest, uuid.UUID], HttpResponseBase]
_DRAWN = LocMemCache("live-rollouts", {"OPTIONS": {"MAX_ENTRIES": 20}})


class RunReading(NamedTuple):
    """The state of a run as it was read: the ETag and version of its live part, and when (monotonic)."""

    etag: str
    page_version: str
    at: float


@dataclass(slots=True)
class Watcher:
    """Somebody who was let in: until when that holds, and when they were answered last (monotonic)."""

    until: float
    answered: float


_PENCIL = threading.Lock()
_READINGS: dict[uuid.UUID, RunReading] = {}
_WATCHERS: dict[str, Watcher] = {}


def watched(view: LiveView) -> LiveView:
    """Decorator for a live part, outside the one that asks for rights: whoever was let in just now gets in again."""

    @wraps(view)
    def answered(request: HttpRequest, /, rollout_id: uuid.UUID) -> HttpResponseBase:
        key, now = _key(request, rollout_id), time.monotonic()
        watcher = _WATCHERS.get(key)
        if watcher is not None and now < watcher.until and request.method == "GET":
            told = _told(request, rollout_id, watcher=watcher)
            if told is not None:
                return told
        answer = view(request, rollout_id)
        if key and answer.status_code in (200, 304):
            _let_in(key, now)
        else:
            _WATCHERS.pop(key, None)
        return answer

    return answered


def live_answer(request: HttpRequest, rollout_id: uuid.UUID, *, draw: Callable[[], str]) -> HttpResponse:
    """The live part as it is now, for somebody whose rights were just looked at; 304 while it has not changed. Raises
    NotFound.
    """
    reading = _reading(rollout_id, watcher=_WATCHERS.get(_key(request, rollout_id)))
    answer = _unchanged(request, reading) or _drawn(
        request, _drawn_once(_drawing(request, rollout_id, reading=reading), draw)
    )
    return _headed(answer, reading)


def _drawn_once(name: str, draw: Callable[[], str]) -> tuple[bytes, bytes]:
    """The part plain and compressed. Who comes while it is being drawn waits for it."""
    with _PENCIL:
        found: tuple[bytes, bytes] | None = _DRAWN.get(name)
        if found is None:
            body = draw().encode()
            found = body, gzip.compress(body, 6, mtime=0)
            _DRAWN.set(name, found, DRAWN_SECONDS)
    return found


def _told(request: HttpRequest, rollout_id: uuid.UUID, *, watcher: Watcher) -> HttpResponse | None:
    """The answer to somebody who is let in; None if the part has to be drawn, or is not there any more."""
    try:
        with visibility_scope(ALL):
            reading = _reading(rollout_id, watcher=watcher)
    except NotFound:
        return None
    answer = _unchanged(request, reading)
    if answer is None:
        drawn = _DRAWN.get(_drawing(request, rollout_id, reading=reading))
        if drawn is None:
            return None
        answer = _drawn(request, drawn)
    watcher.answered = time.monotonic()
    return _headed(answer, reading)


def _reading(rollout_id: uuid.UUID, *, watcher: Watcher | None) -> RunReading:
    """One that another reader had read just now, or a new one."""
    shared = _READINGS.get(rollout_id)
    if shared and watcher and watcher.answered < shared.at >= time.monotonic() - SHARED_SECONDS:
        return shared
    mark = live_mark(rollout_id)
    found = RunReading(mark.etag, mark.page_version + rehearsal_mark(rollout_id), time.monotonic())
    if len(_READINGS) >= MOST_WATCHERS:
        _READINGS.clear()
    _READINGS[rollout_id] = found
    return found


def _unchanged(request: HttpRequest, reading: RunReading) -> HttpResponse | None:
    known = request.headers.get("If-None-Match", "").removeprefix("W/")  # weak once a proxy compressed the answer
    return HttpResponse(status=304) if known == reading.etag else None


def _drawn(request: HttpRequest, drawn: tuple[bytes, bytes]) -> HttpResponse:
    """The part, compressed already. It holds nothing of the reader's own, so that its length tells nothing (BREACH)."""
    packed = "gzip" in request.headers.get("Accept-Encoding", "")
    answer = HttpResponse(drawn[packed])
    answer["Vary"] = "Accept-Encoding"
    if packed:
        answer["Content-Encoding"] = "gzip"
    return answer


def _headed(answer: HttpResponse, reading: RunReading) -> HttpResponse:
    answer["ETag"] = reading.etag
    answer["X-Rollout-Version"] = reading.page_version
    return answer


def _drawing(request: HttpRequest, rollout_id: uuid.UUID, *, reading: RunReading) -> str:
    return hashlib.sha256(f"{rollout_id} {reading.etag} {request.GET.urlencode()}".encode()).hexdigest()


def _key(request: HttpRequest, rollout_id: uuid.UUID) -> str:
    """Names the session and the run without holding the key of the session; empty without a session."""
    cookie = request.COOKIES.get(settings.SESSION_COOKIE_NAME, "")
    return hashlib.sha256(f"{cookie} {rollout_id}".encode()).hexdigest() if cookie else ""


def _let_in(key: str, now: float) -> None:
    if len(_WATCHERS) >= MOST_WATCHERS:
        for old in [name for name, one in _WATCHERS.copy().items() if one.until < now]:
            _WATCHERS.pop(old, None)
    if len(_WATCHERS) < MOST_WATCHERS:
        _WATCHERS[key] = Watcher(until=now + TRUSTED_SECONDS, answered=time.monotonic())

"""Sessions in the database, stored under a digest of their key, so that a copy of the database signs nobody in.

A session ends IDLE_TIMEOUT after its person was last active, and MAX_AGE after the sign-in in any case. A session whose
times are in the future is refused, since its age is unknown; `retention.py` deletes it.
"""

import hashlib
from datetime import timedelta
from typing import Any

from django.contrib.auth.signals import user_logged_in
from django.contrib.sessions.backends.db import SessionStore as DatabaseSessionStore
from django.contrib.sessions.base_session import AbstractBaseSession
from django.dispatch import receiver
from django.http import HttpRequest
from django.utils import timezone

IDLE_TIMEOUT = timedelta(hours=4)
"""Longer than NIST recommends: people watch rollouts for hours, and destructive actions need a recent sign-in (A44)."""
MAX_AGE = timedelta(hours=12)
ACTIVITY_INTERVAL = timedelta(minutes=5)
"""The precision of the time of last activity: each update is a write."""
BEGAN, ACTIVE = "began_at", "active_at"


def stored_key(session_key: str) -> str:
    """Returns what the table holds instead of the key of the cookie: 40 characters of its SHA-256."""
    return hashlib.sha256(session_key.encode()).hexdigest()[:40]


class SessionStore(DatabaseSessionStore):
    """Django's database store; only the digest of a key is written or looked up. The key itself is only in the
    cookie.
    """

    def load(self) -> dict[str, Any]:
        """Returns the content of the session; nothing if it is over."""
        values: dict[str, Any] = super().load()
        if is_over(values):
            self._session_key = None
            return {}
        return values

    def _get_session_from_db(self) -> AbstractBaseSession | None:
        key = self.session_key
        if key is None:
            return None
        self._session_key = stored_key(key)
        try:
            session: AbstractBaseSession | None = super()._get_session_from_db()  # type: ignore[misc]  # not in the stubs
            return session
        finally:
            if self._session_key is not None:
                self._session_key = key

    def exists(self, session_key: str) -> bool:
        return super().exists(stored_key(session_key))

    def create_model_instance(self, data: dict[str, Any]) -> AbstractBaseSession:
        row = super().create_model_instance(data)
        row.session_key = stored_key(row.session_key)
        return row

    def delete(self, session_key: str | None = None) -> None:
        key = session_key or self.session_key
        if key is not None:
            super().delete(stored_key(key))


def is_over(data: dict[str, Any]) -> bool:
    """Whether a signed-in session with that data is over by now; never for a session without times."""
    now = _now()
    began, active = int(data.get(BEGAN, now)), int(data.get(ACTIVE, now))
    ahead = max(began, active) - now > ACTIVITY_INTERVAL.total_seconds()
    return ahead or now - began >= MAX_AGE.total_seconds() or now - active >= IDLE_TIMEOUT.total_seconds()


def is_by_person(request: HttpRequest) -> bool:
    """Whether a person caused the request. Requests that a page sends while polling are GETs by htmx."""
    return request.method != "GET" or request.headers.get("HX-Request") != "true"


def note_activity(session: Any) -> None:  # noqa: ANN401 - the store of the settings
    """Records that the person of a session was active, at most once in ACTIVITY_INTERVAL."""
    if _now() - session.get(ACTIVE, _now()) >= ACTIVITY_INTERVAL.total_seconds():
        session[ACTIVE] = _now()


@receiver(user_logged_in)
def _begin(request: HttpRequest, **_about: Any) -> None:  # noqa: ANN401 - a signal's own parameters
    request.session[BEGAN] = request.session[ACTIVE] = _now()


def _now() -> int:
    return int(timezone.now().timestamp())

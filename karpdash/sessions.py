"""Sessions in the database, under a digest of their key: a copy of the database signs nobody in."""

import hashlib
from typing import Any

from django.contrib.sessions.backends.db import SessionStore as DatabaseSessionStore
from django.contrib.sessions.base_session import AbstractBaseSession


def stored_key(session_key: str) -> str:
    """What the table holds instead of the key of the cookie: 40 characters of its SHA-256."""
    return hashlib.sha256(session_key.encode()).hexdigest()[:40]


class SessionStore(DatabaseSessionStore):
    """Django's database store; only the digest of a key is written or looked up. The key lives in the cookie."""

    def _get_session_from_db(self) -> AbstractBaseSession | None:
        key = self.session_key
        if key is None:
            return None
        self._session_key = stored_key(key)
        try:
            found: AbstractBaseSession | None = super()._get_session_from_db()  # type: ignore[misc]  # not in the stubs
            return found
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

"""What tests need that make requests out of the published schema."""

from collections.abc import Iterator

import pytest
from django.core.signals import request_finished, request_started
from django.db import close_old_connections

from migrations_app.api import events


@pytest.fixture
def no_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    """A made-up `wait` of the events is not waited for."""
    monkeypatch.setattr(events, "pause", lambda _seconds: None)


@pytest.fixture
def one_connection() -> Iterator[None]:
    """A real server closes its connection after each request; here that would end the test's transaction."""
    for signal in (request_started, request_finished):
        signal.disconnect(close_old_connections)
    yield
    for signal in (request_started, request_finished):
        signal.connect(close_old_connections)

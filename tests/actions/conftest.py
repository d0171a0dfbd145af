"""What runs of actions on the real API server share."""

from dataclasses import replace

import pytest

from migrations_app.use_cases.rollouts import worker
from tests.actions import on_server


@pytest.fixture
def server(clean_apiserver, settings, monkeypatch):
    """A clean API server, and a worker that waits for nothing longer than a test can."""
    settings.ENV = replace(settings.ENV, **on_server.QUICK)
    monkeypatch.setattr(worker, "SLICE_SECONDS", 1.0)
    return clean_apiserver

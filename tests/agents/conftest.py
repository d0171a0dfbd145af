"""A site whose broker is a real Redis, so that agents and workers find each other."""

import dataclasses
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pytest_django.live_server_helper import LiveServer

from tests.actions.on_server import QUICK
from tests.agents.rig import LOST_AFTER, Site, site_at
from tests.deploy.helm import Helm


@pytest.fixture
def broker(settings: Any, redis_url: str) -> str:
    """The settings of an installation with that broker."""
    changed = QUICK | {"broker_url": redis_url, "agent_lost_after": LOST_AFTER}
    settings.ENV = dataclasses.replace(settings.ENV, **changed)
    return redis_url


@pytest.fixture(scope="session")
def helm(tmp_path_factory: pytest.TempPathFactory) -> Helm:
    return Helm(tmp_path_factory.mktemp("helm"))


@pytest.fixture
def site(broker: str, transactional_db: None, live_server: LiveServer, tmp_path: Path) -> Iterator[Site]:
    """An installation that serves."""
    with site_at(live_server.url.replace("localhost", "127.0.0.1"), tmp_path) as found:
        yield found

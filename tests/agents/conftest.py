"""A site whose broker is a real Redis, so that agents and workers find each other."""

import dataclasses
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from django.db import connections
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
def own_connections(
    transactional_db: None, live_server: LiveServer, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> Iterator[None]:
    """Every thread has its own connection to the database, as in an installation.

    The server of the tests would share the one connection to SQLite in memory with the thread of the test. Then a
    thread that runs one of Django's functions inside of SQLite waits for the interpreter while the other holds it and
    waits for SQLite, for ever; and the transactions of one hold the statements of the other.
    """
    memory = connections["default"]
    if memory.vendor != "sqlite":
        yield
        return
    path = tmp_path / "karpdash.sqlite3"
    memory.ensure_connection()
    with closing(sqlite3.connect(path)) as file:
        memory.connection.backup(file)
    monkeypatch.setitem(connections.settings, "default", {**memory.settings_dict, "NAME": str(path)})
    monkeypatch.setattr(live_server.thread.httpd, "connections_override", {})
    connections["default"] = connections.create_connection("default")
    yield
    connections["default"].close()
    connections["default"] = memory


@pytest.fixture
def site(broker: str, own_connections: None, live_server: LiveServer, tmp_path: Path) -> Iterator[Site]:
    """An installation that serves."""
    with site_at(live_server.url.replace("localhost", "127.0.0.1"), tmp_path) as found:
        yield found

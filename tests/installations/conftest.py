"""What tests of whole installations share: short folders, because a Unix socket's path has 107 bytes at most."""

import signal
import uuid
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
import redis

from tests.installations.installation import Installation
from tests.installations.running import Up, kill
from tests.installations.slow_cluster import SlowCluster
from tests.servers import processes, schema


@pytest.fixture
def place() -> Iterator[Path]:
    """A short, empty folder."""
    folder = processes.folder("j")
    yield folder
    processes.discard(folder)


@pytest.fixture
def up(place: Path) -> Iterator[Up]:
    """`karpdash up`, not started yet; nothing of it is left afterwards."""
    running = Up(place)
    yield running
    if running.process is not None:
        left = running.family()
        if not running.ended:
            running.end(signal.SIGKILL)
        kill(left)


@pytest.fixture(params=["sqlite", "postgres"])
def database_url(request: pytest.FixtureRequest) -> Iterator[str]:
    """Empty for SQLite; the address of a new database on a real PostgreSQL."""
    if request.param == "sqlite":
        yield ""
        return
    address: str = request.getfixturevalue("postgres_url")
    name = f"j{uuid.uuid4().hex}"
    schema.create(address, name)
    yield f"{address.rpartition('/')[0]}/{name}"
    with psycopg.connect(address, autocommit=True) as connection:
        connection.execute(f"DROP DATABASE {name} WITH (FORCE)".encode())


@pytest.fixture
def site(place: Path, redis_url: str, database_url: str) -> Iterator[Installation]:
    """An installation on a real Redis and on each database, with nothing running yet."""
    installation = Installation(place, broker_url=_fresh(redis_url), database_url=database_url)
    yield installation
    installation.stop()


def _fresh(redis_url: str) -> str:
    """The broker, emptied: the messages of an earlier test are not ours."""
    with redis.Redis.from_url(redis_url) as connection:
        connection.flushall()
    return redis_url


@pytest.fixture
def slow() -> Iterator[SlowCluster]:
    """A cluster that holds back its pods until `go_on` is set."""
    with SlowCluster() as cluster:
        yield cluster

"""Fixtures for tests of two releases."""

from collections.abc import Iterator

import pytest

from tests.installations.conftest import database_url, place
from tests.upgrades.site import Site

__all__ = ["database_url", "place"]


@pytest.fixture
def site(place, database_url, redis_url) -> Iterator[Site]:
    """Returns a site without processes; the broker is empty."""
    import redis

    with redis.Redis.from_url(redis_url) as connection:
        connection.flushall()
    made = Site(place, broker_url=redis_url, database_url=database_url)
    yield made
    made.stop()

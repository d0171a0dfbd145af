"""This release and an older one of the history in turns on one database, under load (R27): tests/upgrades."""

import random
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.house.measures import ROOT
from tests.servers.apiserver import ApiServer
from tests.servers.postgres import Postgres
from tests.servers.processes import discard, folder
from tests.servers.redis_server import RedisServer
from tests.trust.parts import Part
from tests.upgrades.play import playing
from tests.upgrades.releases import Release, older_release
from tests.upgrades.site import Site


def changes(count: int, dice: random.Random) -> Sequence[str]:
    """That many changes of release, the first half of them on SQLite, the other on PostgreSQL."""
    place = folder("releases")
    try:
        older = older_release(place)
        on_sqlite = _played(-(-count // 2), dice, older=older, place=place / "s")
        return [*on_sqlite, *_played(count // 2, dice, older=older, place=place / "p", postgres=True)]
    except LookupError as missing:
        pytest.skip(str(missing))
    finally:
        discard(place)


def _played(count: int, dice: random.Random, *, older: Release, place: Path, postgres: bool = False) -> list[str]:
    """An answer for each change; what was lost or doubled at any of them stands at the last."""
    if not count:
        return []
    place.mkdir()
    database = Postgres() if postgres else None
    broker, server = RedisServer(), ApiServer()
    site = Site(place, broker_url=broker.url, database_url=database.url if database else "")
    here = Release("here", ROOT)
    try:
        with playing(site, older, server) as play:
            site.schema(here)
            for number in range(count):
                play.change(older if number % 2 else here, beside=dice.random() < 0.5)
            return [""] * (count - 1) + ["; ".join(play.complaints())]
    finally:
        server.stop()
        broker.stop()
        if database:
            database.stop()


PARTS = (Part(name="changes of release", full=20, rules="R27, R28", series=changes),)

"""Workers, the database and the broker killed while scans run: every scan ends in one whole snapshot (R01, R05)."""

import random
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial

from tests.installations.installation import Installation, kill_all, kill_pool
from tests.servers.postgres import Postgres
from tests.servers.processes import Child, discard, folder
from tests.servers.redis_server import RedisServer
from tests.trust.parts import Part

AT_ONCE = 3
"""Scans that are asked for before each kill; one worker takes one at a time."""
LATEST = 1.5
"""Seconds after the last request by which the kill has come. When it comes is what is tried."""
PATIENCE = 120
"""Seconds in which the scans have to end after it."""
NOT_DONE = "SELECT id, state, error_code FROM migrations_app_scan WHERE state <> 'done' ORDER BY created_at"
TOLD = "SELECT count(*), count(DISTINCT snapshot_id) FROM migrations_app_scan WHERE state = 'done'"


@dataclass(slots=True)
class _Place:
    """An installation on PostgreSQL with its timetable and one worker, and the servers below it."""

    site: Installation
    broker: RedisServer
    database: Postgres
    worker: Child
    dice: random.Random

    def kill_worker(self) -> None:
        self.dice.choice((kill_all, kill_pool))(self.worker)
        if self.worker.process.poll() is not None:
            self.worker = self.site.worker()

    def kill_database(self) -> None:
        self.database.crash()
        self.site.ask("reconnect")

    def kill_broker(self) -> None:
        self.broker.crash()


@contextmanager
def _place(dice: random.Random) -> Iterator[_Place]:
    where, broker, database = folder("trust"), RedisServer(), Postgres()
    site = Installation(where, broker_url=broker.url, database_url=database.url)
    try:
        site.beat()
        yield _Place(site, broker, database, site.worker(), dice)
    finally:
        site.stop()
        broker.stop()
        database.stop()
        discard(where)


def killed(count: int, dice: random.Random, *, victim: Callable[[_Place], None]) -> Sequence[str]:
    """That many kills of the victim, each in the middle of some scans; an answer for each. What is found at the end is
    the last one's.
    """
    with _place(dice) as place:
        clusters = place.site.ask("samples")
        told = [_kill(place, clusters, victim=victim) for _ in range(count)]
        if lost := place.site.ask("halves"):
            told[-1] += f" snapshots that are not whole: {lost[:3]}"
        done, snapshots = place.site.rows(TOLD)[0]
        if done != snapshots:
            told[-1] += f" {done} scans have {snapshots} snapshots"
    return told


def _kill(place: _Place, clusters: list[str], *, victim: Callable[[_Place], None]) -> str:
    known = {row[0] for row in place.site.rows(NOT_DONE)}
    for cluster in place.dice.sample(clusters, AT_ONCE):
        place.site.requested(cluster)
    time.sleep(place.dice.uniform(0, LATEST))
    victim(place)
    try:
        place.site.wait_for_end(seconds=PATIENCE)
    except TimeoutError as late:
        return str(late)
    return ", ".join(f"{state} {code}" for number, state, code in place.site.rows(NOT_DONE) if number not in known)


PARTS = (
    Part(name="kills of scans", full=200, rules="R01, R07", series=partial(killed, victim=_Place.kill_worker)),
    Part(name="kills of the database", full=100, rules="R01", series=partial(killed, victim=_Place.kill_database)),
    Part(name="kills of the broker", full=100, rules="R05", series=partial(killed, victim=_Place.kill_broker)),
)

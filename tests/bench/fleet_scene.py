"""A fleet under its timetable: fake API servers, a real broker and database, a worker for each queue, and beat."""

import base64
import json
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import psycopg
import yaml

from karpdash.processes import datadir
from tests.bench.measure import ROOT, FailedError
from tests.installations.installation import kill_all
from tests.installations.running import bare_environment
from tests.servers.postgres import Postgres
from tests.servers.processes import Child, discard, folder
from tests.servers.redis_server import RedisServer
from tests.servers.waiting import eventually, eventually_by_steps

SLOTS = {"probe": 4, "scan": 10, "action": 2}
"""16 in all (R20)."""


@dataclass(frozen=True, slots=True)
class Size:
    """`interval` is in seconds; `workers` are the processes of the queue of the scans, which share its slots."""

    clusters: int
    hanging: int
    interval: int
    workers: int = 1

    @property
    def slots(self) -> dict[str, int]:
        """The slots of one process of each queue."""
        return SLOTS | {"scan": max(1, SLOTS["scan"] // self.workers)}


class Scene:
    """`rows` asks the database. Everything that was started ends with the context."""

    def __init__(self, size: Size) -> None:
        self.size = size
        self.folder = folder("fleet")
        self._redis, self._postgres = RedisServer(), Postgres()
        self.children: list[Child] = []
        given = {"data_dir": str(datadir.prepare(self.folder / "d")), "broker_url": self._redis.url}
        given |= {"database_url": self._postgres.url, "allow_loopback": "1", "sweep_interval": "5"}
        given |= {"scan_interval": str(size.interval), "free_percent": "1", "free_mib": "1", "log_level": "WARNING"}
        given |= {f"{'worker' if queue == 'scan' else queue}_slots": str(count) for queue, count in size.slots.items()}
        self.env = bare_environment(**given) | {"PYTHONPATH": str(ROOT)}

    def start(self) -> None:
        """The servers, then the clusters, then whoever scans them."""
        self.register()
        self.work()

    def register(self) -> None:
        """The servers and the clusters."""
        self._start("server", "tests.bench.fleet_server", str(self.folder), *self._counts())
        eventually((self.folder / "server.json").exists, what="the fake servers", seconds=60)
        errand = [sys.executable, "-m", "tests.bench.fleet_scene", str(self.folder)]
        done = subprocess.run(errand, cwd=ROOT, env=self.env, check=False)
        if done.returncode:
            raise FailedError("the clusters could not be registered")

    def work(self) -> None:
        """Whoever scans them."""
        for queue in ("probe", *["scan"] * self.size.workers, "action", "beat"):
            self._start(f"{len(self.children)}-{queue}", "karpdash.command", "worker", queue)

    def settle(self, start: float) -> None:
        """Gives each cluster the due time from that moment on that it has once it has been scanned for long."""
        errand = [sys.executable, "-m", "tests.bench.fleet_scene", str(self.folder), str(start)]
        if subprocess.run(errand, cwd=ROOT, env=self.env, check=False).returncode:
            raise FailedError("the clusters got no due times")

    def _counts(self) -> tuple[str, str]:
        return str(self.size.clusters), str(self.size.hanging)

    def _start(self, name: str, module: str, *words: str) -> None:
        command = [sys.executable, "-m", module, *words]
        self.children.append(Child(command, log=self.folder / f"{name}.log", env=self.env))

    def rows(self, question: str) -> list[tuple[Any, ...]]:
        with psycopg.connect(self._postgres.url) as connection:
            return connection.execute(question.encode()).fetchall()

    def one(self, question: str) -> Any:
        return self.rows(question)[0][0]

    def stop(self) -> None:
        for child in reversed(self.children):
            kill_all(child)
        self._redis.stop()
        self._postgres.stop()
        discard(self.folder)


@contextmanager
def scene(size: Size, *, started: bool = True) -> Iterator[Scene]:
    """A fleet that is scanned; without `started` one of which nothing runs yet."""
    made = Scene(size)
    try:
        if started:
            made.start()
        yield made
    finally:
        made.stop()


HEALTHY = "c.name NOT LIKE 'hang%'"
DONE = f"""
    SELECT count(*) FROM migrations_app_cluster c WHERE {HEALTHY} AND
    (SELECT count(*) FROM migrations_app_scan s WHERE s.cluster_id = c.id AND s.state = 'done') >= {{times}}
"""
RESULTS = f"""
    SELECT count(*) FROM migrations_app_scan s JOIN migrations_app_cluster c ON c.id = s.cluster_id
    WHERE {HEALTHY} AND s.state = 'done'
"""
LATE = f"""
    SELECT EXTRACT(EPOCH FROM s.started_at - s.due_at) FROM migrations_app_scan s
    JOIN migrations_app_cluster c ON c.id = s.cluster_id
    WHERE {HEALTHY} AND s.state = 'done' AND s.due_at >= to_timestamp({{since}}) AND s.due_at < to_timestamp({{until}})
"""
DUE = f"""
    SELECT count(*) FROM migrations_app_cluster c WHERE {HEALTHY}
    AND c.next_due_at >= to_timestamp({{since}}) AND c.next_due_at < to_timestamp({{until}})
"""
ENDED = f"""
    SELECT count(DISTINCT c.id) FROM migrations_app_scan s JOIN migrations_app_cluster c ON c.id = s.cluster_id
    WHERE {HEALTHY} AND s.state = 'done' AND s.due_at >= to_timestamp({{since}}) AND s.due_at < to_timestamp({{until}})
"""
SCANNED = f"""
    SELECT count(DISTINCT c.id) FROM migrations_app_scan s JOIN migrations_app_cluster c ON c.id = s.cluster_id
    WHERE {HEALTHY} AND s.state = 'done' AND s.finished_at >= to_timestamp({{since}})
    AND s.finished_at < to_timestamp({{until}})
"""


def wait_until_all_were_scanned(made: Scene, *, times: int, seconds: float) -> None:
    """Returns when each healthy cluster has so many results. Raises TimeoutError if none comes for so many seconds."""
    healthy = made.size.clusters - made.size.hanging
    question = DONE.format(times=times)
    eventually_by_steps(
        lambda: bool(made.one(question) == healthy),
        step=lambda: made.one(RESULTS),
        what=f"{healthy} clusters with {times} results",
        seconds=seconds,
    )


def register_all(folder: Path) -> None:
    """Registers every cluster of the fake servers; runs with the scene's settings."""
    import django

    django.setup()
    from django.core.management import call_command

    from migrations_app.use_cases.clusters.registration import Details, register_kubeconfig

    call_command("migrate", interactive=False, verbosity=0)
    told = json.loads((folder / "server.json").read_text())
    ca = base64.b64encode(told["ca"].encode()).decode()
    for number in range(told["clusters"]):
        hangs = number >= told["first_hanging"]
        port = told["mute"] if hangs and number % 2 else told["port"]
        text = kubeconfig(f"https://127.0.0.1:{port}/c/{number}", ca)
        register_kubeconfig(text, Details(name=f"{'hang' if hangs else 'well'}-{number:04}"))


def settle_all(start: float) -> None:
    """Sets the due time of every cluster to its slot of the interval that begins then."""
    import django

    django.setup()
    from django.conf import settings

    from migrations_app.models.cluster import Cluster
    from migrations_app.queries.fleet.scan_interval import next_slot

    interval = settings.ENV.scan_interval
    half_before = datetime.fromtimestamp(start - interval / 2, UTC)  # a slot is at least half an interval away
    rows = list(Cluster.objects.only("pk"))
    for row in rows:
        row.next_due_at = next_slot(row.pk, interval, now=half_before)
    Cluster.objects.bulk_update(rows, ["next_due_at"], batch_size=500)


def kubeconfig(url: str, ca: str) -> bytes:
    whole: dict[str, Any] = {"apiVersion": "v1", "kind": "Config", "current-context": "c"}
    whole["clusters"] = [{"name": "c", "cluster": {"server": url, "certificate-authority-data": ca}}]
    whole["users"] = [{"name": "u", "user": {"token": "t"}}]
    whole["contexts"] = [{"name": "c", "context": {"cluster": "c", "user": "u"}}]
    return yaml.safe_dump(whole).encode()


if __name__ == "__main__":
    import os

    os.environ["DJANGO_SETTINGS_MODULE"] = "karpdash.settings"
    started = time.monotonic()
    if sys.argv[2:]:
        settle_all(float(sys.argv[2]))
        sys.exit()
    register_all(Path(sys.argv[1]))
    sys.stderr.write(f"registered in {time.monotonic() - started:.0f} s\n")

"""An installation of several processes that a test starts and kills: a database, a broker, workers and beat."""

import json
import sqlite3
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

import psycopg
import redis

from karpdash.processes import datadir
from karpdash.processes.queues import QUEUES
from tests.installations.running import ROOT, bare_environment, kill, session
from tests.servers import schema
from tests.servers.processes import Child
from tests.servers.waiting import eventually

LEASE, SWEEP = 5, 1


class Installation:
    """`stop` ends every process that was started here. An empty `database_url` means SQLite in the folder."""

    def __init__(self, folder: Path, *, broker_url: str, database_url: str = "") -> None:
        self.folder = folder
        self._url = database_url
        self.data = datadir.prepare(folder / "d")
        settings = {"data_dir": str(self.data), "broker_url": broker_url, "scan_interval": "0", "allow_loopback": "1"}
        settings |= {"scan_lease": str(LEASE), "sweep_interval": str(SWEEP), "worker_slots": "1", "probe_seconds": "30"}
        settings |= {"database_url": database_url or f"sqlite:///{self.data}/karpdash.sqlite3"}
        # As `karpdash worker` sets it: Celery would run Django's checks, which load every page, and ignore the result.
        self.env = bare_environment(**settings) | {"PYTHONPATH": str(ROOT), "CELERY_SKIP_CHECKS": "1"}
        self.children: list[Child] = []
        file = self.data / "karpdash.sqlite3"
        if not database_url:
            schema.lay_down(file)
        self._command_process = subprocess.Popen(
            [sys.executable, "-m", "tests.installations.errands"],
            cwd=ROOT,
            env=self.env,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self.ask("prepare")
        if database_url:
            schema.keep_template(database_url)
        else:
            schema.keep(file)

    def ask(self, word: str, *arguments: str) -> Any:
        """Runs that command of `errands` and returns its answer."""
        assert self._command_process.stdin is not None
        assert self._command_process.stdout is not None
        self._command_process.stdin.write(json.dumps([word, *arguments]) + "\n")
        self._command_process.stdin.flush()
        return json.loads(self._command_process.stdout.readline())

    def requested(self, cluster: str) -> str:
        """Requests a scan, sends its message, and returns its id."""
        scan: str = self.ask("request", cluster)
        self.ask("enqueue_scan", scan)
        return scan

    def worker(self, program: str = "celery", *, pool: str = "prefork") -> Child:
        """Starts a worker; `program` is the module of Celery's command line."""
        number = len(self.children)
        words = ("worker", "--loglevel", "warning", "-P", pool, "-n", f"worker-{number}@here")
        return self._started(number, program, *words)

    def beat(self) -> Child:
        return self._started(len(self.children), "celery", "beat", "--loglevel", "warning", "--pidfile", "")

    def _started(self, number: int, program: str, role: str, *more: str) -> Child:
        command = [sys.executable, "-m", program, "-A", "karpdash.celery", role, *more]
        child = Child(command, log=self.folder / f"{number}-{role}.log", env=self.env)
        self.children.append(child)
        return child

    def rows(self, question: str) -> list[tuple[Any, ...]]:
        """Returns the rows of that SQL query."""
        if self._url:
            with psycopg.connect(self._url) as postgres:
                return postgres.execute(question.encode()).fetchall()
        database = sqlite3.connect(f"file:{self.data}/karpdash.sqlite3?mode=ro", uri=True, timeout=20)
        try:
            return database.execute(question).fetchall()
        finally:
            database.close()

    def count(self, table: str) -> int:
        return int(self.rows(f"SELECT count(*) FROM migrations_app_{table}")[0][0])

    def scan(self) -> tuple[Any, ...]:
        """Returns state, attempts and error of the newest scan."""
        return self.rows(
            "SELECT state, attempts, error_code FROM migrations_app_scan ORDER BY created_at DESC LIMIT 1"
        )[0]

    def wait_for_end(self, *, seconds: float = 90) -> None:
        """Returns when no scan is queued or running any more."""
        active = "SELECT count(*) FROM migrations_app_scan WHERE state IN ('queued', 'running')"
        eventually(lambda: self.rows(active) == [(0,)], what="every scan to end", seconds=seconds)

    def wait_for_messages(self) -> None:
        """Returns when no message waits and no worker holds one: each task has ended and its worker knows it."""

        def messages() -> int:
            with redis.Redis.from_url(self.env["KARPDASH_BROKER_URL"]) as connection:
                return sum(int(connection.llen(queue)) for queue in QUEUES) + int(connection.hlen("unacked"))

        eventually(lambda: messages() == 0, what="every message to be acknowledged")

    def stop(self) -> None:
        """Kills every process at once."""
        self._command_process.communicate(timeout=30)
        for child in reversed(self.children):
            kill_all(child)


def members(child: Child) -> set[int]:
    """Returns the processes of the session that the child leads."""
    found = (int(place.name) for place in Path("/proc").glob("[0-9]*"))
    return {pid for pid in found if session(pid) == child.process.pid}


def kill_all(child: Child) -> None:
    """Sends kill -9 to the child and everything below it, at once."""
    kill(members(child))
    with suppress(subprocess.TimeoutExpired):
        child.process.wait(10)


def kill_pool(child: Child) -> None:
    """Sends kill -9 to the working processes below the child; the child itself lives and notices."""
    kill(members(child) - {child.process.pid})

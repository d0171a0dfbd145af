"""Runs processes of two releases on one database and one broker, and changes from one release to the other."""

import itertools
import os
import signal
import sqlite3
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psycopg

from karpdash.processes import datadir
from tests.installations.installation import members
from tests.installations.running import bare_environment, kill
from tests.servers.processes import Child, free_port
from tests.servers.waiting import eventually
from tests.upgrades.load import LoadBalancer
from tests.upgrades.releases import Release

PATIENCE = 240.0
READY = 200
_DIRECT = urllib.request.build_opener(urllib.request.ProxyHandler({}))


@dataclass(slots=True)
class Running:
    """The processes of one release."""

    release: Release
    name: str
    port: int
    web: Child
    workers: tuple[Child, ...] = ()
    """Timetable and worker, once they run."""


@dataclass(slots=True)
class Site:
    """`database_url` is empty for SQLite in the folder."""

    folder: Path
    broker_url: str
    database_url: str = ""
    front: LoadBalancer = field(default_factory=LoadBalancer)
    running: list[Running] = field(default_factory=list)
    numbers: Iterator[int] = field(default_factory=itertools.count)
    settings: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        data = datadir.prepare(self.folder / "d")
        self.settings = {
            "data_dir": str(data), "broker_url": self.broker_url, "allow_loopback": "1", "scan_interval": "0",
            "database_url": self.database_url or f"sqlite:///{data}/karpdash.sqlite3", "sweep_interval": "5",
            "worker_slots": "4", "probe_seconds": "60", "gate_poll": "0", "settle_seconds": "0", "cancel_seconds": "0",
        }  # fmt: skip

    def environment(self, release: Release) -> dict[str, str]:
        # Compiled once, not by each process; without Django's checks, as `karpdash worker` and `karpdash up` have it.
        python = {"PYTHONPATH": release.path, "PYTHONDONTWRITEBYTECODE": "", "PYTHONFAULTHANDLER": "1"}
        python |= {"CELERY_SKIP_CHECKS": "1"}
        return bare_environment(**self.settings) | python | {"DJANGO_SETTINGS_MODULE": "karpdash.settings"}

    def schema(self, release: Release) -> None:
        """Runs the schema steps of that release, as compose and the chart do."""
        words = [sys.executable, "manage.py", "migrate", "--no-input", "--verbosity=0"]
        told = subprocess.run(
            words, cwd=release.tree, env=self.environment(release), capture_output=True, text=True, check=False
        )
        assert told.returncode == 0, told.stderr

    def start(self, release: Release, *, worker: bool = True, wanted: int = 200) -> Running:
        """Starts the release's processes; returns once its readiness endpoint answers `wanted`. Ready ones get
        requests.
        """
        port, name = free_port(), f"{next(self.numbers)}-{release.name}"
        words = ["--bind", f"127.0.0.1:{port}", "--worker-class", "gthread", "--workers", "1", "--threads", "8"]
        web = self._child(release, f"{name}-web", "gunicorn", "karpdash.wsgi", *words, "--no-control-socket")
        made = Running(release, name, port, web)
        self.running.append(made)
        if worker:
            self.start_worker(made)
        eventually(lambda: self.ready(port) == wanted, what=f"pages of {release.name}", seconds=PATIENCE)
        if wanted == READY:
            self.front.join(port)
        return made

    def start_worker(self, made: Running) -> None:
        """Starts the release's worker of all queues, and beat."""
        words = ("celery", "-A", "karpdash.celery")
        alive = ("--loglevel", "warning", "-n", f"{made.name}@here")
        made.workers = (
            self._child(made.release, f"{made.name}-beat", *words, "beat", "--loglevel", "warning", "--pidfile", ""),
            self._child(made.release, f"{made.name}-worker", *words, "worker", *alive),
        )

    def ready(self, port: int) -> int:
        """Returns the status of the readiness endpoint of the pages; 0 if nothing answers."""
        try:
            with _DIRECT.open(f"http://127.0.0.1:{port}/readyz?for=web", timeout=30) as answer:
                return int(answer.status)
        except urllib.error.HTTPError as refused:
            return refused.code
        except OSError:
            return 0

    def ask_to_stop(self, old: Running) -> None:
        """Sends beat and worker the signals with which compose and the chart stop them."""
        for child, how in zip(old.workers, (signal.SIGTERM, signal.SIGQUIT), strict=True):
            child.process.send_signal(how)

    def ended(self, old: Running) -> list[int]:
        """Stops all processes of the release and returns their exit codes: web ends once it gets no more requests."""
        self.front.leave(old.port)
        old.web.process.send_signal(signal.SIGTERM)
        codes = [self._code(child) for child in (*old.workers, old.web)]
        self.running.remove(old)
        return codes

    def _code(self, child: Child) -> int:
        """Returns the exit code; if the child does not end, fails with where each of its processes stands."""
        try:
            return child.process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            for pid in sorted(members(child)):
                os.kill(pid, signal.SIGABRT)  # PYTHONFAULTHANDLER: each thread's stack goes to the log
                time.sleep(1)
            told = child.log.read_text(errors="replace")[-20_000:]
            raise AssertionError(f"{child.log.name} has not ended after {PATIENCE:.0f} s:\n{told}") from None

    def rows(self, question: str) -> list[tuple[Any, ...]]:
        """Returns the rows of that SQL query."""
        if self.database_url:
            with psycopg.connect(self.database_url) as postgres:
                return postgres.execute(question.encode()).fetchall()
        database = sqlite3.connect(f"file:{self.settings['data_dir']}/karpdash.sqlite3?mode=ro", uri=True, timeout=60)
        try:
            return database.execute(question).fetchall()
        finally:
            database.close()

    def stop(self) -> None:
        for old in self.running:
            for child in (*old.workers, old.web):
                left = members(child)
                child.stop(signal.SIGKILL)
                kill(left)

    def recent_output(self) -> str:
        """Returns the end of each log, for a test that fails."""
        return "\n".join(f"{log.name}: {log.read_text(errors='replace')[-2500:]}" for log in self.folder.glob("*.log"))

    def errands(self, release: Release) -> "subprocess.Popen[str]":
        """Starts a process of that release that answers lines of JSON."""
        words = [sys.executable, "-m", "tests.upgrades.errands"]
        env, pipe = self.environment(release), subprocess.PIPE
        with (self.folder / "errands.log").open("w") as log:
            return subprocess.Popen(words, cwd=self.folder, env=env, stdin=pipe, stdout=pipe, stderr=log, text=True)

    def _child(self, release: Release, name: str, *words: str) -> Child:
        env = self.environment(release)
        bare = ["env", "-i", *(f"{key}={value}" for key, value in env.items())]
        return Child([*bare, sys.executable, "-m", *words], log=self.folder / f"{name}.log")

"""Starts `worker_process` for a test: workers on a database of their own, which the test kills and stops."""

import json
import os
import subprocess
import sys
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

import msgspec
import psycopg

from karpdash.processes import datadir
from migrations_app.actions.plan import Step
from tests.installations.running import ROOT, bare_environment
from tests.servers import schema
from tests.servers.apiserver import ApiServer
from tests.use_cases.rollouts import audit_log_reader

KILLED, STOPPED = -9, 1000
WORKER_MODULE = "tests.use_cases.rollouts.worker_process"


@dataclass(slots=True)
class WorkerProcesses:
    """`mark` is the position of the API server's audit log when the test began."""

    process: "subprocess.Popen[str]"
    server: ApiServer
    mark: int = 0
    clusters: int = 0
    pids: list[int] = field(default_factory=list)

    def ask(self, word: str, *arguments: Any) -> Any:
        """Runs that command in the worker process and returns its answer."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(json.dumps([word, *arguments]) + "\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())

    def rollout(self, *steps: Step, kubeconfig: str = "") -> str:
        """Creates a running rollout on a new registration of the same API server and returns its id."""
        self.clusters += 1
        text = kubeconfig or self.server.kubeconfig(self.server.admin_token)
        cluster = self.ask("register", text, f"cluster-{self.clusters}-{uuid.uuid4().hex[:8]}")
        return str(self.ask("rollout", cluster, msgspec.json.encode(steps).decode()))

    def start(self, row: str, point: str = "", nth: int = 1, how: str = "KILL") -> int:
        pid: int = self.ask("start", row, point, nth, how)
        self.pids.append(pid)
        return pid

    def wait(self, pid: int) -> int:
        code: int = self.ask("wait", pid)
        if code != STOPPED:
            self.pids.remove(pid)
        return code

    def work(self, row: str, point: str = "", nth: int = 1, how: str = "KILL") -> int:
        """Starts a worker and returns how it ended."""
        return self.wait(self.start(row, point, nth, how))

    def state(self, row: str) -> str:
        """Returns the state and, if the rollout has stopped, its cause."""
        word, cause = self.ask("state", row)
        return f"{word}: {cause}" if cause else str(word)

    def journal(self, row: str) -> list[tuple[str, int, str, str]]:
        return [(one["step"], one["number"], one["verb"], one["outcome"]) for one in self.ask("lines", row)]

    def complaints(self, row: str) -> list[str]:
        """Returns contradictions between the API server's audit log and the journal of this rollout."""
        lines = [
            audit_log_reader.Line(**one | {"recorded_at": _moment(one["recorded_at"])})
            for one in self.ask("lines", row)
        ]
        return audit_log_reader.complaints(
            audit_log_reader.requests(self.server.audit_events(self.mark), of=row), lines
        )

    def stop(self) -> None:
        for pid in self.pids:
            self.ask("send", pid, "KILL")
        self.process.communicate(timeout=30)


@contextmanager
def worker_processes(server: ApiServer, place: Path, *, module: str = WORKER_MODULE) -> Iterator[WorkerProcesses]:
    """Runs worker processes on SQLite in the folder, or on another database of the run's server if that is
    PostgreSQL.
    """
    file = place / "rollouts.sqlite3"
    with _database(place) as url:
        is_file = url == f"sqlite:///{file}"
        if is_file:
            schema.lay_down(file)
        settings = {
            "data_dir": str(datadir.prepare(place / "d")), "database_url": url, "allow_loopback": "1",
            "gate_poll": "0", "settle_seconds": "0", "cancel_seconds": "0",
        }  # fmt: skip
        with (place / "workers.log").open("w") as log:
            process = subprocess.Popen(
                [sys.executable, "-m", module],
                cwd=ROOT,
                env=bare_environment(**settings) | {"PYTHONPATH": str(ROOT)},
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
            )
        found = WorkerProcesses(process, server)
        found.ask("prepare")
        if is_file:
            schema.keep(file)
        else:
            schema.keep_template(url)
        try:
            yield found
        finally:
            found.stop()


@contextmanager
def _database(place: Path) -> Iterator[str]:
    if os.environ.get("KARPDASH_TEST_DATABASE") != "postgres":
        yield f"sqlite:///{place}/rollouts.sqlite3"
        return
    address, name = os.environ["KARPDASH_DATABASE_URL"], f"r{uuid.uuid4().hex}"
    schema.create(address, name)
    yield f"{address.rpartition('/')[0]}/{name}"
    with psycopg.connect(address, autocommit=True) as connection:
        connection.execute(f"DROP DATABASE {name} WITH (FORCE)".encode())


def _moment(text: str | None) -> datetime | None:
    return datetime.fromisoformat(text.replace("Z", "+00:00")) if text else None

"""The services of docker-compose.yml as plain processes beside a real PostgreSQL: one installation, as on one host."""

import base64
import json
import os
import secrets
import signal
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import psycopg

from tests.deploy import compose
from tests.servers.postgres import Postgres
from tests.servers.processes import Child, environment, free_port, program
from tests.servers.waiting import eventually

_DIRECT = urllib.request.build_opener(urllib.request.ProxyHandler({}))
PATIENCE = 120.0
ALIVE = "/dev/shm/karpdash-alive"
"""Where compose and the chart have the file that a worker touches."""


class Installation:
    """`ports` are those of web and queue; what is started runs until `stop`."""

    def __init__(self, folder: Path, database: Postgres, **settings: str) -> None:
        self.folder, self.database = folder, database
        self.web, self.queue = free_port(), free_port()
        self.settings = {f"KARPDASH_{name.upper()}": value for name, value in settings.items()}
        found = urlsplit(database.url)
        self.given = {
            "POSTGRES_PASSWORD": found.password or "",
            "VALKEY_PASSWORD": secrets.token_hex(16),
            "KARPDASH_SECRET_KEY": secrets.token_urlsafe(48),
            "KARPDASH_ENCRYPTION_KEYS": f"k1:{base64.b64encode(os.urandom(32)).decode()}",
            "KARPDASH_AUDIT_SIGNING_KEY": base64.b64encode(os.urandom(32)).decode(),
        }
        self.services = compose.services(self.given)
        words = {
            "database:5432": f"127.0.0.1:{found.port}", "queue:6379": f"127.0.0.1:{self.queue}",
            "0.0.0.0:8000": f"127.0.0.1:{self.web}", "/data": "/var/lib/karpdash", ALIVE: f"{compose.DATA}/alive",
        }  # fmt: skip
        self.place = compose.Place(folder, words, _shims(folder / "shims", port=self.queue))
        self.running: dict[str, Child] = {}

    def start(self, service: str, *, name: str = "", **settings: str) -> Child:
        """One more process of that service, told these settings as well."""
        more = self.settings | {f"KARPDASH_{key.upper()}": value for key, value in settings.items()}
        child = compose.process(self.services[service], name or service, at=self.place, more=more)
        self.running[name or service] = child
        return child

    def run(self, service: str, command: list[str]) -> str:
        """What a command prints that runs as that service does; fails unless it ends well."""
        told = self.services[service] | {"command": command}
        child = compose.process(told, f"run-{secrets.token_hex(4)}", at=self.place, more=self.settings)
        assert child.process.wait(PATIENCE) == 0, child.log.read_text()
        return child.log.read_text()

    def healthy(self, service: str, *, within: float = PATIENCE) -> bool:
        """What the service's own health check says; one that does not end in that many seconds says no."""
        kind, *words = self.services[service]["healthcheck"]["test"]
        words = ["sh", "-c", *words] if kind == "CMD-SHELL" else words
        words = [word.replace("8000", str(self.web)) for word in words]
        check = self.services[service] | {"command": words}
        child = compose.process(check, f"check-{secrets.token_hex(4)}", at=self.place, more=self.settings)
        try:
            return child.process.wait(within) == 0
        except subprocess.TimeoutExpired:
            child.stop(signal.SIGKILL)
            return False

    def alive_file(self, name: str) -> Path:
        """What that process touches, as it is seen from outside of its disk."""
        return self.folder / f"{name}-data" / "alive"

    def works(self, name: str) -> bool:
        """What the health check of that process without pages says."""
        kind, program, *words = self.services[name]["healthcheck"]["test"]
        assert (kind, program) == ("CMD", "python")
        told = {key: self.place.told(str(value)) for key, value in self.services[name]["environment"].items()}
        plain = {key: value for key, value in environment().items() if not key.startswith(("KARPDASH_", "DJANGO_"))}
        command = [sys.executable, *(str(self.alive_file(name)) if one == ALIVE else one for one in words)]
        done = subprocess.run(command, cwd=compose.ROOT, env={**plain, **told, **self.settings}, check=False)
        return done.returncode == 0

    def signal_all(self, names: Iterable[str], number: signal.Signals) -> None:
        """Sends it to these processes and all that they started."""
        for name in names:
            os.killpg(self.running[name].process.pid, number)

    def answer(self, path: str) -> tuple[int, Any]:
        """Status and body of a page; (0, None) while nobody answers."""
        asked = urllib.request.Request(f"http://127.0.0.1:{self.web}{path}", headers={"Host": "localhost"})
        try:
            with _DIRECT.open(asked, timeout=20) as answer:
                return answer.status, _read(answer.read())
        except urllib.error.HTTPError as refused:
            return refused.code, _read(refused.read())
        except OSError:
            return 0, None

    def ready(self, path: str = "/readyz") -> list[str] | None:
        """What is missing; None while nobody answers."""
        told = self.answer(path)[1]
        return told["missing"] if isinstance(told, dict) else None

    def rows(self, question: str) -> list[tuple[Any, ...]]:
        with psycopg.connect(self.database.url) as connection:
            return connection.execute(question.encode()).fetchall()

    def end(self, name: str) -> int:
        """The exit code after the signal that compose would send."""
        child = self.running.pop(name)
        service = next(one for one in sorted(self.services, reverse=True) if name.startswith(one))
        child.process.send_signal(compose.signal_of(self.services[service]))
        return child.process.wait(60)

    def stop(self) -> None:
        for child in self.running.values():
            child.stop(signal.SIGTERM)
        self.running.clear()

    def recent_output(self) -> str:
        """The end of each log, for a test that fails."""
        return "\n".join(f"{log.name}: {log.read_text(errors='replace')[-1500:]}" for log in self.folder.glob("*.log"))


def _read(body: bytes) -> Any:
    try:
        return json.loads(body)
    except ValueError:
        return body.decode(errors="replace")


def _shims(folder: Path, *, port: int) -> Path:
    """Valkey's programs by the names of Redis, which Debian has, on a port of ours."""
    folder.mkdir()
    server, client = program("redis-server"), program("redis-cli")
    for name, line in {
        "valkey-server": f'exec {server} "$@" --port {port} --bind 127.0.0.1',
        "valkey-cli": f'exec {client} -p {port} "$@"',
    }.items():
        (folder / name).write_text(f"#!/bin/sh\n{line}\n")
        (folder / name).chmod(0o755)
    return folder


@contextmanager
def installation(folder: Path, **settings: str) -> Iterator[Installation]:
    """Database, tables and queue are there; nothing else runs yet."""
    database = Postgres()
    made = Installation(folder, database, **settings)
    try:
        made.run("schema", made.services["schema"]["command"])
        made.start("queue")
        eventually(lambda: made.healthy("queue"), what="the queue", seconds=PATIENCE)
        yield made
    finally:
        made.stop()
        database.stop()


def missing_is(made: Installation, wanted: Mapping[str, list[str]]) -> None:
    """Waits until these pages tell that these are missing."""
    for path, names in wanted.items():
        try:
            eventually(
                lambda path=path, names=names: made.ready(path) == names, what=f"{path}: {names}", seconds=PATIENCE
            )
        except TimeoutError as late:
            raise AssertionError(f"{late}; it says {made.ready(path)}\n{made.recent_output()}") from None

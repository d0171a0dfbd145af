"""A real PostgreSQL, from Debian's package, in a folder of its own."""

import os
import secrets
import shutil
import signal
import subprocess
from contextlib import suppress
from pathlib import Path

import psycopg

from tests.servers.processes import Child, discard, folder, free_port, parents, program

DATABASE = "karpdash"
ROLE = "karpdash"
_FAST = ("fsync=off", "synchronous_commit=off", "full_page_writes=off", "max_connections=200")


class Postgres:
    """A running server with one empty database; `url` names it."""

    def __init__(self) -> None:
        binaries = _binaries()
        self.folder, port, password = folder("postgres"), free_port(), secrets.token_hex(16)
        secret = self.folder / "password"
        secret.write_text(password)
        # initdb and the server refuse to run as root; Debian's package made this user.
        user = "postgres" if os.getuid() == 0 else None
        if user:
            for path in (self.folder, secret):
                shutil.chown(path, user)
        data = self.folder / "data"
        _run(binaries / "initdb", f"--pgdata={data}", f"--username={ROLE}", f"--pwfile={secret}", user=user)
        switches = ["listen_addresses=127.0.0.1", f"port={port}", f"unix_socket_directories={self.folder}", *_FAST]
        self.url = f"postgres://{ROLE}:{password}@127.0.0.1:{port}/{DATABASE}"
        self._first = f"host=127.0.0.1 port={port} user={ROLE} password={password} dbname=postgres connect_timeout=5"
        arguments = (part for switch in switches for part in ("-c", switch))
        self._command: list[str | Path] = [binaries / "postgres", "-D", data, *arguments]
        self._user = user
        self.child = self._started()
        with psycopg.connect(self._first, autocommit=True) as connection:
            connection.execute(f"CREATE DATABASE {DATABASE}")

    def stop(self) -> None:
        self.child.stop(signal.SIGINT)  # a fast stop: it does not wait for sessions to end
        discard(self.folder)

    def crash(self) -> None:
        """Sends kill -9 to the server and its processes, then starts a new one on the same data and port."""
        below = {pid for pid, parent in parents().items() if parent == self.child.process.pid}
        for pid in (self.child.process.pid, *below):
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        self.child.process.wait()
        self.child = self._started()

    def _started(self) -> Child:
        child = Child(
            self._command,
            log=self.folder / "postgres.log",
            user=self._user,
            dies_by=signal.SIGQUIT,  # SIGKILL would leave its own children behind for a while
        )
        child.wait_until(self._answers, what="PostgreSQL")
        return child

    def _answers(self) -> bool:
        try:
            psycopg.connect(self._first).close()
        except psycopg.OperationalError:
            return False
        return True


def _binaries() -> Path:
    newest_first = sorted(
        Path("/usr/lib/postgresql").glob("*/bin"), key=lambda path: int(path.parent.name), reverse=True
    )
    return program("initdb", *newest_first).parent


def _run(command: Path, *switches: str, user: str | None) -> None:
    fixed = ("--auth=scram-sha-256", "--encoding=UTF8", "--locale=C.UTF-8", "--no-sync")
    result = subprocess.run(
        [command, *fixed, *switches], user=user, cwd="/", capture_output=True, text=True, check=False
    )
    if result.returncode:
        raise RuntimeError(f"initdb failed:\n{result.stdout}{result.stderr}")

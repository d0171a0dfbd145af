"""Runs `karpdash up` as a real process in a folder of its own, and reads from the system which processes it has."""

import os
import re
import signal
import sqlite3
import subprocess
import sys
import urllib.request
import uuid
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.servers.processes import environment, free_port
from tests.servers.waiting import eventually

ROOT = Path(__file__).resolve().parents[2]
MARK = "KARPDASH_JOURNEY"
DYING_WITH_US = ("setpriv", "--pdeathsig", "TERM", "--")
_DIRECT = urllib.request.build_opener(urllib.request.ProxyHandler({}))


def bare_environment(**settings: str) -> dict[str, str]:
    """Returns this environment without any setting of karpdash but these."""
    plain = {name: value for name, value in environment().items() if not name.startswith(("KARPDASH_", "DJANGO_"))}
    return plain | {f"KARPDASH_{name.upper()}": value for name, value in settings.items()}


@dataclass(slots=True)
class Up:
    """One running `karpdash up`; `folder` is still there after its end."""

    folder: Path
    port: int = field(default_factory=free_port)
    settings: dict[str, str] = field(default_factory=dict)
    words: tuple[str, ...] = ()
    mark: str = field(default_factory=lambda: uuid.uuid4().hex)
    process: subprocess.Popen[bytes] | None = None

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def out(self) -> str:
        return (self.folder / "out").read_text()

    @property
    def err(self) -> str:
        return (self.folder / "err").read_text()

    @property
    def data(self) -> Path:
        return self.folder / "d"

    def command(self) -> list[str]:
        words = ["--port", str(self.port), "--data-dir", str(self.data), *self.words]
        return [sys.executable, "-m", "karpdash.command", "up", *words]

    def start(self) -> "Up":
        command = [*DYING_WITH_US, *self.command()]
        env = bare_environment(**self.settings) | {MARK: self.mark}
        with (self.folder / "out").open("wb") as out, (self.folder / "err").open("wb") as err:
            self.process = subprocess.Popen(command, cwd=ROOT, env=env, stdout=out, stderr=err, start_new_session=True)
        return self

    def serving(self) -> "Up":
        """Returns when the address was printed."""
        eventually(lambda: self.ended or "is serving on" in self.out, what="the address to be printed", seconds=120)
        assert not self.ended, self.err
        return self

    @property
    def ended(self) -> bool:
        return self.process is not None and self.process.poll() is not None

    @property
    def password(self) -> str:
        found = re.search(r"one-time password (\S+)", self.out)
        return found[1] if found else ""

    def get(self, path: str) -> str:
        with _DIRECT.open(f"{self.address}{path}", timeout=10) as answer:
            body: bytes = answer.read()
            return body.decode()

    def rows(self, question: str) -> list[tuple[Any, ...]]:
        """Returns the rows of that SQL query, read beside the running processes."""
        with sqlite3.connect(f"file:{self.data}/karpdash.sqlite3?mode=ro", uri=True, timeout=20) as database:
            found = database.execute(question).fetchall()
        database.close()
        return found

    def end(self, by: signal.Signals = signal.SIGINT) -> int:
        """Sends that signal and returns the exit code."""
        assert self.process is not None
        self.process.send_signal(by)
        return self.process.wait(120)

    def family(self) -> set[int]:
        """Returns the living processes that it started, directly or not, found by parents and by their environment."""
        assert self.process is not None
        return set(_below(self.process.pid)) | set(_marked(self.mark))


def _below(top: int) -> Iterator[int]:
    parents = {pid: fields[1] for pid, fields in _stats()}
    wanted = [top]
    while wanted:
        parent = wanted.pop()
        found = [pid for pid, of in parents.items() if of == str(parent)]
        wanted += found
        yield from found


def _marked(mark: str) -> Iterator[int]:
    for pid, _ in _stats():
        if mark in _read(pid, "environ"):
            yield pid


def _stats() -> Iterator[tuple[int, list[str]]]:
    """Returns (pid, [state, parent, ...]) of each process that is no zombie."""
    for place in Path("/proc").glob("[0-9]*/stat"):
        pid = int(place.parent.name)
        fields = _read(pid, "stat").rpartition(")")[2].split()
        if fields and fields[0] != "Z":
            yield pid, fields


def live(pids: set[int]) -> set[int]:
    return {pid for pid, _ in _stats()} & pids


def commands(pids: set[int]) -> str:
    """Returns what these processes run, one on each line: the name that `ps -o comm` shows, and the command line."""
    return "\n".join(f"{_read(pid, 'comm').strip()} {_read(pid, 'cmdline')}".replace("\0", " ") for pid in live(pids))


def session(pid: int) -> int:
    """Returns the process that leads the session of this one; 0 if it has ended."""
    fields = _read(pid, "stat").rpartition(")")[2].split()
    return int(fields[3]) if fields else 0


def _read(pid: int, name: str) -> str:
    try:
        return Path(f"/proc/{pid}/{name}").read_text(errors="replace")
    except OSError:
        return ""


def kill(pids: set[int]) -> None:
    """Kills processes that a test has left behind."""
    for pid in live(pids):
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)

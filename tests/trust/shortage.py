"""Workers without descriptors, memory or disk: each scan ends with a reason or is tried again, and nothing that was not
read is told whole (R25, R36, T06)."""

import base64
import json
import random
import select
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from karpdash.processes import datadir
from tests.clients.kubernetes.kubeconfigs import kubeconfig
from tests.fakes.evilk8s import AUTHORITY, EvilServer, Request, Wire
from tests.fakes.lying.honest import honest
from tests.installations.running import ROOT, bare_environment
from tests.servers.processes import discard, folder
from tests.servers.small_disk import POSSIBLE, small_disk
from tests.trust.parts import Part
from tests.trust.starved import DISK, FILES, MEMORY

NAME = "v1-10"
MOST = {FILES: 12, MEMORY: 48, DISK: 60}
"""Of descriptors, MiB or pages of disk that a scan has left; with all of them it usually succeeds."""
SIZE = "64m"
"""Of the disk where the database is, in the part that fills it."""
PATIENCE = 45
"""Seconds until a process that stands still is killed: Python waits for ever for a thread that had no memory to begin.
The lease of its scan ends meanwhile, for nobody renews it."""
AGAIN = 3
"""Tasks after which a scan that was tried again has ended, with or without success."""


@dataclass(slots=True)
class _Worker:
    """The process that is starved; begun again where the shortage ends it."""

    env: dict[str, str]
    said: Path
    before: Sequence[str] = ()
    """Of its command: where it is to see a disk of its own."""
    ends: int = 0
    short: int = 0
    """Scans that did not succeed, or not whole, for want of it."""
    _process: "subprocess.Popen[str] | None" = None
    truth: dict[str, int] = field(default_factory=dict)

    def ask(self, word: str, *arguments: Any) -> Any:
        """The answer; None where the process ended over it."""
        if self._process is None:
            with self.said.open("a") as said:
                self._process = subprocess.Popen(
                    [*self.before, sys.executable, "-m", "tests.trust.starved"],
                    cwd=ROOT, env=self.env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=said, text=True,
                )  # fmt: skip
        process = self._process
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(json.dumps([word, *arguments]) + "\n")
        process.stdin.flush()
        if select.select([process.stdout], [], [], PATIENCE)[0] and (line := process.stdout.readline()):
            return json.loads(line)
        process.kill()
        self.stop()
        self.ends += 1
        return None

    def stop(self) -> None:
        if self._process is not None:
            for pipe in (self._process.stdin, self._process.stdout):
                if pipe is not None:
                    pipe.close()
            self._process.wait()
            self._process = None


@contextmanager
def place(what: str) -> Iterator[tuple[_Worker, str]]:
    """A worker that is to be short of that, and the cluster that it scans, which was scanned once as it should be.

    Where it is the disk, the database has a small one of its own, which needs root.
    """

    def script(request: Request, wire: Wire) -> None:
        answer = honest(NAME).answer(request)
        wire.answer(answer.body, status=answer.status)

    where = folder("trust")
    data, disk = datadir.prepare(where / "d"), where / "disk"
    disk.mkdir()
    env = bare_environment(
        data_dir=str(data), broker_url="memory://", allow_loopback="1", scan_interval="0", log_level="ERROR",
        free_mib="0", free_percent="0", database_url=f"sqlite:///{disk}/karpdash.sqlite3",
    )  # fmt: skip
    with EvilServer(script) as server, small_disk(disk, size=SIZE) if what == DISK else nullcontext([]) as before:
        worker = _Worker(env | {"PYTHONPATH": str(ROOT)}, where / "stderr", before)
        try:
            given = {
                "server": server.url,
                "certificate-authority-data": base64.b64encode(AUTHORITY.pem.encode()).decode(),
            }
            cluster = worker.ask("register", json.dumps(kubeconfig(cluster=given)))
            assert worker.ask("scan", cluster, "", 0)[0] == "done", (where / "stderr").read_text()[-500:]
            found = worker.ask("told")
            assert found, (where / "stderr").read_text()[-2500:]
            worker.truth = found["whole"]
            yield worker, cluster
        finally:
            worker.stop()
            discard(where)


def starved(count: int, dice: random.Random, *, what: str) -> Sequence[str]:
    """That many scans with too little of it, each followed by one with enough. Skipped where the disk needs root."""
    if what == DISK and not POSSIBLE:
        pytest.skip("a small disk of our own needs root")
    with place(what) as (worker, cluster):
        told = [_one(worker, cluster, what=what, spare=dice.randrange(MOST[what] + 1)) for _ in range(count)]
        ended = f"the process ended in {worker.ends}"
        sys.stderr.write(f"{what}: {worker.short} of {count} scans were not whole at once; {ended}\n")
    return told


def _one(worker: _Worker, cluster: str, *, what: str, spare: int) -> str:
    first = worker.ask("scan", cluster, what, spare)
    state, code, _ = first or ("running", "", 0)
    worker.short += state != "done" or worker.ask("told")["whole"] != worker.truth
    if state == "failed" and not code:
        return f"{spare} left: failed without a reason"
    if state not in ("done", "failed", "running", "queued"):
        return f"{spare} left: the scan is {state}"
    if wrong := _wrong(worker):
        return f"{spare} left, {state} {code}: {wrong}"
    for _ in range(AGAIN):
        worker.ask("late")
        state, code, _ = worker.ask("scan", cluster, "", 0)
        if state == "done":
            break
    else:
        return f"{spare} left: with enough again it is {state} {code}"
    wrong = _wrong(worker)
    return wrong or ("" if worker.ask("told")["whole"] == worker.truth else "with enough again parts are missing")


def _wrong(worker: _Worker) -> str:
    found = worker.ask("told")
    untrue = {name: count for name, count in found["whole"].items() if worker.truth.get(name) != count}
    if untrue:
        return f"told whole: {untrue}"
    if not found["chain"]:
        return "the audit log has a gap"
    if len({*found["done"]}) > 1:
        return f"scans that are done, their snapshots, all snapshots: {found['done']}"
    return f"halves: {found['halves'][:3]}" if found["halves"] else ""


PARTS = (
    Part(name="descriptors out", full=300, rules="R36, T06", series=partial(starved, what=FILES)),
    Part(name="disk full", full=300, rules="R25, R36", series=partial(starved, what=DISK)),
    Part(name="memory short", full=300, rules="R36, T06", series=partial(starved, what=MEMORY)),
)

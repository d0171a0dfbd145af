"""Runs one contender in a fresh process and takes its figures."""

import json
import os
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
MEGABYTE = 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures:
    """`peak` is the largest resident memory of the process; `bytes_moved` and `objects` are 0 where nobody tells."""

    seconds: float
    cpu: float
    peak: int
    bytes_moved: int = 0
    objects: int = 0


class FailedError(Exception):
    """A contender did not do its work."""


def measured(work: Callable[[], tuple[int, int]]) -> Figures:
    """Figures of some work inside this process: no start of an interpreter, no imports. It answers bytes, objects."""
    started, used = time.perf_counter(), _cpu(resource.getrusage(resource.RUSAGE_SELF))
    moved, objects = work()
    seconds = time.perf_counter() - started
    cpu = _cpu(resource.getrusage(resource.RUSAGE_SELF)) - used
    return Figures(seconds=seconds, cpu=cpu, peak=memory("VmHWM"), bytes_moved=moved, objects=objects)


def _cpu(used: resource.struct_rusage) -> float:
    return used.ru_utime + used.ru_stime


def memory(field: str) -> int:
    """Bytes, of a line such as VmRSS or VmHWM of this process. (ru_maxrss begins with what the parent had.)"""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(f"{field}:"):
            return int(line.split()[1]) * 1024
    raise FailedError(f"this system tells no {field}")


def tell(figures: Figures) -> None:
    """What a contender prints as its last words."""
    sys.stdout.write(json.dumps(asdict(figures)) + "\n")


def ours(contender: str, *words: str, env: Mapping[str, str] | None = None) -> Figures:
    """Figures as the contender of that name tells them, from a fresh interpreter."""
    command = [sys.executable, "-m", "tests.bench.contenders", contender, *words]
    done = subprocess.run(
        command, cwd=ROOT, env={**os.environ, **(env or {})}, stdout=subprocess.PIPE, text=True, check=False
    )
    if done.returncode:
        raise FailedError(f"{contender} ended with {done.returncode}")
    return Figures(**json.loads(done.stdout.splitlines()[-1]))


def outside(command: Sequence[str]) -> Figures:
    """Figures of a foreign program, its start included."""
    started = time.perf_counter()
    with subprocess.Popen(command, stdout=subprocess.DEVNULL) as process:
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise FailedError(f"{command[0]} ended with {process.returncode}")
    return Figures(seconds=time.perf_counter() - started, cpu=_cpu(used), peak=used.ru_maxrss * 1024)


def fastest(rounds: Sequence[Figures]) -> Figures:
    """The round with the shortest time: what else the machine does only ever adds. Its peak is the largest of all."""
    shortest = min(rounds, key=lambda one: one.seconds)
    return replace(shortest, peak=max(one.peak for one in rounds))

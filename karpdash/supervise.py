"""Runs child processes: each in its own session, restarted with growing pauses, stopped in reverse order.

A child dies with its parent even when the parent is killed -9, because the kernel is asked to see to it.
"""

import ctypes
import http.client
import os
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType

PR_SET_PDEATHSIG = 1
GRACE = 20.0
LONGEST_PAUSE = 30.0
STEADY = 60.0
"""A child that ran this long starts its next count of restarts from zero."""
_LIBC = ctypes.CDLL(None, use_errno=True)


@dataclass(slots=True)
class Child:
    name: str
    command: list[str]
    log: Path
    """What it prints; begun anew at each start of karpdash."""
    process: subprocess.Popen[bytes] | None = None
    started: float = 0.0
    restarts: int = 0
    next_start: float = 0.0

    def start(self) -> None:
        """Raises OSError when the program cannot be run."""
        with self.log.open("ab") as output:
            self.process = subprocess.Popen(  # noqa: S603 - our own words, no shell
                self.command,
                start_new_session=True,
                preexec_fn=_die_with_parent,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
            )
        self.started = time.monotonic()

    @property
    def running(self) -> bool:
        return self.process is not None and self.process.poll() is None


def _die_with_parent() -> None:
    _LIBC.prctl(PR_SET_PDEATHSIG, signal.SIGTERM)


@dataclass(slots=True)
class Supervisor:
    """`children` in the order of their start."""

    children: list[Child]
    stopping: bool = False
    _started: list[Child] = field(default_factory=list)

    def catch_signals(self) -> None:
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, self._asked_to_stop)

    def _asked_to_stop(self, _number: int, _frame: FrameType | None) -> None:
        self.stopping = True

    def start_first(self, children: Sequence[Child]) -> None:
        for child in children:
            self._start(child)

    def start_rest(self) -> None:
        self.start_first([child for child in self.children if child not in self._started])

    def _start(self, child: Child) -> None:
        child.start()
        if child not in self._started:
            self._started.append(child)

    def wait_until_serving(self, url: str, *, seconds: float = 60.0) -> bool:
        """True once the address answers 200; False when stopped, when a child cannot live, or after that long."""
        end = time.monotonic() + seconds
        while time.monotonic() < end and not self.stopping:
            if _answers(url):
                return True
            self._restart_fallen()
            time.sleep(0.1)
        return False

    def watch(self) -> int:
        """Restarts what falls until asked to stop; 0 then."""
        while not self.stopping:
            self._restart_fallen()
            time.sleep(0.2)
        return 0

    def _restart_fallen(self) -> None:
        now = time.monotonic()
        for child in self._started:
            if child.running or self.stopping:
                continue
            if not child.next_start:
                child.next_start = now + self._pause(child, now)
            elif now >= child.next_start:
                child.next_start = 0.0
                child.start()

    def _pause(self, child: Child, now: float) -> float:
        child.restarts = 1 if now - child.started > STEADY else child.restarts + 1
        pause: float = min(LONGEST_PAUSE, 0.5 * 2**child.restarts)
        code = child.process.returncode if child.process else None
        print(
            f"karpdash up: {child.name} ended with {code}, starts again in {pause:.0f} s", file=sys.stderr, flush=True
        )
        return pause

    def stop(self) -> None:
        """Last started first; what does not end within the grace period is killed with all its children."""
        self.stopping = True
        for child in reversed(self._started):
            if child.process is not None:
                _end(child.process)


def _end(process: subprocess.Popen[bytes]) -> None:
    if process.poll() is None:
        process.terminate()
        try:
            process.wait(GRACE)
        except subprocess.TimeoutExpired:
            print("karpdash up: a part did not stop in time and is killed", file=sys.stderr)
    _kill_session(process.pid)
    process.wait()


def _kill_session(pid: int) -> None:
    """The child was the leader of its own session: whatever is left of that group goes with it."""
    try:
        os.killpg(pid, signal.SIGKILL)
    except ProcessLookupError:
        return


def _answers(url: str) -> bool:
    try:
        with urllib.request.urlopen(url, timeout=2) as response:  # noqa: S310 # nosec B310 - our own loopback address
            return bool(response.status == 200)
    except (urllib.error.URLError, http.client.HTTPException, OSError):
        return False

"""Runs child processes: each in its own session, restarted with growing pauses, stopped in reverse order.

A child is killed with its parent even after kill -9, because the kernel is told to do so (PR_SET_PDEATHSIG).
"""

import http.client
import os
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from types import FrameType

from karpdash.processes.child_processes import ForkedProcess, die_with_parent, fork

STOP_SECONDS = 40.0
"""Seconds that a child has to end. A worker ends itself after SOFT_STOP, KILL_AFTER and LAST_SECONDS; the rest is for
cores that are busy.
"""
LONGEST_PAUSE = 30.0
STABLE_SECONDS = 60.0
"""After this many seconds of uptime a child's restart count starts again."""
# karpdash's own address is requested directly, regardless of proxy variables.
_DIRECT = urllib.request.build_opener(urllib.request.ProxyHandler({}))


@dataclass(slots=True)
class Child:
    name: str
    command: list[str]
    log: Path
    """Log file of its output; emptied at each start of karpdash."""
    stop_by: signal.Signals = signal.SIGTERM
    """The signal to stop it: sent by the supervisor, and by the kernel if the supervisor dies."""
    run: Callable[[], int] | None = None
    """The function that a fork of this process runs instead of the command; returns the exit code."""
    process: subprocess.Popen[bytes] | ForkedProcess | None = None
    started: float = 0.0
    restarts: int = 0
    next_start: float = 0.0
    _asked_at: float = 0.0

    def start(self) -> None:
        """Starts the process. Raises OSError if the program cannot be run."""
        self._asked_at = 0.0
        self.started = time.monotonic()
        if self.run is not None:
            name = self.name.removeprefix("worker-")
            self.process = fork(self.run, name=name, log=self.log, stop_by=self.stop_by)
            return
        with self.log.open("ab") as output:
            self.process = subprocess.Popen(  # noqa: S603 - our own words, no shell
                self.command,
                start_new_session=True,
                preexec_fn=partial(die_with_parent, self.stop_by),
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
            )

    @property
    def running(self) -> bool:
        return self.process is not None and not _has_ended(self.process)

    def clear(self) -> int | None:
        """Kills what is left of the ended child's session, and returns its exit code."""
        if self.process is None:
            return None
        if self.process.returncode is None:
            _kill_session(self.process.pid)
        return self.process.wait()

    def ask_to_stop(self) -> None:
        """Sends the stop signal, once."""
        if self.running and self.process is not None and not self._asked_at:
            self._asked_at = time.monotonic()
            self.process.send_signal(self.stop_by)

    def stop(self) -> None:
        """Sends the stop signal; kills the process and its children if it has not ended by the end of the grace
        period.
        """
        self.ask_to_stop()
        seconds_left = self._asked_at + STOP_SECONDS - time.monotonic()
        if self.running and self.process is not None and not _ends(self.process, seconds=seconds_left):
            print(f"karpdash up: {self.name} did not stop in time and is killed", file=sys.stderr, flush=True)
        self.clear()


def _has_ended(process: subprocess.Popen[bytes] | ForkedProcess) -> bool:
    """Whether the process has ended. It is not reaped here: until then the kernel does not reuse its session
    id.

    Some systems cannot tell without reaping.
    """
    if process.returncode is not None:
        return True
    if not hasattr(os, "waitid"):
        return process.poll() is not None
    return os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None


def _ends(process: subprocess.Popen[bytes] | ForkedProcess, *, seconds: float) -> bool:
    end = time.monotonic() + seconds
    while not _has_ended(process):
        if time.monotonic() > end:
            return False
        time.sleep(0.05)
    return True


@dataclass(slots=True)
class Supervisor:
    """Starts, restarts and stops `children`, which are in start order."""

    children: list[Child]
    stopping: bool = False
    _started: list[Child] = field(default_factory=list)
    _first: list[Child] = field(default_factory=list)
    """Children that the others need until they have ended, such as the broker."""

    def catch_signals(self) -> None:
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, self._stop_by_signal)

    def _stop_by_signal(self, _number: int, _frame: FrameType | None) -> None:
        self.stopping = True

    def start_first(self, children: Sequence[Child]) -> None:
        """Starts the children that the others need."""
        self._first += children
        self._start_each(children)

    def start_rest(self) -> None:
        self._start_each([child for child in self.children if child not in self._started])

    def _start_each(self, children: Sequence[Child]) -> None:
        for child in children:
            if not self.stopping:
                self._start(child)

    def _start(self, child: Child) -> None:
        child.start()
        if child not in self._started:
            self._started.append(child)

    def wait_until_serving(self, url: str, *, seconds: float = 60.0) -> bool:
        """Returns True once the URL answers 200; False if stopped, or after the timeout."""
        end = time.monotonic() + seconds
        while time.monotonic() < end and not self.stopping:
            if _answers(url):
                return True
            self._restart_ended()
            time.sleep(0.1)
        return False

    def watch(self) -> int:
        """Restarts ended children until told to stop; then returns 0."""
        while not self.stopping:
            self._restart_ended()
            time.sleep(0.2)
        return 0

    def _restart_ended(self) -> None:
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
        child.restarts = 1 if now - child.started > STABLE_SECONDS else child.restarts + 1
        pause: float = min(LONGEST_PAUSE, 0.5 * 2**child.restarts)
        notice = f"starts again in {pause:.0f} s; see {child.log}"
        print(f"karpdash up: {child.name} ended with {child.clear()}, {notice}", file=sys.stderr, flush=True)
        return pause

    def stop(self) -> None:
        """Stops the children: all in parallel, then those that were started first.

        A child that exceeds the grace period is killed with its children.
        """
        self.stopping = True
        late = [child for child in self._started if child not in self._first]
        for child in late:
            child.ask_to_stop()
        for child in (*reversed(late), *reversed(self._first)):
            child.stop()


def _kill_session(pid: int) -> None:
    """Kills the process group of the child, which was the leader of its own session."""
    try:
        os.killpg(pid, signal.SIGKILL)
    except ProcessLookupError:
        return


def _answers(url: str) -> bool:
    try:
        with _DIRECT.open(url, timeout=2) as response:
            return bool(response.status == 200)
    except (urllib.error.URLError, http.client.HTTPException, OSError):
        return False

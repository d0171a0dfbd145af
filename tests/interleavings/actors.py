"""Workers that can be halted between any two things they do: each runs the product's `advance` on its own stack."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from typing import Any

from greenlet import getcurrent, greenlet

from migrations_app.errors import KarpdashError
from migrations_app.use_cases.rollouts import worker

TRANSACTION, READ, IDENTITY, WAITING, RELEASE = "transaction", "read", "identity", "waiting", "release"


class HaltedWorker:
    """One worker. `at` is where it stands, empty while it has no task. `seconds` is its own clock."""

    def __init__(self, name: str) -> None:
        self.name, self.at, self.seconds = name, "", 0.0
        self.letter: Any = None
        self.slept = False
        self.wrong = ""
        self._stack: greenlet | None = None
        self._dead: list[greenlet] = []

    @property
    def working(self) -> bool:
        return bool(self.at)

    @property
    def stack(self) -> greenlet | None:
        return self._stack

    def begin(self, rollout: uuid.UUID) -> None:
        """Runs to the first halt."""
        self.slept = False
        self._stack = greenlet(lambda _: self._work(lambda: worker.advance(rollout, holder=self.name)))
        self._switch(None)

    def resume(self, told: Any = None) -> None:
        """Goes on to the next halt; an exception is raised where it stands, anything else is the answer there."""
        self._switch(told)

    def kept(self) -> tuple[Any, ...]:
        """What `restore` takes, to be as now again; for what does not make it go on."""
        return self._stack, self.at, self.letter, self.seconds, self.slept

    def restore(self, kept: tuple[Any, ...]) -> None:
        self._stack, self.at, self.letter, self.seconds, self.slept = kept

    def die(self) -> None:
        """Nothing of it runs any more, not even what cleans up."""
        assert self._stack is not None
        self._dead.append(self._stack)  # an object that is thrown away would be told to end
        self._stack, self.at, self.letter = None, "", None

    def halt(self, at: str) -> Any:
        """Called on its own stack: somebody else goes first. Returns the answer, or raises it."""
        self.at = at
        told = HUB.switch()
        if isinstance(told, BaseException):
            raise told
        return told

    def sleep(self, seconds: float) -> None:
        del seconds  # a worker that waits ends its slice
        self.slept = True
        self.seconds += worker.SLICE_SECONDS + 1

    def _switch(self, told: Any) -> None:
        assert self._stack is not None
        before, RUNNING[0] = RUNNING[0], self
        try:
            self._stack.switch(told)
        finally:
            RUNNING[0] = before
        if self._stack.dead:
            self._stack, self.at, self.letter = None, "", None

    def _work(self, task: Callable[[], object]) -> None:
        try:
            task()
        except (SystemExit, KarpdashError):
            return
        except Exception as wrong:  # noqa: BLE001 - whatever is raised is the finding
            self.wrong = f"{type(wrong).__name__}: {wrong}"


HUB = getcurrent()
RUNNING: list[HaltedWorker | None] = [None]


def halted(at: str) -> Any:
    """Halts the worker that runs now; nothing if a person acts."""
    running = RUNNING[0]
    return None if running is None else running.halt(at)


class WorkerTime:
    """`time` of the modules of workers."""

    def monotonic(self) -> float:
        return RUNNING[0].seconds if RUNNING[0] else 0.0

    def sleep(self, seconds: float) -> None:
        if RUNNING[0]:
            RUNNING[0].sleep(seconds)

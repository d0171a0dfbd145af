"""How work on a rollout stops with a reason for people.

Counts the tries of workers before the work, so that a rollout that kills its workers ends with a person (R36).
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Literal

from django.db import InterfaceError, OperationalError, transaction
from django.db.models import F

from migrations_app.errors import Conflict
from migrations_app.models.rollout import Rollout
from migrations_app.use_cases.rollouts import lease
from migrations_app.use_cases.rollouts.lease import LeaseLost, LeaseToken


class RolloutHalted(Conflict):
    """The rollout stops here and a person is called; `state` says how."""

    def __init__(self, code: str, words: str, *, state: Literal["paused", "needs_attention"] = "paused") -> None:
        super().__init__(words, code=code)
        self.state: Literal["paused", "needs_attention"] = state


MOST = 3
_ORDERLY = (Conflict, OperationalError, InterfaceError, SystemExit)
"""Ends that are nobody's crash: a lost lease, a database that restarts, a worker that was told to stop."""


@contextmanager
def counting_attempt(row: Rollout, fence: LeaseToken) -> Iterator[None]:
    """One try; it is forgotten when the block ends in any orderly way. Raises Lost."""
    with transaction.atomic():
        lease.check(fence)
        _write(row, tries=row.worker_attempts + 1, expression=F("worker_attempts") + 1)
    try:
        yield
    except _ORDERLY:
        _forget(row, fence)
        raise
    _forget(row, fence)


def halt_crash_loop(row: Rollout) -> None:
    """Raises Halt once as many workers as may have died at it, one after the other."""
    if row.worker_attempts > MOST:
        words = f"{MOST} workers died at it, one after the other; what was sent is in the journal"
        raise RolloutHalted("worker_lost", words)


def reset_attempts(row: Rollout) -> None:
    """Something got through: those who died before it did not die at what comes next. This try goes on."""
    if row.worker_attempts > 1:
        _write(row, tries=1, expression=1)


def _forget(row: Rollout, fence: LeaseToken) -> None:
    """Also after the lease ran out: a worker that was too slow did not die, unless somebody else goes on already."""
    try:
        with transaction.atomic():
            lease.check_untaken(fence)
            _write(row, tries=0, expression=0)
    except (LeaseLost, OperationalError, InterfaceError):
        return  # whoever comes next counts on, until something gets through


def _write(row: Rollout, *, tries: int, expression: object) -> None:
    Rollout.objects.filter(pk=row.pk).update(worker_attempts=expression)
    row.worker_attempts = tries

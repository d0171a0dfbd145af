"""Crash-loop guard: attempts are counted before the work; after too many lost workers a person decides (R36)."""

from collections.abc import Iterator
from contextlib import contextmanager

from django.db import InterfaceError, OperationalError, transaction
from django.db.models import F

from migrations_app.errors import Conflict
from migrations_app.execution.interface import LeaseLost, RolloutHalted
from migrations_app.models.rollout import Rollout
from migrations_app.use_cases.rollouts import lease
from migrations_app.use_cases.rollouts.lease import LeaseToken

MAX_ATTEMPTS = 3
_NOT_A_CRASH = (Conflict, OperationalError, InterfaceError, SystemExit)
"""Exceptions that end a worker without a crash: a lost lease, a restarting database, a requested stop."""


@contextmanager
def counting_attempt(row: Rollout, lease_token: LeaseToken) -> Iterator[None]:
    """Counts one attempt; the count is reset if the block ends in an orderly way. Raises LeaseLost."""
    with transaction.atomic():
        lease.check(lease_token)
        _write(row, tries=row.worker_attempts + 1, expression=F("worker_attempts") + 1)
    try:
        yield
    except _NOT_A_CRASH:
        _reset(row, lease_token)
        raise
    _reset(row, lease_token)


def halt_crash_loop(row: Rollout) -> None:
    """Raises RolloutHalted after MAX_ATTEMPTS workers in a row were lost."""
    if row.worker_attempts > MAX_ATTEMPTS:
        words = f"{MAX_ATTEMPTS} workers in a row were stopped during this rollout; the journal has what was sent"
        raise RolloutHalted("worker_lost", words)


def reset_attempts(row: Rollout) -> None:
    """Progress was made, so earlier lost workers no longer count; the current attempt does."""
    if row.worker_attempts > 1:
        _write(row, tries=1, expression=1)


def _reset(row: Rollout, lease_token: LeaseToken) -> None:
    """Resets the count unless another worker has the lease. A worker whose lease expired was slow and did not crash."""
    try:
        with transaction.atomic():
            lease.check_untaken(lease_token)
            _write(row, tries=0, expression=0)
    except (LeaseLost, OperationalError, InterfaceError):
        return  # the next worker keeps counting until there is progress


def _write(row: Rollout, *, tries: int, expression: object) -> None:
    Rollout.objects.filter(pk=row.pk).update(worker_attempts=expression)
    row.worker_attempts = tries

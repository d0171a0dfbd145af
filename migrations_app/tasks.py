"""Celery's door: load an id, call flow, nothing else. A message is only a wake-up; the rows tell what is to be done."""

import logging
import os
import socket
import uuid

from celery import Task, shared_task
from kombu.exceptions import OperationalError

from migrations_app.errors import Conflict
from migrations_app.flow import checkpoint_push, execute, preview, schedule
from migrations_app.flow.scan_cluster import scan_claimed
from migrations_app.flow.stranded import stranded_rollouts
from migrations_app.flow.void_plans import expire_old_plans

log = logging.getLogger(__name__)


@shared_task(name="scan_cluster", ignore_result=True)
def scan_cluster(scan_id: str) -> None:
    """Makes progress on one scan if nobody else has it."""
    claim = schedule.claim(uuid.UUID(scan_id))
    if claim is None:
        return
    try:
        scan_claimed(claim)
    except SystemExit:
        # The worker was told to stop, and its grace is over: somebody else begins anew at once (R28).
        schedule.give_back(claim)
        raise
    except Exception as crash:
        # The broad except of the task wrapper: a crash ends the scan with a code, never silently.
        log.exception("scan crashed")
        schedule.crashed(claim, type(crash).__name__)


@shared_task(name="prepare_rollout", ignore_result=True)
def prepare_rollout(rollout_id: str) -> None:
    """Works a draft out into a preview, or ends it with the reason."""
    try:
        preview.prepare(uuid.UUID(rollout_id))
    except Conflict:
        log.info("the draft moved meanwhile", extra={"rollout": rollout_id})


@shared_task(name="advance_rollout", ignore_result=True)
def advance_rollout(rollout_id: str) -> None:
    """Makes progress on one rollout if it gets the cluster's lease; comes again while there is more to do (A12)."""
    holder = f"{socket.gethostname()}:{os.getpid()}:{uuid.uuid4().hex[:8]}"
    if execute.advance(uuid.UUID(rollout_id), holder=holder):
        wake_rollout(uuid.UUID(rollout_id), advance_rollout)


@shared_task(name="sweep_rollouts", ignore_result=True)
def sweep_rollouts() -> None:
    """Ends plans that are too old; wakes drafts and running rollouts that lost their message or their worker."""
    expire_old_plans()
    for rollout_id, state in stranded_rollouts():
        wake_rollout(rollout_id, prepare_rollout if state == "draft" else advance_rollout)


def wake_rollout(rollout_id: uuid.UUID, task: "Task[[str], None]") -> bool:
    """Nudges a worker; False when the broker is down: the sweeper comes back to it (R05)."""
    try:
        task.delay(str(rollout_id))
    except OperationalError:
        log.warning("broker unreachable, rollout waits", extra={"rollout": str(rollout_id)})
        return False
    return True


@shared_task(name="scan_fleet", ignore_result=True)
def scan_fleet() -> None:
    """Requests what is due and wakes it."""
    for scan_id in schedule.due_scans():
        wake(scan_id)


@shared_task(name="checkpoint", ignore_result=True)
def checkpoint() -> None:
    """Signs what is due of the audit log and carries it outside (A53)."""
    checkpoint_push.keep_up()


@shared_task(name="sweep", ignore_result=True)
def sweep() -> None:
    """Wakes what lost its message or its worker."""
    for scan_id in schedule.stranded():
        wake(scan_id)


def wake(scan_id: uuid.UUID) -> bool:
    """Nudges a worker; False when the broker is down: the row stays queued and the sweeper comes back to it (R05)."""
    try:
        scan_cluster.delay(str(scan_id))
    except OperationalError:
        log.warning("broker unreachable, scan stays queued", extra={"scan": str(scan_id)})
        return False
    return True

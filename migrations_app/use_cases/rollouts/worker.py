"""Carries out approved rollouts: one worker per cluster, one request at a time, each recorded before it is sent.

`rollouts_to_enqueue` finds rollouts whose message or worker was lost.
"""

import logging
import time
import uuid
from contextlib import suppress
from datetime import timedelta
from functools import partial
from typing import Any, Literal

import msgspec
from django.conf import settings
from django.db import InterfaceError, OperationalError, connection, transaction
from django.db.models import Q
from django.db.models.functions import Now
from django.utils import timezone

from migrations_app.actions import states
from migrations_app.actions.plan import PLANNER_VERSION, Plan, stored_digest
from migrations_app.actions.states import WORKING
from migrations_app.clients.kubernetes.api import Writer
from migrations_app.errors import Conflict, Forbidden, InvalidInput, InvalidSetting, ReadError, Unauthorized
from migrations_app.execution.interface import LeaseLost, RolloutHalted
from migrations_app.execution.steps import carry_out, refuse_other_cluster
from migrations_app.models.rollout import Lease, Rollout
from migrations_app.use_cases.audit.log import WORKER
from migrations_app.use_cases.rollouts import journal, lease
from migrations_app.use_cases.rollouts.attempts import counting_attempt, halt_crash_loop
from migrations_app.use_cases.rollouts.helm.runs import HelmWriter, runs_helm
from migrations_app.use_cases.rollouts.journal import ExecutionContext, StopRequested, report_waiting
from migrations_app.use_cases.rollouts.lease import LeaseToken
from migrations_app.use_cases.rollouts.transitions import TransitionCause, require_rollout, transition
from migrations_app.use_cases.runtime.connections import connect_writer
from migrations_app.use_cases.runtime.lease_renewal import renewed_lease

log = logging.getLogger(__name__)
SLICE_SECONDS = 20.0
"""How long a task works before it enqueues the next one: a worker that is told to stop has no more time (R28)."""
UNREACHABLE_TIMEOUT = timedelta(minutes=10)
"""How long the cluster may be unreachable before a person has to decide (A09)."""


def advance(rollout_id: uuid.UUID, *, holder: str) -> bool:
    """Makes as much progress as one time slice allows. True: there is more to do, call again soon.

    1. Take the cluster's lease (A12); return False if another worker has it or the rollout is not running.
    2. Read the row again under the lease, and count the attempt (crash-loop guard).
    3. Check that the plan is the approved one and that the API server is the planned cluster's.
    4. Until the slice ends: settle an open request first, then check for stop requests, then pass the gate or send the
       next request.
    5. Finish, pause, abort or halt the rollout, and release the lease.
    """
    try:
        row = require_rollout(rollout_id)
        lease_token = lease.acquire(row.cluster_id, holder) if row.state in WORKING else None
        return _advance_under_lease(row, lease_token) if lease_token is not None else False
    except LeaseLost:
        log.warning("lease lost", extra={"rollout": str(rollout_id)})
        return False
    except Conflict:
        return True  # changed meanwhile: read it again
    except (OperationalError, InterfaceError):
        # No request is sent without a committed intent; the sweep continues when the database is back (R06).
        log.exception("database failed", extra={"rollout": str(rollout_id)})
        connection.close_if_unusable_or_obsolete()
        return False


def _advance_under_lease(row: Rollout, lease_token: LeaseToken) -> bool:
    try:
        with renewed_lease(partial(lease.renew, lease_token), seconds=lease.RENEW_SECONDS):
            # Read again under the lease: the previous holder may have moved the rollout.
            row.refresh_from_db()
            with counting_attempt(row, lease_token):
                return row.state in WORKING and _advance(row, lease_token)
    finally:
        with suppress(OperationalError, InterfaceError):
            lease.release(lease_token)


def _advance(row: Rollout, lease_token: LeaseToken) -> bool:
    plan = msgspec.json.decode(bytes(row.plan), type=Plan)
    work = ExecutionContext(row=row, plan=plan, lease_token=lease_token, actor=WORKER)
    try:
        halt_crash_loop(row)
        _refuse_unapproved_plan(row, plan)
        with connect_writer(row.cluster) as writer:
            refuse_other_cluster(work, writer)
            return _work(work, HelmWriter(writer, work) if runs_helm(plan) else writer)
    except StopRequested as stop:
        return _stop(work, stop)
    except RolloutHalted as halt:
        return _halt(work, halt)
    except ReadError as reason:
        return _unreachable(work, reason)
    except (InvalidInput, InvalidSetting) as wrong:
        return _halt(work, RolloutHalted(wrong.code, str(wrong)))


def _refuse_unapproved_plan(row: Rollout, plan: Plan) -> None:
    """Raises RolloutHalted for a plan of another planner version, or a plan that differs from the approved one."""
    if plan.planner != PLANNER_VERSION or stored_digest(bytes(row.plan)) != row.digest:
        raise RolloutHalted("strange_plan", "the plan differs from the approved one", state="needs_attention")


def _work(work: ExecutionContext, writer: Writer) -> bool:
    ends = time.monotonic() + SLICE_SECONDS
    while time.monotonic() < ends:
        position = states.current_position(work.plan, journal.lines(work.row.pk))
        if position is None or position.phase != "settle":
            # An open request is settled first, whatever was requested since (A10).
            _check_for_stop_request(work)
        if position is None:
            return _finish(work)
        moved = carry_out(work, writer, position=position)
        if work.row.unknown_since is not None:
            journal.note(work, unknown_since=None)
        if moved:
            report_waiting(work, "")
        else:
            time.sleep(settings.ENV.gate_poll)
    return True


def _check_for_stop_request(work: ExecutionContext) -> None:
    """Raises StopRequested if a person or the kill switch has stopped the rollout."""
    with transaction.atomic():
        journal.refuse_if_stopped(work)


def _finish(work: ExecutionContext) -> bool:
    with transaction.atomic():
        ended: dict[str, Any] = {"finished_at": timezone.now(), "waits_for": ""}
        transition(work.row, "succeeded", by=work.actor, lease_token=work.lease_token, **ended)
        _update_original(work.row, "rolled_back")
    journal.reached("after_transition")
    return False


def _update_original(row: Rollout, then: Literal["rolled_back", "needs_attention"]) -> None:
    """Moves the rollout that this one rolls back to its final state."""
    original = row.rolls_back
    if original is not None and original.state == "rolling_back":
        transition(original, then, by=WORKER, cause=TransitionCause(code=row.state))


def _stop(work: ExecutionContext, stop: StopRequested) -> bool:
    """Aborts or pauses as requested. Does nothing if the row changed meanwhile."""
    if stop.code == "moved":
        return False
    if stop.code == Rollout.StopRequest.ABORT:
        ended: dict[str, Any] = {"finished_at": timezone.now(), "stop_request": "", "waits_for": ""}
        with transaction.atomic():
            transition(
                work.row,
                "aborted",
                by=work.actor,
                cause=TransitionCause(code="asked"),
                lease_token=work.lease_token,
                **ended,
            )
            _update_original(work.row, "needs_attention")
    else:
        cause = TransitionCause(code=stop.code, words=stop.message)
        rest: dict[str, Any] = {"stop_request": "", "gate_since": None, "waits_for": ""}
        transition(work.row, "paused", by=work.actor, cause=cause, lease_token=work.lease_token, **rest)
    return False


def _halt(work: ExecutionContext, halt: RolloutHalted) -> bool:
    cause = TransitionCause(code=halt.code, words=halt.message)
    rest: dict[str, Any] = {"gate_since": None, "waits_for": "", "stop_request": "", "worker_attempts": 0}
    transition(work.row, halt.state, by=work.actor, cause=cause, lease_token=work.lease_token, **rest)
    return False


_READ_REFUSALS: dict[type[ReadError], tuple[str, str]] = {
    Unauthorized: ("refused_401", "the credentials were refused"),
    Forbidden: ("refused_403", "a read was refused"),
}


def _unreachable(work: ExecutionContext, reason: ReadError) -> bool:
    """Retries for a while; then halts, with `needs_attention` if a request's outcome is unknown (A09, R11)."""
    position = states.current_position(work.plan, journal.lines(work.row.pk))
    open_outcome = position is not None and position.phase == "settle"
    try:
        if not open_outcome:
            _check_for_stop_request(work)
    except StopRequested as stop:
        return _stop(work, stop)
    since = work.row.unknown_since or timezone.now()
    if timezone.now() - since >= UNREACHABLE_TIMEOUT:
        code, what = _READ_REFUSALS.get(type(reason), ("unreachable", "no answer"))
        words = f"{what} for {int(UNREACHABLE_TIMEOUT.total_seconds() // 60)} minutes: {reason.message}"
        return _halt(work, RolloutHalted(code, words, state="needs_attention" if open_outcome else "paused"))
    if work.row.unknown_since is None:
        journal.note(work, unknown_since=since)
    report_waiting(work, f"an answer: {reason.message}")
    time.sleep(settings.ENV.gate_poll)
    return True


MAX_ENQUEUED = 100


def rollouts_to_enqueue() -> list[tuple[uuid.UUID, str]]:
    """(id, state) of drafts, and of running rollouts whose cluster has no lease holder, longest waiting first."""
    leased = Lease.objects.filter(expires_at__gt=Now()).exclude(holder="").values("cluster_id")
    waiting = Q(state="draft") | (Q(state="running") & ~Q(cluster_id__in=leased))
    return list(Rollout.objects.filter(waiting).order_by("changed_at").values_list("pk", "state")[:MAX_ENQUEUED])

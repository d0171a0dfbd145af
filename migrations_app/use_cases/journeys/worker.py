"""Advances journeys: the preview of drafts, and the current step of running ones.

A journey changes no cluster: it starts rollouts, whose workers do. Every write checks the fencing token of the
cluster's lease. While a rollout runs, its worker has the lease and the journey waits.
"""

import logging
import uuid
from contextlib import suppress
from datetime import datetime
from functools import partial
from typing import Any

import msgspec
from django.db import InterfaceError, OperationalError, connection, transaction
from django.db.models import F, Q
from django.db.models.functions import Now
from django.utils import timezone

from migrations_app.errors import Conflict
from migrations_app.execution.interface import LeaseLost
from migrations_app.journeys.evidence import StepEvidence, step_evidence
from migrations_app.journeys.next_move import WEIGHED_BEFORE, RolloutFacts, StepFacts, next_move
from migrations_app.journeys.states import after
from migrations_app.models.journey import Journey, JourneyHold, JourneyRollout, JourneyStepRow
from migrations_app.models.rollout import Lease
from migrations_app.queries.rollouts.policies import everything_stopped
from migrations_app.use_cases.audit import delivery_lag
from migrations_app.use_cases.audit.log import WORKER
from migrations_app.use_cases.journeys import advance_decisions, step_rollback, step_rollouts
from migrations_app.use_cases.journeys.holds import advance_hold
from migrations_app.use_cases.journeys.lifecycle import pause_for_person, resume_now
from migrations_app.use_cases.journeys.moves import make_move
from migrations_app.use_cases.journeys.preview import WorkToEnqueue, prepare_journey
from migrations_app.use_cases.journeys.scans import report_since
from migrations_app.use_cases.journeys.transitions import JourneyEvent, LoadedJourney, definition, load, store
from migrations_app.use_cases.rollouts import lease
from migrations_app.use_cases.rollouts.lease import LeaseToken

log = logging.getLogger(__name__)
MAX_WORKERS_LOST = 3
NOT_A_CRASH = (Conflict, OperationalError, InterfaceError, SystemExit)
"""Exceptions that end a worker without a crash: a lost lease, a restarting database, a requested stop."""


def advance_journey(journey_id: uuid.UUID, *, holder: str) -> WorkToEnqueue:
    """Makes one move and returns the work to enqueue, with `again` if another move can be made at once.

    1. Take the cluster's lease; nothing happens while another worker has it. A draft needs no lease.
    2. Read the journey under the lease and count the attempt (crash-loop guard).
    3. Pause the journey if changes are stopped; else make the next move of its current step.
    """
    try:
        loaded = load(journey_id)
        if JourneyHold.objects.filter(journey_id=journey_id).exists():
            return _advance_hold(journey_id)
        if loaded.row.state == "draft":
            return prepare_journey(loaded)
        if loaded.row.state != "running":
            return WorkToEnqueue()
        lease_token = lease.acquire(loaded.row.cluster_id, holder)
        return _advance_under_lease(journey_id, lease_token) if lease_token is not None else WorkToEnqueue()
    except LeaseLost:
        log.warning("lease lost", extra={"journey": str(journey_id)})
    except Conflict as moved:
        log.info("the journey was changed meanwhile", extra={"journey": str(journey_id), "code": moved.code})
    except (OperationalError, InterfaceError):
        log.exception("database failed", extra={"journey": str(journey_id)})
        connection.close_if_unusable_or_obsolete()
    return WorkToEnqueue()


def _advance_hold(journey_id: uuid.UUID) -> WorkToEnqueue:
    """Makes one move of the hold of Karpenter's own disruption; the journey resumes at its end if that was
    requested.
    """
    return advance_hold(journey_id, resume_now=partial(resume_now, by=WORKER))


def _advance_under_lease(journey_id: uuid.UUID, lease_token: LeaseToken) -> WorkToEnqueue:
    try:
        # Read again under the lease: the previous holder may have changed the journey.
        loaded = load(journey_id)
        if loaded.row.state != "running":
            return WorkToEnqueue()
        _count_attempt(loaded.row, lease_token)
        if loaded.row.worker_attempts > MAX_WORKERS_LOST:
            pause_for_person(loaded, "worker_lost", lease_token=lease_token)
            _reset_attempts(loaded.row)
            return WorkToEnqueue()
        try:
            to_enqueue = _advance_step(loaded, lease_token)
        except NOT_A_CRASH:
            _reset_attempts(loaded.row)
            raise
        _reset_attempts(loaded.row)
        return to_enqueue
    finally:
        with suppress(OperationalError, InterfaceError):
            lease.release(lease_token)


def _count_attempt(row: Journey, lease_token: LeaseToken) -> None:
    """Counts the attempt before the work, so that work that crashes its worker each time ends (R36)."""
    with transaction.atomic():
        lease.check(lease_token)
        Journey.objects.filter(pk=row.pk).update(worker_attempts=F("worker_attempts") + 1)
    row.worker_attempts += 1


def _reset_attempts(row: Journey) -> None:
    """Resets the count: the worker did not crash, or a person decides next. While the database is down the
    count stays.
    """
    with suppress(OperationalError, InterfaceError):
        Journey.objects.filter(pk=row.pk).update(worker_attempts=0)


def _advance_step(loaded: LoadedJourney, lease_token: LeaseToken) -> WorkToEnqueue:
    """Makes one move of the current step."""
    if everything_stopped():
        pause_for_person(loaded, "kill_switch", lease_token=lease_token)
        return WorkToEnqueue()
    if delivery_lag.why_blocked():
        pause_for_person(loaded, "audit", lease_token=lease_token)
        return WorkToEnqueue()
    current = loaded.current
    if current is None:
        event = JourneyEvent(verb="journey.succeeded", by=WORKER, tells="journey.completed", lease_token=lease_token)
        ended = {"finished_at": timezone.now(), "wait_code": "", "needs_person": False}
        store(loaded, after(loaded.progress, "complete"), event=event, columns=ended)
        return WorkToEnqueue()
    if current.state == "undoing":
        return step_rollback.advance_undo(loaded, current, lease_token=lease_token)
    view = _step_state(loaded, current)
    move = next_move(definition(current), view, now=timezone.now())
    proof: dict[str, Any] = {"evidence": msgspec.to_builtins(view.evidence)} if view.evidence else {}
    if move.code == WEIGHED_BEFORE:
        proof |= advance_decisions.words_of(loaded.row)
    return make_move(loaded, current, move=move, proof=proof, lease_token=lease_token)


def _step_state(loaded: LoadedJourney, current: JourneyStepRow) -> StepFacts:
    """The stored state that the decision is based on."""
    rollout = (
        step_rollouts.rollout_state_of(loaded.row, loaded.plan, step=current) if current.kind == "rollout" else None
    )
    since: datetime = current.since or loaded.row.changed_at
    view = StepFacts(state=current.state, since=since, rollout=rollout, asked_at=loaded.row.asked_at)  # type: ignore[arg-type]  # the column's choices are the states
    if current.kind in ("person", "outside"):
        view = msgspec.structs.replace(view, weighed=advance_decisions.is_confirmed_in_advance(loaded, current))
    if current.state != "running" or not _needs_proof(current, rollout):
        return view
    return msgspec.structs.replace(view, evidence=_evidence(loaded, current, since=view.proof_since))


def _needs_proof(current: JourneyStepRow, rollout: RolloutFacts | None) -> bool:
    return current.kind in ("person", "outside") or (rollout is not None and rollout.state in ("succeeded", "expired"))


def _evidence(loaded: LoadedJourney, current: JourneyStepRow, *, since: datetime) -> StepEvidence | None:
    newest = report_since(loaded.row.cluster_id, since)
    if newest is None:
        return None
    snapshot, report = newest
    evidence = step_evidence(definition(current), report, hop=loaded.row.hop, starts=loaded.row.starts)
    return msgspec.structs.replace(evidence, snapshot=str(snapshot))


MAX_ENQUEUED = 100


def journeys_to_enqueue() -> list[uuid.UUID]:
    """Up to MAX_ENQUEUED journeys that need a worker, in random order: drafts, running journeys whose cluster has
    no lease holder, and those with a hold of Karpenter's own disruption. Each sweep checks running journeys: that is
    how they notice scans, ended rollouts and time. The order is random so that journeys that wait for weeks do not
    block others.
    """
    leased = Lease.objects.filter(expires_at__gt=Now()).exclude(holder="").values("cluster_id")
    waiting = Q(state="draft") | (Q(state="running") & ~Q(cluster_id__in=leased)) | Q(hold__isnull=False)
    return list(Journey.objects.filter(waiting).order_by("?").values_list("pk", flat=True)[:MAX_ENQUEUED])


def journey_of(rollout_id: uuid.UUID) -> uuid.UUID | None:
    """The journey of the rollout, to be advanced when the rollout has ended; None if there is none or the
    rollout runs.
    """
    parts = JourneyRollout.objects.filter(rollout_id=rollout_id).exclude(rollout__state="running")
    return parts.values_list("step__journey_id", flat=True).first()

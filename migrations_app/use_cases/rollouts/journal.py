"""Named places in the life of a request. Nothing happens at them, unless a test process puts something there.

The journal of a rollout: an intent before each request and its outcome after it, both with their audit event.

What a running rollout waits for, said on its page: never a stale picture without a reason.
"""

import uuid
from collections.abc import Callable
from dataclasses import dataclass

from django.db import DatabaseError, InterfaceError, OperationalError, transaction
from django.db.models.functions import Now
from django.utils import timezone

from migrations_app.actions.changes import Change
from migrations_app.actions.plan import Plan, Step
from migrations_app.actions.request import ObjectVersion
from migrations_app.errors import Conflict
from migrations_app.models.rollout import Attempt, Rollout
from migrations_app.queries.rollouts.policies import everything_stopped
from migrations_app.use_cases.audit import delivery_lag
from migrations_app.use_cases.audit.log import Actor, Event, record
from migrations_app.use_cases.rollouts import lease
from migrations_app.use_cases.rollouts.attempts import RolloutHalted, reset_attempts
from migrations_app.use_cases.rollouts.lease import LeaseToken

NAMES = ("before_intent", "after_intent", "after_send", "before_outcome", "after_outcome", "after_transition")


def _nothing(_name: str) -> None:
    return


reached: Callable[[str], None] = _nothing
"""Called as `crash_points.reached(name)`; a test process replaces it to die there."""


class StopRequested(Conflict):
    """Nothing may be sent now: a wish, the kill switch, or the state moved. `code` says which."""

    code = "stopped"


@dataclass(frozen=True, slots=True, kw_only=True)
class ExecutionContext:
    """One worker at one rollout: the row as it was read, its plan, and the fence that allows writing."""

    row: Rollout
    plan: Plan
    fence: LeaseToken
    actor: Actor


@dataclass(frozen=True, slots=True)
class Intent:
    """A committed intent: the request may be sent now, once."""

    attempt_id: int
    number: int


def lines(rollout_id: uuid.UUID) -> list[Attempt]:
    """All lines, oldest first."""
    return list(Attempt.objects.filter(rollout_id=rollout_id).order_by("pk"))


def record_intent(
    work: ExecutionContext, step: Step, *, change: Change, tie: ObjectVersion, body_digest: str
) -> Intent:
    """Commits the intent (A19). Raises Stopped, Lost, Halt, and what the database raises: then nothing is sent."""
    with transaction.atomic():
        lease.check(work.fence)
        refuse_if_stopped(work)
        number = Attempt.objects.filter(rollout=work.row, step=step.id).count() + 1
        attempt = Attempt.objects.create(
            rollout=work.row,
            step=step.id,
            number=number,
            fence=work.fence.token,
            verb=change.verb,
            path=change.path,
            body_digest=body_digest,
            uid=tie.uid,
            resource_version=tie.resource_version,
            actor=work.actor.name,
            # The clock of the database: whoever settles it later may sit on a machine whose own clock is wrong (R18).
            intent_at=Now(),
        )
        _record(_event(work, attempt, verb="step.intent", what=change.target.said))
    return Intent(attempt.pk, number)


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What became of a request."""

    outcome: str
    status: int | None = None
    reason: str = ""
    audit_id: str = ""
    uid: str = ""
    resource_version: str = ""
    settled_by: str = ""


def record_outcome(work: ExecutionContext, attempt_id: int, *, told: Outcome) -> None:
    """Commits the outcome (A21). Raises Lost: then the next holder settles it by reading."""
    with transaction.atomic():
        lease.check(work.fence)
        changed = Attempt.objects.filter(pk=attempt_id, outcome__in=("", Attempt.Outcome.UNKNOWN)).update(
            outcome=told.outcome,
            status=told.status,
            reason=told.reason[:2000],
            audit_id=told.audit_id[:64],
            new_uid=told.uid,
            new_resource_version=told.resource_version,
            settled_by=told.settled_by,
            outcome_at=timezone.now(),
        )
        if not changed:
            raise Conflict("the outcome was settled already", code="moved")
        reset_attempts(work.row)
        attempt = Attempt.objects.get(pk=attempt_id)
        _record(_event(work, attempt, verb="step.outcome", what=attempt.path))


def record_skipped(
    work: ExecutionContext, step: Step, *, verb: str, reason: str, outcome: str = Attempt.Outcome.NOOP
) -> None:
    """A line without a request: a step that found its work done already or is left out, or a gate that was passed.

    `outcome` is `applied` where an earlier request of the step, given up or refused, brought it about after all.
    """
    with transaction.atomic():
        lease.check(work.fence)
        now = timezone.now()
        number = Attempt.objects.filter(rollout=work.row, step=step.id).count() + 1
        attempt = Attempt.objects.create(
            rollout=work.row,
            step=step.id,
            number=number,
            fence=work.fence.token,
            verb=verb,
            path=step.change.path if step.change else "",
            body_digest="",
            actor=work.actor.name,
            intent_at=now,
            outcome=outcome,
            reason=reason[:2000],
            outcome_at=now,
        )
        reset_attempts(work.row)
        _record(_event(work, attempt, verb="step.passed", what=step.title))


def note(work: ExecutionContext, **columns: object) -> None:
    """Writes what is no state: waiting, pictures. Raises Lost: a worker that lost its lease leaves no trace (A14)."""
    with transaction.atomic():
        lease.check(work.fence)
        Rollout.objects.filter(pk=work.row.pk).update(**columns)
    for name, value in columns.items():
        setattr(work.row, name, value)


def refuse_if_stopped(work: ExecutionContext) -> None:
    """Raises Stopped when the rollout moved, someone wishes it to stop, or nothing may be changed (A10, A36, A55)."""
    now = Rollout.objects.select_for_update().get(pk=work.row.pk)
    if (now.state, now.version) != (work.row.state, work.row.version):
        raise StopRequested("the rollout was changed meanwhile", code="moved")
    if now.wish:
        raise StopRequested(f"asked to {now.wish}", code=now.wish)
    if everything_stopped():
        raise StopRequested("everything that changes clusters is stopped", code="kill_switch")
    if why := delivery_lag.why_blocked():
        raise StopRequested(why, code="audit")


def _record(event: Event) -> None:
    """Raises Halt (code `audit`) when the event cannot be written, so that its transaction is undone (A55).

    A database that cannot be reached is another matter: the rollout goes on by itself once it is back (R06).
    """
    try:
        record(event)
    except (OperationalError, InterfaceError):
        raise
    except DatabaseError as wrong:
        raise RolloutHalted("audit", "the audit log cannot be written") from wrong


def _event(work: ExecutionContext, attempt: Attempt, *, verb: str, what: str) -> Event:
    return Event(
        verb=verb,
        actor=work.actor,
        object=what,
        outcome=attempt.outcome,
        cluster_id=str(work.row.cluster_id),
        plan_digest=work.row.digest,
        step=attempt.step,
        attempt=attempt.number,
        request_digest=attempt.body_digest,
        correlation=str(work.row.pk),
        detail={
            "verb": attempt.verb,
            "path": attempt.path,
            "uid": attempt.uid,
            "status": attempt.status,
            "reason": attempt.reason,
            "audit_id": attempt.audit_id,
            "fence": attempt.fence,
        },
    )


def report_waiting(work: ExecutionContext, words: str) -> bool:
    """False, as whatever did not get on gives; what it waits for stands in the row from now on. Empty: it gets on."""
    told = words[:1000]
    if work.row.waits_for != told:
        note(work, waits_for=told)
    return False

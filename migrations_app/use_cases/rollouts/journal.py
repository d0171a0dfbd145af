"""The journal of a rollout: an intent before each request and its outcome after it, each with its audit event.

Crash tests replace `reached` to stop a worker at a named point.
"""

import time
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

import msgspec
from django.conf import settings
from django.db import DatabaseError, InterfaceError, OperationalError, models, transaction
from django.db.models.functions import Now
from django.utils import timezone

from migrations_app.actions.changes import PlannedRequest
from migrations_app.actions.gate import ClusterCounters
from migrations_app.actions.observation import RunObservation, observed
from migrations_app.actions.plan import Plan, Step
from migrations_app.actions.request import ObjectVersion
from migrations_app.actions.states import Position, skipped_step_ids
from migrations_app.errors import Conflict
from migrations_app.execution.interface import (
    AttemptLine,
    AttemptOutcome,
    FruitlessRequests,
    Intent,
    LeaseLost,
    RolloutHalted,
)
from migrations_app.models.rehearsal import RunRecord
from migrations_app.models.rollout import Attempt, NodeSkip, Rollout, RolloutSample
from migrations_app.queries.rollouts.policies import everything_stopped
from migrations_app.use_cases.audit import delivery_lag
from migrations_app.use_cases.audit.log import Actor, Event, record
from migrations_app.use_cases.rollouts import lease, limits
from migrations_app.use_cases.rollouts.attempts import reset_attempts
from migrations_app.use_cases.rollouts.lease import LeaseToken

CRASH_POINTS = ("before_intent", "after_intent", "after_send", "before_outcome", "after_outcome", "after_transition")


def _nothing(_name: str) -> None:
    return


reached: Callable[[str], None] = _nothing
"""Called with the name of the point that was reached; a test process replaces it to crash there."""


class StopRequested(Conflict):
    """No request may be sent now, because of a person, the kill switch or a change of state. `code` gives the
    reason.
    """

    code = "stopped"


@dataclass(frozen=True, slots=True, kw_only=True)
class ExecutionContext:
    """The work of one worker on one rollout: the row as read, its plan, and the fencing token for its writes."""

    row: Rollout
    plan: Plan
    lease_token: LeaseToken
    actor: Actor

    @property
    def name(self) -> str:
        return str(self.row.pk)

    @property
    def digest(self) -> str:
        return self.row.digest

    @property
    def gate_since(self) -> datetime | None:
        return self.row.gate_since

    @property
    def baseline(self) -> Mapping[str, Any]:
        columns: Mapping[str, Any] = self.row.baseline
        return columns

    def now(self) -> datetime:
        return timezone.now()

    def wait(self, seconds: float) -> None:
        time.sleep(seconds)

    def reached(self, point: str) -> None:
        reached(point)

    def grace_period(self) -> str:
        return limits.grace_period_text(self.row)

    def hourly_limit(self, step: Step) -> str:
        return limits.hourly_limit_text(self.row, self.plan, step=step)

    def skip_asked(self, step: Step) -> str:
        return skip_asked(self, step)

    def left_out(self) -> frozenset[str]:
        return skipped_step_ids(lines(self.row.pk))

    def refuse_batch(self) -> None:
        limits.refuse_batch(self.row)

    def refuse_stopped(self) -> None:
        with transaction.atomic():
            refuse_if_stopped(self)

    def refuse_short_lease(self, seconds: float) -> None:
        """Raises LeaseLost unless the lease outlives the request's deadline (A20)."""
        if not lease.is_valid_for(self.lease_token, seconds) and not lease.renew(self.lease_token):
            raise LeaseLost("the lease has expired")

    def note(self, **columns: object) -> None:
        note(self, **columns)

    def sample(self, counters: ClusterCounters, *, pending_limit: int | None) -> None:
        sample(self, counters, pending_limit=pending_limit)

    def report_waiting(self, words: str) -> bool:
        return report_waiting(self, words)

    def record_intent(
        self, step: Step, *, change: PlannedRequest, object_version: ObjectVersion, body_digest: str
    ) -> Intent:
        return record_intent(self, step, change=change, object_version=object_version, body_digest=body_digest)

    def record_outcome(self, attempt_id: int, outcome: AttemptOutcome) -> None:
        record_outcome(self, attempt_id, outcome=outcome)

    def record_skipped(self, step: Step, *, verb: str, reason: str, outcome: str = "noop") -> None:
        record_skipped(self, step, verb=verb, reason=reason, outcome=outcome)

    def open_line(self, position: Position) -> Attempt | None:
        return position.open if isinstance(position.open, Attempt) else None

    def fruitless(self, step: Step) -> FruitlessRequests:
        since = Attempt.objects.filter(rollout=self.row, step=step.id, intent_at__gte=self.row.changed_at)
        return FruitlessRequests.of(since.order_by("-pk"))

    def is_late(self, line: AttemptLine, *, deadline: float) -> bool:
        """As in `Execution`, by the database's clock (R18)."""
        patience = timedelta(seconds=deadline + settings.ENV.settle_seconds)
        return Attempt.objects.filter(pk=line.pk, intent_at__lte=Now() - patience).exists()


def lines(rollout_id: uuid.UUID) -> list[Attempt]:
    """All journal lines of the rollout, oldest first."""
    return list(Attempt.objects.filter(rollout_id=rollout_id).order_by("pk"))


def record_intent(
    work: ExecutionContext, step: Step, *, change: PlannedRequest, object_version: ObjectVersion, body_digest: str
) -> Intent:
    """Commits the intent of a request (A19).

    Raises StopRequested, LeaseLost, RolloutHalted and database errors; the request must not be sent then.
    """
    with transaction.atomic():
        lease.check(work.lease_token)
        refuse_if_stopped(work)
        if skip_asked(work, step):
            # The rollout's row is locked: a person skipped the node since it was read.
            raise Conflict("the node is skipped", code="moved")
        number = Attempt.objects.filter(rollout=work.row, step=step.id).count() + 1
        attempt = Attempt.objects.create(
            rollout=work.row,
            step=step.id,
            number=number,
            fence=work.lease_token.token,
            verb=change.verb,
            path=change.path,
            body_digest=body_digest,
            uid=object_version.uid,
            resource_version=object_version.resource_version,
            actor=work.actor.name,
            # The database's clock: another worker, with another clock, may settle the request later (R18).
            intent_at=Now(),
        )
        _record(_event(work, attempt, verb="step.intent", subject=change.target.display_name))
    return Intent(attempt.pk, number)


def skip_asked(work: ExecutionContext, step: Step) -> str:
    """Text of who skips the step and why; empty if it is not skipped."""
    node_skip = NodeSkip.objects.filter(rollout=work.row, step=step.id).first()
    return f"skipped by {node_skip.by_name}: {node_skip.reason}" if node_skip else ""


def record_outcome(work: ExecutionContext, attempt_id: int, *, outcome: AttemptOutcome) -> None:
    """Commits the outcome of a request (A21). Raises LeaseLost; the next holder then settles it by reading the object.

    Raises Conflict if the outcome is settled already.
    """
    with transaction.atomic():
        lease.check(work.lease_token)
        changed = Attempt.objects.filter(pk=attempt_id, outcome__in=("", Attempt.Outcome.UNKNOWN)).update(
            outcome=outcome.outcome,
            status=outcome.status,
            reason=outcome.reason[:2000],
            audit_id=outcome.audit_id[:64],
            new_uid=outcome.uid,
            new_resource_version=outcome.resource_version,
            settled_by=outcome.settled_by,
            outcome_at=timezone.now(),
        )
        if not changed:
            raise Conflict("the outcome is settled already", code="moved")
        reset_attempts(work.row)
        attempt = Attempt.objects.get(pk=attempt_id)
        _record(_event(work, attempt, verb="step.outcome", subject=attempt.path))


def record_skipped(
    work: ExecutionContext, step: Step, *, verb: str, reason: str, outcome: str = Attempt.Outcome.NOOP
) -> None:
    """Adds a line without a request: the step's result existed already, the step was skipped, or a gate was passed.

    `outcome` is `applied` if an earlier request of the step took effect although it was refused or given up.
    """
    with transaction.atomic():
        lease.check(work.lease_token)
        now = timezone.now()
        number = Attempt.objects.filter(rollout=work.row, step=step.id).count() + 1
        attempt = Attempt.objects.create(
            rollout=work.row,
            step=step.id,
            number=number,
            fence=work.lease_token.token,
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
        _record(_event(work, attempt, verb="step.passed", subject=step.title))


def note(work: ExecutionContext, **columns: object) -> None:
    """Writes columns other than the state. Raises LeaseLost: a worker without its lease writes nothing (A14)."""
    with transaction.atomic():
        lease.check(work.lease_token)
        Rollout.objects.filter(pk=work.row.pk).update(**columns)
    for name, value in columns.items():
        setattr(work.row, name, value)


SAMPLE_EVERY = timedelta(seconds=10)


def sample(work: ExecutionContext, counters: ClusterCounters, *, pending_limit: int | None) -> None:
    """Stores the counters for the charts of the run page, at most once in SAMPLE_EVERY, and whenever one is worse than
    all before: the receipt states the worst. Raises LeaseLost.
    """
    now = timezone.now()
    with transaction.atomic():
        lease.check(work.lease_token)
        _remember(work.row, counters)
        row = RolloutSample(
            rollout=work.row,
            taken_at=now,
            ready_nodes=counters.ready_nodes,
            pending_pods=counters.pending_pods,
            held_pods=counters.held_pods,
            pending_limit=pending_limit,
        )
        last = RolloutSample.objects.filter(rollout=work.row).order_by("-pk").values_list("taken_at", flat=True).first()
        if last is None or now - last >= SAMPLE_EVERY or _is_worst(row):
            row.save(force_insert=True)


def _is_worst(sample_row: RolloutSample) -> bool:
    """Whether a counter is worse than in every stored sample of the rollout."""
    worst = RolloutSample.objects.filter(rollout=sample_row.rollout).aggregate(
        ready=models.Min("ready_nodes"), pending=models.Max("pending_pods"), held=models.Max("held_pods")
    )
    return (
        _is_worse(sample_row.ready_nodes, worst["ready"], sign=-1)
        or _is_worse(sample_row.pending_pods, worst["pending"], sign=1)
        or _is_worse(sample_row.held_pods, worst["held"], sign=1)
    )


def _is_worse(count: int | None, before: int | None, *, sign: int) -> bool:
    """Whether it was counted, and never before or better; `sign` is 1 if less is better."""
    return count is not None and (before is None or count * sign > before * sign)


def _remember(row: Rollout, counters: ClusterCounters) -> None:
    """Merges the counters into the stored observation of the rollout."""
    run_record = RunRecord.objects.filter(rollout=row).first()
    before = msgspec.convert(run_record.seen, type=RunObservation) if run_record else RunObservation()
    seen = msgspec.to_builtins(observed(before, counters))
    RunRecord.objects.update_or_create(rollout=row, defaults={"seen": seen})


def refuse_if_stopped(work: ExecutionContext) -> None:
    """Raises StopRequested if the rollout changed, a stop was requested, or changes are blocked (A10, A36, A55)."""
    now = Rollout.objects.select_for_update().get(pk=work.row.pk)
    if (now.state, now.version) != (work.row.state, work.row.version):
        raise StopRequested("the rollout was changed meanwhile", code="moved")
    if now.stop_request:
        raise StopRequested(f"asked to {now.stop_request}", code=now.stop_request)
    if everything_stopped():
        raise StopRequested("the kill switch is on: all changes are stopped", code="kill_switch")
    if why := delivery_lag.why_blocked():
        raise StopRequested(why, code="audit")


def _record(event: Event) -> None:
    """Raises RolloutHalted `audit` when the event cannot be written, which rolls the transaction back (A55).

    An unreachable database is raised as it is: the rollout continues by itself once it is back (R06).
    """
    try:
        record(event)
    except (OperationalError, InterfaceError):
        raise
    except DatabaseError as wrong:
        raise RolloutHalted("audit", "the audit log cannot be written") from wrong


def _event(work: ExecutionContext, attempt: Attempt, *, verb: str, subject: str) -> Event:
    return Event(
        verb=verb,
        actor=work.actor,
        object=subject,
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
    """Stores what the rollout is waiting for (empty clears it). Always returns False, "no progress"."""
    text = words[:1000]
    if work.row.waits_for != text:
        note(work, waits_for=text)
    return False

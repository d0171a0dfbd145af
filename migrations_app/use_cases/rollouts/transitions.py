"""State transitions of rollouts: compare-and-set, audit event and outbox row in one transaction (A08).

No other code changes a state. The end of a rollout requests a new scan, since earlier snapshots no longer describe the
cluster (R09).
"""

import uuid
from dataclasses import dataclass
from typing import Any

from django.db import transaction
from django.utils import timezone

from migrations_app.actions.states import RolloutState, can_transition
from migrations_app.errors import Conflict, NotFound
from migrations_app.models.cluster import Cluster
from migrations_app.models.rollout import Outbox, Rollout
from migrations_app.models.scan import Scan
from migrations_app.use_cases.audit.log import Actor, Event, record
from migrations_app.use_cases.rollouts import lease
from migrations_app.use_cases.rollouts.lease import LeaseToken
from migrations_app.use_cases.scans.queue import enqueue

ENDED: frozenset[RolloutState] = frozenset({"succeeded", "failed", "aborted"})
BY = "rollout"
"""Value of `requested_by` for these scans."""


def ask_for_scan(row: Rollout) -> None:
    """Enqueues a scan in the transaction that ends the rollout. If one is active, the next one is due at once."""
    if row.started_at is None:
        return
    if not enqueue(row.cluster, by=BY).created:
        Cluster.objects.filter(pk=row.cluster_id).update(next_due_at=timezone.now())


def waiting_scan(rollout_id: uuid.UUID) -> uuid.UUID | None:
    """The scan that the end of the rollout requested, while it is queued: for a message to a worker without waiting for
    the sweep.
    """
    ended = Rollout.objects.filter(pk=rollout_id, state__in=ENDED).values("cluster_id")
    scans = Scan.objects.filter(cluster_id__in=ended, state=Scan.State.QUEUED, requested_by=BY)
    return scans.values_list("pk", flat=True).first()


@dataclass(frozen=True, slots=True, kw_only=True)
class TransitionCause:
    """The reason of a change of state: a stable code, and text for the page."""

    code: str = ""
    words: str = ""


def transition(
    row: Rollout,
    then: RolloutState,
    *,
    by: Actor,
    cause: TransitionCause | None = None,
    lease_token: LeaseToken | None = None,
    **columns: object,
) -> int:
    """Changes the state and returns the row's new version; `row` is updated as well. `columns` change with the state.

    Raises Conflict `moved` if the row is no longer in the state and version that `row` has or the transition is not
    allowed; LeaseLost if the fencing token is no longer valid.
    """
    if not can_transition(_state(row), then):
        raise Conflict(f"a rollout that is {row.state} cannot become {then}", code="moved")
    reason = cause or TransitionCause()
    changed: dict[str, Any] = {
        "state": then,
        "version": row.version + 1,
        "cause_code": reason.code[:60],
        "cause": reason.words[:2000],
        # `auto_now` has no effect in QuerySet.update.
        "changed_at": timezone.now(),
        **columns,
    }
    with transaction.atomic():
        if lease_token is not None:
            lease.check(lease_token)
        same = Rollout.objects.filter(pk=row.pk, state=row.state, version=row.version)
        if not same.update(**changed):
            raise Conflict("the rollout was changed meanwhile", code="moved")
        record(_event(row, then, by=by, cause=reason))
        Outbox.objects.create(topic=f"rollout.{then}", body={"rollout": str(row.pk), "cause": reason.code})
        if then in ENDED:
            ask_for_scan(row)
    for name, value in changed.items():
        setattr(row, name, value)
    return row.version


def require_rollout(rollout_id: uuid.UUID) -> Rollout:
    """The row of the rollout. Raises NotFound."""
    row = Rollout.objects.filter(pk=rollout_id).first()
    if row is None:
        raise NotFound("no such rollout")
    return row


def locked_rollout(rollout_id: uuid.UUID) -> Rollout:
    """The row of the rollout, locked until the transaction ends. Raises NotFound."""
    require_rollout(rollout_id)
    return Rollout.objects.select_for_update().get(pk=rollout_id)


def _state(row: Rollout) -> RolloutState:
    state: Any = row.state
    return state  # type: ignore[no-any-return]  # the column's choices are the states


def _event(row: Rollout, then: RolloutState, *, by: Actor, cause: TransitionCause) -> Event:
    return Event(
        verb=f"rollout.{then}",
        actor=by,
        object=f"{row.title} on {row.cluster_name}",
        outcome=cause.code or then,
        cluster_id=str(row.cluster_id),
        plan_digest=row.digest,
        correlation=str(row.pk),
        detail={"from": row.state, "why": cause.words} if cause.words else {"from": row.state},
    )

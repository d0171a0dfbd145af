"""Plans that nobody may carry out any more: too old, or made for a cluster that is reached another way now (A05)."""

import uuid

from django.db import transaction
from django.utils import timezone

from migrations_app.actions.states import HOLDING, PLANNED
from migrations_app.errors import Conflict
from migrations_app.flow.record import WORKER, Event, record
from migrations_app.flow.transition import Cause, transition
from migrations_app.models.rollout import Rollout

AT_ONCE = 200


def expire_old_plans() -> int:
    """How many plans were past their time; one that moved meanwhile is left to whoever moved it."""
    old = Rollout.objects.filter(state__in=sorted(PLANNED), expires_at__lte=timezone.now()).order_by("expires_at")
    words = "nobody started it before it was too old; make a new preview"
    return sum(_ended(row, Cause(code="expired", words=words)) for row in old[:AT_ONCE])


def void_plans(cluster_id: uuid.UUID) -> None:
    """Endpoint or credentials of the cluster changed: its plans are over, and what runs pauses (A05)."""
    words = "the way to the cluster was changed since the plan was made"
    for row in Rollout.objects.filter(cluster_id=cluster_id, state__in=sorted(PLANNED)):
        _ended(row, Cause(code="cluster_changed", words=words))
    with transaction.atomic():
        running = Rollout.objects.filter(cluster_id=cluster_id, state="running", wish=Rollout.Wish.NONE)
        for row in running:
            if Rollout.objects.filter(pk=row.pk, state="running", wish=Rollout.Wish.NONE).update(
                wish=Rollout.Wish.PAUSE
            ):
                record(_paused(row, words))


def refuse_held(cluster_id: uuid.UUID) -> None:
    """Raises Conflict `rollout_holds` while a rollout is under way on the cluster, or is being taken back."""
    busy = Rollout.objects.filter(cluster_id=cluster_id, state__in=[*sorted(HOLDING), "rolling_back"]).first()
    if busy is not None:
        raise Conflict(f"rollout {busy.pk} is {busy.state.replace('_', ' ')} on this cluster", code="rollout_holds")


def _ended(row: Rollout, cause: Cause) -> bool:
    try:
        transition(row, "expired", by=WORKER, cause=cause, finished_at=timezone.now())
    except Conflict:
        return False
    return True


def _paused(row: Rollout, words: str) -> Event:
    return Event(
        verb="rollout.pause_asked",
        actor=WORKER,
        object=f"{row.title} on {row.cluster_name}",
        outcome="cluster_changed",
        cluster_id=str(row.cluster_id),
        plan_digest=row.digest,
        correlation=str(row.pk),
        detail={"why": words},
    )

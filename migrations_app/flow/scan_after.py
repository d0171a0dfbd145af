"""A rollout that ended -> a fresh look at its cluster: what was seen before or meanwhile judges nothing more (R09)."""

import uuid

from django.utils import timezone

from migrations_app.actions.states import State
from migrations_app.flow.schedule import queued
from migrations_app.models.cluster import Cluster
from migrations_app.models.rollout import Rollout
from migrations_app.models.scan import Scan

ENDED: frozenset[State] = frozenset({"succeeded", "failed", "aborted"})
BY = "rollout"
"""Who asks for such a scan."""


def ask_for_scan(row: Rollout) -> None:
    """Queues a scan in the transaction that ends the rollout. One under way began too early: the next is due."""
    if row.started_at is None:
        return
    if not queued(row.cluster, by=BY).created:
        Cluster.objects.filter(pk=row.cluster_id).update(next_due_at=timezone.now())


def waiting_scan(rollout_id: uuid.UUID) -> uuid.UUID | None:
    """The scan that the end of the rollout asked for, while nobody has begun it; the sweeper would find it later."""
    ended = Rollout.objects.filter(pk=rollout_id, state__in=ENDED).values("cluster_id")
    asked = Scan.objects.filter(cluster_id__in=ended, state=Scan.State.QUEUED, requested_by=BY)
    return asked.values_list("pk", flat=True).first()

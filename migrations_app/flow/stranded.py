"""Rollouts whose message or worker was lost: told from rows alone, the longest waiting first."""

import uuid

from django.db.models import Q
from django.db.models.functions import Now

from migrations_app.models.rollout import Lease, Rollout

NUDGES = 100


def stranded_rollouts() -> list[tuple[uuid.UUID, str]]:
    """(id, state) of drafts that nobody works out and of running rollouts whose cluster nobody holds."""
    held = Lease.objects.filter(expires_at__gt=Now()).exclude(holder="").values("cluster_id")
    waiting = Q(state="draft") | (Q(state="running") & ~Q(cluster_id__in=held))
    return list(Rollout.objects.filter(waiting).order_by("changed_at").values_list("pk", "state")[:NUDGES])

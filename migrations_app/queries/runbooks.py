"""The runbook of a cluster, as its newest snapshot tells it."""

import uuid
from datetime import datetime
from typing import NamedTuple

from migrations_app.errors import NotFound
from migrations_app.queries.cluster import report_of
from migrations_app.queries.visible import visible_clusters
from migrations_app.readiness.runbook import Runbook, runbook


class NewestRunbook(NamedTuple):
    scanned_at: datetime
    plan: Runbook


def newest_runbook(cluster_id: uuid.UUID) -> NewestRunbook:
    """The runbook of the newest snapshot. Raises NotFound for a cluster that was never scanned, or that is none."""
    row = visible_clusters().select_related("latest").defer("sealed").filter(pk=cluster_id).first()
    if row is None:
        raise NotFound("no such cluster")
    if row.latest is None:
        raise NotFound("it was never scanned, so there is no plan")
    return NewestRunbook(row.latest.scanned_at, runbook(report_of(row.latest.pk)))

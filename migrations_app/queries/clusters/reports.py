"""The IAM sheet of a snapshot or cluster, and the runbook of a cluster's newest snapshot."""

import uuid
from datetime import datetime
from typing import NamedTuple

from migrations_app.errors import NotFound
from migrations_app.models.scan import Snapshot
from migrations_app.queries.clusters.detail import report_of
from migrations_app.queries.visibility import visible, visible_clusters
from migrations_app.readiness.report import IamSheet
from migrations_app.readiness.runbook.runbook import Runbook, runbook


class NewestIamSheet(NamedTuple):
    """The IAM sheet of a cluster's newest snapshot."""

    snapshot: uuid.UUID
    scanned_at: datetime
    sheet: IamSheet


def sheet_of(snapshot_id: uuid.UUID) -> IamSheet | None:
    """The IAM sheet of a snapshot; None if it has none. Raises NotFound."""
    rows = Snapshot.objects.select_related("content__sheet").defer("content__report", "content__nodes")
    row = rows.filter(visible(), pk=snapshot_id).first()
    if row is None:
        raise NotFound("no such snapshot")
    return row.iam_sheet()


def newest_sheet(cluster_id: uuid.UUID) -> NewestIamSheet:
    """The newest IAM sheet of a cluster. Raises NotFound if the cluster does not exist or has no sheet."""
    row = visible_clusters().select_related("latest").defer("sealed").filter(pk=cluster_id).first()
    if row is None:
        raise NotFound("no such cluster")
    sheet = sheet_of(row.latest.pk) if row.latest else None
    if row.latest is None or sheet is None:
        raise NotFound("it has no sheet of permissions: never scanned, or no Karpenter runs in it")
    return NewestIamSheet(row.latest.pk, row.latest.scanned_at, sheet)


class NewestRunbook(NamedTuple):
    scanned_at: datetime
    plan: Runbook


def newest_runbook(cluster_id: uuid.UUID, *, kubernetes: str = "") -> NewestRunbook:
    """The runbook of the newest snapshot, for the planned Kubernetes minor if one is given. Raises NotFound if the
    cluster does not exist or was never scanned.
    """
    row = visible_clusters().select_related("latest").defer("sealed").filter(pk=cluster_id).first()
    if row is None:
        raise NotFound("no such cluster")
    if row.latest is None:
        raise NotFound("it was never scanned, so there is no plan")
    return NewestRunbook(row.latest.scanned_at, runbook(report_of(row.latest.pk, kubernetes=kubernetes)))

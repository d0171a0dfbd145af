"""The sheet of permissions of one cluster or snapshot."""

import uuid

from migrations_app.errors import NotFound
from migrations_app.models.cluster import Cluster
from migrations_app.models.snapshot import Snapshot
from migrations_app.readiness.report import IamSheet


def sheet_of(snapshot_id: uuid.UUID) -> IamSheet | None:
    """The sheet of a snapshot; None where it has none. Raises NotFound."""
    rows = Snapshot.objects.select_related("content").defer("content__report", "content__nodes")
    row = rows.filter(pk=snapshot_id).first()
    if row is None:
        raise NotFound("no such snapshot")
    return row.iam_sheet()


def newest_sheet(cluster_id: uuid.UUID) -> tuple[uuid.UUID, IamSheet]:
    """The newest snapshot of the cluster and its sheet. Raises NotFound for a cluster without either."""
    latest = Cluster.objects.filter(pk=cluster_id).values_list("latest_id", flat=True).first()
    if latest is None:
        raise NotFound("no such cluster, or it was never scanned")
    sheet = sheet_of(latest)
    if sheet is None:
        raise NotFound(
            "its newest snapshot has no sheet of permissions: no Karpenter runs, or it is older than karpdash"
        )
    return latest, sheet

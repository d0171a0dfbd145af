"""One cluster: its header, its active scan, one of its snapshots, and the list of its snapshots."""

import uuid
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Annotated, Any

from django.db.models import Count, Exists, OuterRef, Q
from django.utils import timezone
from msgspec import Meta

from migrations_app.errors import NotFound
from migrations_app.models.cluster import Cluster
from migrations_app.models.scan import Scan, Snapshot
from migrations_app.queries import pagination
from migrations_app.queries.clusters.identity import IdentityDetail, identity_detail
from migrations_app.queries.fleet.clusters import UNREACHABLE_AFTER, stale_after
from migrations_app.queries.fleet.scan_interval import interval_of, is_dated_ahead, is_stale, with_intervals
from migrations_app.queries.fleet.waivers import active_waivers_of_cluster
from migrations_app.queries.rows import from_row
from migrations_app.queries.visibility import visible, visible_clusters
from migrations_app.queries.worker_health import queues_without_worker
from migrations_app.readiness.kubernetes_plan import with_planned
from migrations_app.readiness.report import OwnedNode, Report
from migrations_app.readiness.waivers import apply, from_stored

ACTIVE = (Scan.State.QUEUED, Scan.State.RUNNING)
PROBE_QUEUE, SCAN_QUEUE = "probe", "scan"
PAGE_SIZE = 50
SPARKLINE_POINTS = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class SnapshotRow:
    """The counts of one snapshot; evidence and nodes are read separately. `replaced`: it is of the former cluster of
    this registration.
    """

    id: uuid.UUID
    scanned_at: datetime
    complete: bool
    stage: str
    karpenter_version: str
    kubernetes_version: str
    next_hop: str
    verdict: str
    blockers: int
    warnings: int
    unknowns: int
    legacy_left: int | None
    nodes_total: int
    digest: str
    replaced: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class ScanRow:
    """One scan. `parts_done` and `parts_total` are 0 until the first part is read. `unserved` are the queues without a
    worker while it waits for one.
    """

    id: uuid.UUID
    state: str
    requested_by: str
    created_at: datetime
    started_at: datetime | None
    finished_at: datetime | None
    attempts: int
    parts_done: int
    parts_total: int
    now: str
    error_code: str
    error_detail: str
    only_check: str
    unserved: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterHead:
    """The header of every page of a cluster. `snapshot` is None if the cluster was never scanned."""

    id: uuid.UUID
    name: str
    environment: str
    source: str
    server: str
    context: str
    target: str
    created_at: datetime
    created_by: str
    last_attempt_at: datetime | None
    last_success_at: datetime | None
    failures: int
    failing_since: datetime | None
    last_error_code: str
    last_error_detail: str
    next_due_at: datetime | None
    interval_seconds: Annotated[int | None, Meta(description="Null: the global interval.")]
    eks_arn: Annotated[
        str, Meta(description="The cluster whose AWS account is looked at; empty without a way into it.")
    ]
    role_arn: str
    external_id: Annotated[
        str, Meta(description="Made by karpdash for this cluster alone; it stands in the role's trust policy.")
    ]
    version: int
    snapshots: int
    snapshot: SnapshotRow | None
    is_latest: bool
    active: ScanRow | None
    stale: bool
    dated_ahead: Annotated[
        bool, Meta(description="The snapshot is dated in the future: the clock of a worker was ahead. It is stale too.")
    ]
    identity: IdentityDetail

    @property
    def unreachable(self) -> bool:
        """Whether UNREACHABLE_AFTER scans in a row failed, or scans failed and there is no snapshot."""
        return self.failures >= UNREACHABLE_AFTER or (self.failures > 0 and self.snapshot is None)


@dataclass(frozen=True, slots=True)
class SnapshotPage:
    rows: tuple[SnapshotRow, ...]
    next_cursor: str


def cluster_head(cluster_id: uuid.UUID, *, now: datetime, at: uuid.UUID | None = None) -> ClusterHead:
    """The header with the latest snapshot or snapshot `at`. Raises NotFound for a missing cluster or snapshot."""
    rows = visible_clusters().select_related("latest").defer("sealed").annotate(kept=Count("snapshots"))
    row: Any = with_intervals(rows).filter(pk=cluster_id).first()  # with its annotations, as in `report_of`
    if row is None:
        raise NotFound("no such cluster")
    chosen = row.latest if at is None else _snapshot(cluster_id, at)
    limit = stale_after(interval_of(row))
    return from_row(
        ClusterHead,
        row,
        snapshots=row.kept,
        snapshot=_snapshot_row(chosen) if chosen else None,
        is_latest=chosen is None or chosen.pk == row.latest_id,
        active=active_scan(cluster_id),
        stale=bool(chosen and is_stale(chosen.scanned_at, limit=limit, now=now)),
        dated_ahead=bool(chosen and is_dated_ahead(chosen.scanned_at, now=now)),
        identity=identity_detail(row),
    )


def active_scan(cluster_id: uuid.UUID) -> ScanRow | None:
    """The queued or running scan; None if there is none. There is never more than one."""
    row = Scan.objects.filter(cluster_id=cluster_id, state__in=ACTIVE).select_related("cluster").first()
    if row is None:
        return None
    found = _scan_row(row)
    if row.state != Scan.State.QUEUED:
        return found
    is_probed = row.probed_at is not None or row.cluster.source in Cluster.LOCAL_SOURCES
    needed = (SCAN_QUEUE,) if is_probed else (PROBE_QUEUE, SCAN_QUEUE)
    return replace(found, unserved=tuple(queue for queue in queues_without_worker() if queue in needed))


def report_of(snapshot_id: uuid.UUID, *, kubernetes: str = "") -> Report:
    """The report of a snapshot with waivers applied: for a cluster's latest snapshot the active ones, else those that
    it was last counted with. Raises NotFound. `kubernetes` is the planned Kubernetes minor; raises InvalidInput if it
    is not a minor.
    """
    row: Any = _with_content(snapshot_id)  # Any, because the mypy plugin loses annotations between functions
    now, latest = timezone.now(), row.is_latest
    waivers = active_waivers_of_cluster(row.cluster_id, now) if latest else from_stored(row.waived)
    report = with_planned(row.report(), kubernetes)
    return apply(report, waivers, now=now if latest else row.scanned_at)


def nodes_of(snapshot_id: uuid.UUID) -> tuple[OwnedNode, ...]:
    """Every node of a snapshot and its owner. Raises NotFound."""
    return _with_content(snapshot_id).nodes()


def snapshots_of(cluster_id: uuid.UUID, *, after: str = "", limit: int = PAGE_SIZE) -> SnapshotPage:
    """One page of a cluster's snapshots, newest first."""
    rows = Snapshot.objects.filter(cluster_id=cluster_id).order_by("-scanned_at", "-pk")
    keys = pagination.decode(after, (str, str))
    if keys is not None:
        rows = rows.filter(_before(str(keys[0]), str(keys[1])))
    snapshots = list(rows[: limit + 1])
    following = _cursor_after(snapshots[limit - 1]) if len(snapshots) > limit else ""
    return SnapshotPage(tuple(_snapshot_row(row) for row in snapshots[:limit]), following)


def legacy_trend(cluster_id: uuid.UUID, *, limit: int = SPARKLINE_POINTS) -> tuple[tuple[datetime, int | None], ...]:
    """The number of legacy objects in the newest snapshots, oldest first; None if they could not be counted.

    Snapshots of the former cluster of this registration are left out.
    """
    rows = Snapshot.objects.filter(cluster_id=cluster_id, replaced=False).order_by("-scanned_at")
    return tuple(reversed(rows.values_list("scanned_at", "legacy_left")[:limit]))


def _cursor_after(last: Snapshot) -> str:
    return pagination.encode((last.scanned_at.isoformat(), str(last.pk)))


def _before(moment: str, key: str) -> Q:
    try:
        when, last = datetime.fromisoformat(moment), uuid.UUID(key)
    except ValueError:
        return Q()
    return older_than(when, last)


def older_than(scanned_at: datetime, snapshot_id: uuid.UUID) -> Q:
    """Filter for the snapshots that stand after this one in a list of the newest first; those of one moment by id."""
    return Q(scanned_at__lt=scanned_at) | Q(scanned_at=scanned_at, pk__lt=snapshot_id)


def _snapshot(cluster_id: uuid.UUID, snapshot_id: uuid.UUID) -> Snapshot:
    row = Snapshot.objects.filter(pk=snapshot_id, cluster_id=cluster_id).first()
    if row is None:
        raise NotFound("no such snapshot of this cluster")
    return row


def _with_content(snapshot_id: uuid.UUID) -> Snapshot:
    # The IAM sheet has its own reader, in queries/clusters/reports.py.
    latest = Cluster.objects.filter(latest_id=OuterRef("pk"))
    rows = Snapshot.objects.filter(visible()).annotate(is_latest=Exists(latest))
    row = rows.select_related("content__texts").defer("content__iam").filter(pk=snapshot_id).first()
    if row is None:
        raise NotFound("no such snapshot")
    return row


def _snapshot_row(row: Snapshot) -> SnapshotRow:
    return from_row(SnapshotRow, row, digest=row.content_id)


def _scan_row(row: Scan) -> ScanRow:
    progress = row.progress if isinstance(row.progress, dict) else {}
    return from_row(
        ScanRow,
        row,
        parts_done=int(progress.get("parts_done") or 0),
        parts_total=int(progress.get("parts_total") or 0),
        now=str(progress.get("now") or ""),
        unserved=(),
    )

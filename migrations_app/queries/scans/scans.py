"""Scans of clusters, newest first."""

import uuid
from dataclasses import dataclass
from datetime import datetime

from django.db.models import Q

from migrations_app.errors import NotFound
from migrations_app.models.scan import Scan
from migrations_app.queries import pagination
from migrations_app.queries.pagination import Page, moment_and_id, page_of
from migrations_app.queries.rows import from_row
from migrations_app.queries.visibility import visible, visible_clusters


@dataclass(frozen=True, slots=True, kw_only=True)
class ScanAttempt:
    """One scan; `snapshot` is None until it is done, and if it failed."""

    id: uuid.UUID
    cluster: uuid.UUID
    state: str
    requested_by: str
    created_at: datetime
    started_at: datetime | None
    finished_at: datetime | None
    attempts: int
    parts_done: int
    parts_total: int
    error_code: str
    error_detail: str
    snapshot: uuid.UUID | None


def scan_attempt(scan_id: uuid.UUID) -> ScanAttempt:
    """One scan. Raises NotFound."""
    row = Scan.objects.filter(visible(), pk=scan_id).first()
    if row is None:
        raise NotFound("no such scan")
    return _row(row)


def scan_page(cluster_id: uuid.UUID, *, after: str, limit: int) -> Page[ScanAttempt]:
    """One page of a cluster's scans, newest first. Raises NotFound for a missing cluster."""
    if not visible_clusters().filter(pk=cluster_id).exists():
        raise NotFound("no such cluster")
    rows = Scan.objects.filter(cluster_id=cluster_id).order_by("-created_at", "-pk")
    keys = moment_and_id(after)
    if keys:
        when, last = keys
        rows = rows.filter(Q(created_at__lt=when) | Q(created_at=when, pk__lt=last))
    return page_of(list(rows[: limit + 1]), limit=limit, row=_row, key=_key)


def _key(row: Scan) -> str:
    return pagination.encode((row.created_at.isoformat(), str(row.pk)))


def _row(row: Scan) -> ScanAttempt:
    progress = row.progress if isinstance(row.progress, dict) else {}
    return from_row(
        ScanAttempt,
        row,
        cluster=row.cluster_id,
        parts_done=int(progress.get("parts_done") or 0),
        parts_total=int(progress.get("parts_total") or 0),
        snapshot=row.snapshot_id,
    )

"""Scans of clusters, newest first."""

import uuid
from dataclasses import dataclass
from datetime import UTC, datetime

import msgspec
from django.db.models import DateTimeField, Value
from django.db.models.functions import Coalesce

from migrations_app.errors import NotFound
from migrations_app.inventory.inventory import PART_NAMES
from migrations_app.models.scan import Scan
from migrations_app.queries.ordering import SortColumn, order_of, orders, sorted_page
from migrations_app.queries.pagination import Page
from migrations_app.queries.rows import from_row
from migrations_app.queries.visibility import visible, visible_clusters
from migrations_app.readiness.runbook.one_check import OneCheckAnswer

SCAN_ORDERS = orders(
    {
        "created_at": SortColumn("created_at", datetime),
        "finished_at": SortColumn("ended", datetime),
        "state": SortColumn("state"),
    },
    SortColumn("created_at", datetime, descending=True),
    SortColumn("pk", uuid.UUID, descending=True),
)
_NOT_ENDED = datetime(9999, 1, 1, tzinfo=UTC)
"""The sort value of an active scan: after all ended scans."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ScanAttempt:
    """One scan; `snapshot` is None until it is done, and if it failed.

    With `only_check`, only that check was requested: a scan that is done and still has `only_check` ended with
    `check_answer` and without a snapshot, because the check is as open as before. In every other case the whole cluster
    is read.
    """

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
    only_check: str
    check_answer: OneCheckAnswer | None


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckedAgain:
    """The answer of a single check since the newest snapshot, its time, and who requested it."""

    answer: OneCheckAnswer
    at: datetime
    by: str


def checked_again(cluster_id: uuid.UUID, check: str, *, since: datetime) -> CheckedAgain | None:
    """The newest answer of this single check after that time; None if there is none."""
    done = Scan.objects.filter(cluster_id=cluster_id, state=Scan.State.DONE, snapshot=None, finished_at__gt=since)
    row = done.filter(only_check=check).order_by("-finished_at").first()
    answer = _answer(row) if row else None
    if row is None or answer is None or row.finished_at is None:
        return None
    return CheckedAgain(answer=answer, at=row.finished_at, by=row.requested_by)


def _answer(row: Scan) -> OneCheckAnswer | None:
    """The stored answer; None if another release stored it in another form."""
    try:
        return msgspec.convert(row.check_answer, OneCheckAnswer | None)
    except msgspec.ValidationError:
        return None


def scan_attempt(scan_id: uuid.UUID) -> ScanAttempt:
    """One scan. Raises NotFound."""
    row = Scan.objects.filter(visible(), pk=scan_id).first()
    if row is None:
        raise NotFound("no such scan")
    return _row(row)


def scan_page(cluster_id: uuid.UUID, *, after: str, limit: int, ordering: str = "-created_at") -> Page[ScanAttempt]:
    """One page of a cluster's scans, in one of SCAN_ORDERS. Raises NotFound for a missing cluster."""
    if not visible_clusters().filter(pk=cluster_id).exists():
        raise NotFound("no such cluster")
    ended = Coalesce("finished_at", Value(_NOT_ENDED), output_field=DateTimeField())
    rows = Scan.objects.filter(cluster_id=cluster_id).annotate(ended=ended)
    return sorted_page(rows, order_of(SCAN_ORDERS, ordering), after=after, limit=limit, row=_row)


def _row(row: Scan) -> ScanAttempt:
    progress = row.progress if isinstance(row.progress, dict) else {}
    total = int(progress.get("parts_total") or 0)
    # Progress is stored once a second: of a scan that has ended it may lack the last parts, or all of them.
    is_done = row.state == Scan.State.DONE and bool(row.snapshot_id or not row.only_check)
    total = total or len(PART_NAMES) if is_done else total
    return from_row(
        ScanAttempt,
        row,
        cluster=row.cluster_id,
        parts_done=total if is_done else int(progress.get("parts_done") or 0),
        parts_total=total,
        snapshot=row.snapshot_id,
        check_answer=_answer(row),
    )

"""Progress of a fleet scan, in a few queries for any size of the fleet."""

import uuid
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.db.models import Count, F, Q

from migrations_app.errors import NotFound
from migrations_app.models.scan import FleetScan, FleetScanPart
from migrations_app.queries.visibility import sees_all, visible

SLOW_AFTER = timedelta(seconds=30)
"""A scan that has run longer is listed as slow."""
MAX_LISTED = 50
"""Maximum number of slow and of failed scans that are listed; the counts include all."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SlowScan:
    """A running scan; `parts_total` is 0 until it is connected."""

    cluster: uuid.UUID
    name: str
    since: datetime
    parts_done: int
    parts_total: int


@dataclass(frozen=True, slots=True, kw_only=True)
class FailedScan:
    """A scan without a result, and the reason."""

    cluster: uuid.UUID
    name: str
    code: str
    detail: str
    failures: int


@dataclass(frozen=True, slots=True, kw_only=True)
class FleetScanState:
    """`total` is the number of clusters at the time of the request; clusters removed meanwhile count as ended."""

    id: uuid.UUID
    requested_by: str
    created_at: datetime
    ended_at: datetime | None
    open: bool
    total: int
    waiting: int
    running: int
    done: int
    failed: int
    removed: int
    codes: tuple[tuple[str, int], ...]
    slow: tuple[SlowScan, ...]
    failures: tuple[FailedScan, ...]

    @property
    def ended(self) -> int:
        return self.done + self.failed + self.removed


def fleet_scan(fleet_scan_id: uuid.UUID, *, now: datetime) -> FleetScanState:
    """The state of one fleet scan. Raises NotFound."""
    row = FleetScan.objects.filter(pk=fleet_scan_id).first()
    if row is None:
        raise NotFound("no such scan of the fleet")
    parts = FleetScanPart.objects.filter(visible(), fleet_scan=row)
    cells = parts.order_by().values("scan__state", "scan__error_code").annotate(n=Count("pk"))
    counted = {(cell["scan__state"], cell["scan__error_code"]): int(cell["n"]) for cell in cells}
    of = {state: sum(n for (scan_state, _), n in counted.items() if scan_state == state) for state in _STATES}
    known_parts = sum(of.values())
    # A caller who may see a part of the fleet gets the numbers of that part.
    total = max(row.total, known_parts) if sees_all() else known_parts
    codes = sorted(((code, n) for (state, code), n in counted.items() if state == "failed"), key=lambda pair: -pair[1])
    return FleetScanState(
        id=row.pk,
        requested_by=row.requested_by,
        created_at=row.created_at,
        ended_at=row.ended_at,
        open=row.open,
        total=total,
        waiting=of["queued"] + (0 if row.begun_at else total - known_parts),
        running=of["running"],
        done=of["done"],
        failed=of["failed"],
        removed=total - known_parts if row.begun_at else 0,
        codes=tuple(codes),
        slow=_slow(parts, now=now),
        failures=_failures(parts),
    )


_STATES = ("queued", "running", "done", "failed")


def open_fleet_scan() -> uuid.UUID | None:
    """The open fleet scan; None if there is none."""
    return FleetScan.objects.filter(open=True).values_list("pk", flat=True).first()


def _slow(parts: Any, *, now: datetime) -> tuple[SlowScan, ...]:  # noqa: ANN401 - a queryset of parts
    late = Q(scan__state="running", scan__started_at__lt=now - SLOW_AFTER)
    rows = parts.filter(late).order_by("scan__started_at").select_related("scan", "cluster").defer("cluster__sealed")
    return tuple(_slow_scan(part) for part in rows[:MAX_LISTED])


def _slow_scan(part: FleetScanPart) -> SlowScan:
    progress = part.scan.progress if isinstance(part.scan.progress, dict) else {}
    return SlowScan(
        cluster=part.cluster_id,
        name=part.cluster.name,
        since=part.scan.started_at or part.scan.created_at,
        parts_done=int(progress.get("parts_done") or 0),
        parts_total=int(progress.get("parts_total") or 0),
    )


def _failures(parts: Any) -> tuple[FailedScan, ...]:  # noqa: ANN401 - a queryset of parts
    rows = parts.filter(scan__state="failed").order_by("scan__error_code", "cluster__name")
    values = rows.values(
        key=F("cluster_id"),
        name=F("cluster__name"),
        code=F("scan__error_code"),
        detail=F("scan__error_detail"),
        in_a_row=F("cluster__failures"),
    )
    return tuple(
        FailedScan(
            cluster=row["key"], name=row["name"], code=row["code"], detail=row["detail"], failures=row["in_a_row"]
        )
        for row in values[:MAX_LISTED]
    )

"""The snapshots of a cluster over time, and the differences between two of them."""

import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import pairwise

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone

from migrations_app.queries.clusters.detail import SnapshotRow, cluster_head, legacy_trend, report_of, snapshots_of
from migrations_app.readiness.report_diff import difference
from migrations_app.texts import text as _
from migrations_app.web.access import require_right
from migrations_app.web.clusters.readiness import about

WIDE, HIGH = 600, 60


@dataclass(frozen=True, slots=True)
class HistoryLine:
    """A snapshot and the previous snapshot of the same cluster; `same` if their contents are equal."""

    row: SnapshotRow
    before: uuid.UUID | None
    same: bool


@dataclass(frozen=True, slots=True)
class Spark:
    """A sparkline as SVG paths in a 600 by 60 drawing."""

    line: str
    area: str
    first: int
    last: int
    highest: int
    points: int
    start: datetime
    end: datetime


@require_right()
def history(request: HttpRequest, cluster_id: uuid.UUID) -> HttpResponse:
    """All snapshots, newest first."""
    cursor = request.GET.get("cursor", "")
    snapshots = snapshots_of(cluster_id, after=cursor)
    context = about(request, cluster_id, tab="cluster-history")
    context |= {
        "lines": _lines(snapshots.rows),
        "comparable": len(snapshots.rows) > 1,
        "next_cursor": snapshots.next_cursor,
        "cursor": cursor,
        "spark": spark(legacy_trend(cluster_id)),
    }
    return render(request, "cluster/history.html", context)


@require_right()
def changes(request: HttpRequest, cluster_id: uuid.UUID) -> HttpResponse:
    """The differences between two snapshots, in either order."""
    try:
        chosen = [uuid.UUID(request.GET.get(name, "")) for name in ("before", "after")]
    except ValueError:
        return redirect("cluster-history", cluster_id)
    now = timezone.now()
    snapshots = [cluster_head(cluster_id, now=now, at=snapshot_id).snapshot for snapshot_id in chosen]
    before, after = sorted((row for row in snapshots if row), key=lambda row: row.scanned_at)
    context = about(request, cluster_id, tab="cluster-history")
    if before.replaced != after.replaced:
        messages.error(request, _("These two show different clusters: another one was accepted between them."))
        return redirect("cluster-history", cluster_id)
    change = difference(report_of(before.id), report_of(after.id))
    return render(request, "cluster/changes.html", context | {"before": before, "after": after, "change": change})


def _lines(rows: Sequence[SnapshotRow]) -> tuple[HistoryLine, ...]:
    pairs = tuple(_line(newer, older) for newer, older in pairwise(rows))
    return (*pairs, HistoryLine(rows[-1], None, False)) if rows else ()


def _line(newer: SnapshotRow, older: SnapshotRow) -> HistoryLine:
    if newer.replaced != older.replaced:
        return HistoryLine(newer, None, False)
    return HistoryLine(newer, older.id, newer.digest == older.digest)


def spark(trend: Sequence[tuple[datetime, int | None]]) -> Spark | None:
    """Returns the sparkline of legacy objects; None if fewer than two scans counted them, or all counts are 0."""
    counted = [(moment, count) for moment, count in trend if count is not None]
    highest = max((count for _, count in counted), default=0)
    if len(counted) < 2 or not highest:
        return None
    start, end = counted[0][0], counted[-1][0]
    length = (end - start).total_seconds() or 1.0
    points = [
        ((m - start).total_seconds() / length * WIDE, HIGH - 2 - count / highest * (HIGH - 6)) for m, count in counted
    ]
    line = "M" + " L".join(f"{x:.1f} {y:.1f}" for x, y in points)
    area = f"{line} L{points[-1][0]:.1f} {HIGH} L0 {HIGH} Z"
    return Spark(line, area, counted[0][1], counted[-1][1], highest, len(counted), start, end)

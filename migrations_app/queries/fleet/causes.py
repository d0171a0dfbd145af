"""What blocks the next upgrades of clusters: the open blockers of each cluster, and causes that several share."""

import uuid
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from django.db.models import F, QuerySet

from migrations_app.checks.base import PHASES
from migrations_app.models.cluster import Cluster
from migrations_app.models.scan import FindingRow
from migrations_app.queries.fleet.clusters import FleetFilters, FleetRow, matching_clusters
from migrations_app.readiness.waivers import WaiverRule, covering

OPEN = ("fail", "unknown", "manual")
Held = Mapping[uuid.UUID | None, tuple[WaiverRule, ...]]
"""The active waivers by cluster, as returned by `waivers_by_cluster`."""


@dataclass(frozen=True, slots=True)
class OpenBlocker:
    """One blocker of a cluster's next upgrade; `fails` is False if the check has no answer."""

    check: str
    summary: str
    fails: bool


@dataclass(frozen=True, slots=True)
class BlockedCluster:
    """A cluster that a cause blocks; `alone` if nothing else blocks it."""

    id: uuid.UUID
    name: str
    environment: str
    hop: str
    summary: str
    alone: bool


@dataclass(frozen=True, slots=True)
class BlockerCause:
    """A failing check and the clusters that it blocks; `evidence` counts its objects in all of them."""

    check: str
    clusters: tuple[BlockedCluster, ...]
    evidence: int

    @property
    def alone(self) -> int:
        """How many clusters could be upgraded if only this cause were fixed."""
        return sum(cluster.alone for cluster in self.clusters)


def blockers_of(rows: Iterable[FleetRow], *, held: Held) -> Mapping[uuid.UUID, tuple[OpenBlocker, ...]]:
    """The open blockers of each cluster's next upgrade: failing ones first, then in the order of the phases."""
    cluster_of_snapshot = {row.snapshot: row.id for row in rows if row.snapshot}
    lines_by_cluster: dict[uuid.UUID, list[dict[str, Any]]] = {}
    if not cluster_of_snapshot:
        return {}
    for line in _next_blockers(cluster_of_snapshot, statuses=OPEN):
        cluster = cluster_of_snapshot[line["snapshot"]]
        if not _waived(line, held, cluster=cluster):
            lines_by_cluster.setdefault(cluster, []).append(line)
    return {cluster: tuple(_shown(lines)) for cluster, lines in lines_by_cluster.items()}


def causes(filters: FleetFilters, *, held: Held, now: datetime) -> tuple[BlockerCause, ...]:
    """The causes that block the matching clusters, those with most clusters first; a status filter has no effect."""
    blocked = matching_clusters(replace(filters, bucket="blocked", buckets=()), now=now)
    clusters = {row["latest_id"]: row for row in _columns(blocked)}
    failing = _next_blockers(clusters, statuses=("fail",))
    lines = [line for line in failing if not _waived(line, held, cluster=clusters[line["snapshot"]]["pk"])]
    by_cluster: dict[uuid.UUID, set[str]] = {}
    by_check: dict[str, list[dict[str, Any]]] = {}
    for line in lines:
        by_cluster.setdefault(line["snapshot"], set()).add(line["check_id"])
        by_check.setdefault(line["check_id"], []).append(line)
    shared = (_cause(check, rows, clusters=clusters, checks=by_cluster) for check, rows in by_check.items())
    return tuple(sorted(shared, key=lambda cause: (-len(cause.clusters), -cause.alone, cause.check)))


def _columns(rows: QuerySet[Cluster]) -> Iterable[dict[str, Any]]:
    values: Any = rows.order_by("name").values("pk", "name", "environment", "latest_id")
    columns: Iterable[dict[str, Any]] = values
    return columns


def _cause(
    check: str,
    lines: list[dict[str, Any]],
    *,
    clusters: Mapping[uuid.UUID, dict[str, Any]],
    checks: Mapping[uuid.UUID, set[str]],
) -> BlockerCause:
    blocked = (
        BlockedCluster(
            id=clusters[line["snapshot"]]["pk"],
            name=clusters[line["snapshot"]]["name"],
            environment=clusters[line["snapshot"]]["environment"],
            hop=line["hop"],
            summary=line["summary"],
            alone=len(checks[line["snapshot"]]) == 1,
        )
        for line in lines
    )
    ordered = tuple(sorted(blocked, key=lambda cluster: cluster.name))
    return BlockerCause(check, ordered, sum(line["evidence_total"] for line in lines))


def _next_blockers(snapshots: Collection[uuid.UUID], *, statuses: tuple[str, ...]) -> Iterable[dict[str, Any]]:
    """The blockers with that status at the next hop of each snapshot, as rows.

    Findings and next hop of a snapshot never change, so its rows are read once per process.
    """
    cached = {key: lines for key in snapshots if (lines := _kept.get(key)) is not None}
    missing = [key for key in snapshots if key not in cached]
    if missing:
        read: dict[uuid.UUID, list[dict[str, Any]]] = {key: [] for key in missing}
        for line in _read_blockers(missing):
            read[line["snapshot"]].append(line)
        if len(_kept) + len(read) > MAX_KEPT:
            _kept.clear()
        _kept.update(read)
        cached |= read
    return (line for key in snapshots for line in cached[key] if line["status"] in statuses)


MAX_KEPT = 4000
_kept: dict[uuid.UUID, list[dict[str, Any]]] = {}
"""The cached rows of `_read_blockers`, by snapshot."""


def _read_blockers(snapshots: Collection[uuid.UUID]) -> Iterable[dict[str, Any]]:
    rows: Any = FindingRow.objects.filter(
        content__snapshots__in=list(snapshots),
        hop=F("content__snapshots__next_hop"),
        severity="blocker",
        status__in=OPEN,
    ).annotate(snapshot=F("content__snapshots__pk"))
    columns = ("snapshot", "check_id", "hop", "phase", "status", "severity", "summary", "evidence_total")
    lines: Iterable[dict[str, Any]] = rows.order_by().values(*columns)
    return lines


def _waived(line: dict[str, Any], held: Held, *, cluster: uuid.UUID) -> bool:
    waivers = (*held.get(None, ()), *held.get(cluster, ()))
    about = {"status": line["status"], "severity": line["severity"], "hop": line["hop"]}
    waived = covering(waivers, check=line["check_id"], **about)
    return waived is not None


def _shown(lines: list[dict[str, Any]]) -> Iterable[OpenBlocker]:
    for line in sorted(lines, key=_order):
        yield OpenBlocker(line["check_id"], line["summary"], line["status"] == "fail")


def _order(line: dict[str, Any]) -> tuple[int, int, str]:
    phase = PHASES.index(line["phase"]) if line["phase"] in PHASES else len(PHASES)
    return OPEN.index(line["status"]), phase, line["check_id"]

"""Findings across the fleet: those in the latest snapshot of each cluster."""

import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Annotated, Any

from django.db.models import Case, F, Q, Value, When
from django.utils import timezone
from msgspec import Meta

from migrations_app.checks.base import WEIGHTS
from migrations_app.checks.registry import all_checks, ids_of
from migrations_app.errors import NotFound
from migrations_app.models.scan import FindingRow
from migrations_app.queries.fleet.counted_clusters import counting_clusters
from migrations_app.queries.fleet.waivers import covered_by_waiver, waivers_by_cluster
from migrations_app.queries.ordering import SortColumn, order_of, orders, rank, sorted_page
from migrations_app.queries.pagination import Page
from migrations_app.queries.visibility import visible_clusters
from migrations_app.readiness.waivers import WaiverRule, covering

FINDING_ORDERS = orders(
    {
        "cluster_name": SortColumn("cluster_name"),
        "check": SortColumn("check_id"),
        "severity": SortColumn("weight", int),
        "evidence_total": SortColumn("evidence_total", int),
    },
    SortColumn("cluster_name"),
    SortColumn("pk", int),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class FindingFilters:
    """Filters of findings; empty means no filter. `ordering` is one of FINDING_ORDERS."""

    check: str = ""
    status: str = ""
    severity: str = ""
    hop: str = ""
    phase: str = ""
    cluster: uuid.UUID | None = None
    ordering: str = "cluster_name"


@dataclass(frozen=True, slots=True, kw_only=True)
class FindingLine:
    """One finding of one check; its evidence and remedies are in the snapshot."""

    cluster: uuid.UUID
    cluster_name: str
    snapshot: uuid.UUID
    check: str
    title: Annotated[str, Meta(description="The check's, named after the good state; empty for one that is no more.")]
    hop: str
    phase: str
    status: str
    severity: str
    summary: str
    evidence_total: int
    evidence_exact: Annotated[
        bool | None, Meta(description="False: there are at least that many. Null: not told by an older release.")
    ]
    """False for a lower bound; None if an older release stored the finding without this value."""


_COLUMNS = (
    "pk", "cluster", "cluster_name", "snapshot", "check_id", "hop", "phase", "status", "severity", "summary",
    "evidence_total", "evidence_exact", "shown", "weight",
)  # fmt: skip


def finding_page(filters: FindingFilters, *, after: str, limit: int) -> Page[FindingLine]:
    """One page; without another order, by cluster name and in the order of the report. A sample counts if it is named.

    Raises NotFound for a cluster that is not there: an empty page would say that nothing is open in it.
    """
    clusters = visible_clusters().filter(counting_clusters() if filters.cluster is None else Q(pk=filters.cluster))
    if filters.cluster is not None and not clusters.exists():
        raise NotFound("no such cluster")
    now = timezone.now()
    named = FindingRow.objects.annotate(
        snapshot=F("content__snapshots__pk"),
        cluster=F("content__snapshots__cluster"),
        cluster_name=F("content__snapshots__cluster__name"),
    )
    waived = Case(When(covered_by_waiver(now, cluster="cluster"), then=Value("waived")), default=F("status"))
    rows = named.annotate(shown=waived, weight=rank("severity", WEIGHTS)).filter(
        snapshot__in=clusters.exclude(latest=None).values("latest"),
        **_wanted(filters),
    )
    held = waivers_by_cluster(now)
    return sorted_page(
        rows.values(*_COLUMNS),
        order_of(FINDING_ORDERS, filters.ordering),
        after=after,
        limit=limit,
        row=lambda row: _line(row, held),
    )


def _wanted(filters: FindingFilters) -> dict[str, Any]:
    chosen: dict[str, Any] = {
        "check_id__in": ids_of(filters.check) if filters.check else (),
        "shown": filters.status,
        # A waived finding is stored as a failure or as manual; this condition lets the database use the column's index.
        "status__in": ("fail", "manual") if filters.status == "waived" else (),
        "status": "" if filters.status == "waived" else filters.status,
        "severity": filters.severity,
        "hop": filters.hop,
        "phase": filters.phase,
        "cluster": filters.cluster,
    }
    return {name: value for name, value in chosen.items() if value}


def _line(row: dict[str, Any], held: Mapping[uuid.UUID | None, tuple[WaiverRule, ...]]) -> FindingLine:
    columns = {name: row[name] for name in _COLUMNS if name not in ("pk", "check_id", "shown", "weight")}
    applicable = (*held.get(None, ()), *held.get(row["cluster"], ()))
    waived = covering(applicable, check=row["check_id"], status=row["status"], severity=row["severity"], hop=row["hop"])
    if waived is not None and row["shown"] == "waived":
        columns |= {"status": "waived", "summary": waived.words(row["summary"])}
    return FindingLine(check=row["check_id"], title=_titles().get(row["check_id"], ""), **columns)


@cache
def _titles() -> Mapping[str, str]:
    return {check.id: check.title for check in all_checks()}

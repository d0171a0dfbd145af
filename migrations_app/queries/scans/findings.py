"""Findings across the fleet: those in the latest snapshot of each cluster."""

import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Annotated, Any

from django.db.models import Case, F, Q, Value, When
from django.utils import timezone
from msgspec import Meta

from migrations_app.checks.registry import all_checks
from migrations_app.models.scan import FindingRow
from migrations_app.queries import pagination
from migrations_app.queries.fleet.counted import counting_clusters
from migrations_app.queries.fleet.waivers import covered, held_everywhere
from migrations_app.queries.pagination import Page, keys_of, page_of
from migrations_app.queries.visibility import visible_clusters
from migrations_app.readiness.waivers import Waived, covering


@dataclass(frozen=True, slots=True, kw_only=True)
class FindingAsk:
    """Filters of findings; empty means no filter."""

    check: str = ""
    status: str = ""
    severity: str = ""
    hop: str = ""
    phase: str = ""
    cluster: uuid.UUID | None = None


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
    """False for a lower bound; None if the release that wrote it did not record that."""


_COLUMNS = (
    "pk", "cluster", "cluster_name", "snapshot", "check_id", "hop", "phase", "status", "severity", "summary",
    "evidence_total", "evidence_exact", "shown",
)  # fmt: skip


def finding_page(ask: FindingAsk, *, after: str, limit: int) -> Page[FindingLine]:
    """One page, by cluster name and in the order of the report."""
    now = timezone.now()
    named = FindingRow.objects.annotate(
        snapshot=F("content__snapshots__pk"),
        cluster=F("content__snapshots__cluster"),
        cluster_name=F("content__snapshots__cluster__name"),
    )
    waived = Case(When(covered(now, cluster="cluster"), then=Value("waived")), default=F("status"))
    rows = named.annotate(shown=waived).filter(
        snapshot__in=visible_clusters().filter(counting_clusters()).exclude(latest=None).values("latest"),
        **_wanted(ask),
    )
    keys = keys_of(after, (str, int))
    if keys:
        name, last = keys
        rows = rows.filter(Q(cluster_name__gt=name) | Q(cluster_name=name, pk__gt=last))
    found = list(rows.order_by("cluster_name", "pk").values(*_COLUMNS)[: limit + 1])
    held = held_everywhere(now)
    return page_of(
        found,
        limit=limit,
        row=lambda row: _line(row, held),
        key=lambda row: pagination.encode((row["cluster_name"], row["pk"])),
    )


def _wanted(ask: FindingAsk) -> dict[str, Any]:
    chosen: dict[str, Any] = {
        "check_id": ask.check,
        "shown": ask.status,
        # What is waived was found as a failure or as manual; without this the column's index would not be used.
        "status__in": ("fail", "manual") if ask.status == "waived" else (),
        "status": "" if ask.status == "waived" else ask.status,
        "severity": ask.severity,
        "hop": ask.hop,
        "phase": ask.phase,
        "cluster": ask.cluster,
    }
    return {name: value for name, value in chosen.items() if value}


def _line(row: dict[str, Any], held: Mapping[uuid.UUID | None, tuple[Waived, ...]]) -> FindingLine:
    columns = {name: row[name] for name in _COLUMNS if name not in ("pk", "check_id", "shown")}
    applicable = (*held.get(None, ()), *held.get(row["cluster"], ()))
    found = covering(applicable, check=row["check_id"], status=row["status"], severity=row["severity"], hop=row["hop"])
    if found is not None and row["shown"] == "waived":
        columns |= {"status": "waived", "summary": found.words(row["summary"])}
    return FindingLine(check=row["check_id"], title=_titles().get(row["check_id"], ""), **columns)


@cache
def _titles() -> Mapping[str, str]:
    return {check.id: check.title for check in all_checks()}

"""The fleet page: clusters by status, with search, filters and sorting."""

import re
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import render
from django.utils import timezone

from migrations_app.checks.registry import all_checks
from migrations_app.karpenter.upgrade_path import HOPS
from migrations_app.queries.fleet.clusters import (
    BUCKETS,
    GROUP,
    NEXT,
    PAGE,
    SORTS,
    STAGES,
    FleetAsk,
    FleetPage,
    FleetRow,
    Totals,
    fleet_page,
)
from migrations_app.queries.fleet.groups import group_choices
from migrations_app.queries.fleet.labels import label_choices
from migrations_app.queries.fleet.saved_views import view_page
from migrations_app.queries.scans.fleet_scans import open_fleet_scan
from migrations_app.web.access import require_right, uuid_in

MOST_LABELS = 8
BY_LABEL = "label:"
_LABEL = re.compile(r"[a-z0-9][a-z0-9._/-]{0,62}:[^,]{0,120}", re.ASCII)
HEADLINE = (("blocked", "blocked"), ("needs_facts", "need facts"), ("unreachable", "unreachable"))
COLUMNS = (
    ("Cluster", "name", ""),
    ("Stage", "stage", "hide-narrow"),
    ("Karpenter", "", "hide-narrow"),
    ("Kubernetes", "", "hide-medium"),
    ("Next hop", "hop", ""),
    ("Blockers", "blockers", "right"),
    ("Older left", "legacy", "right hide-narrow"),
    ("Last scan", "scanned", "hide-narrow"),
)
"""Title, sort key (empty if not sortable) and CSS classes of each column."""


@dataclass(frozen=True, slots=True)
class StageStop:
    stage: str
    count: int
    chosen: bool


@dataclass(frozen=True, slots=True)
class Column:
    word: str
    sort: str
    css: str
    chosen: bool
    turn: str
    """The value of `desc` in the link of the column's header."""


@dataclass(frozen=True, slots=True)
class ClusterSection:
    """Rows with a common heading.

    `bucket` is empty unless the list is grouped by status; `part` is the heading if it is grouped by group or label,
    else None.
    """

    bucket: str
    total: int
    rows: tuple[FleetRow, ...]
    part: str | None = None


@dataclass(frozen=True, slots=True)
class Chip:
    """An active filter, with the values of `label` and `check` in the link that removes it."""

    word: str
    label: str
    check: str


@require_right()
def fleet(request: HttpRequest) -> HttpResponse:
    """Every cluster, page by page. Search, sort order and filters are in the query string."""
    ask = fleet_filters(request.GET)
    found = fleet_page(ask, now=timezone.now())
    stops = tuple(StageStop(stage, found.totals.stages[stage], stage == ask.stage) for stage in STAGES)
    context = {
        "section": "fleet",
        "page": found,
        "ask": ask,
        "page_size": PAGE,
        "road": stops[:5],
        "off_road": stops[5:],
        "columns": tuple(_column(ask, word, sort=sort, css=css) for word, sort, css in COLUMNS),
        "groups": _groups(found, ask),
        "shown_rows": len(found.rows),
        "buckets": tuple((name, count) for name, count in found.totals.buckets.items() if count),
        "headline": _headline(found.totals),
        "fleet_scan": open_fleet_scan(),
        "kept": view_page(int(request.user.pk or 0)).rows,
        "here": request.GET.urlencode(),
        "of_rows": sum(found.parts.values()),
    }
    return render(request, "fleet/page.html", context | _choices(ask))


def fleet_filters(query: QueryDict) -> FleetAsk:
    """Parses the query string into filters. Unknown values are ignored."""
    return FleetAsk(
        q=query.get("q", "").strip()[:200],
        bucket=_one_of(query.get("bucket", ""), BUCKETS),
        stage=_one_of(query.get("stage", ""), STAGES),
        environment=query.get("environment", "")[:40],
        group=uuid_in(query.get("group", "")),
        labels=labels_asked(query),
        check=_one_of(query.get("check", ""), tuple(check.id for check in all_checks())),
        hop=_one_of(query.get("hop", ""), (NEXT, *HOPS)),
        by=_arranged_by(query.get("view", "")),
        sort=_one_of(query.get("sort", ""), SORTS) or "name",
        descending=query.get("desc") == "1",
        flat=query.get("view") == "flat",
        cursor=query.get("cursor", ""),
    )


def labels_asked(query: QueryDict) -> tuple[str, ...]:
    """The labels in the query string, such as team:shop,tier:1."""
    return tuple(text for text in query.get("label", "").split(",") if _LABEL.fullmatch(text))[:MOST_LABELS]


def _arranged_by(view: str) -> str:
    key = view.removeprefix(BY_LABEL)
    return GROUP if view == GROUP else key if view.startswith(BY_LABEL) and _LABEL.fullmatch(f"{key}:") else ""


def _chips(ask: FleetAsk) -> tuple[Chip, ...]:
    whole = ",".join(ask.labels)
    labels = (Chip(one, ",".join(text for text in ask.labels if text != one), ask.check) for one in ask.labels)
    at = {"": "", NEXT: " at the next hop"}.get(ask.hop, f" at {ask.hop}")
    checks = (Chip(f"{ask.check} fails{at}", whole, ""),) if ask.check else ()
    return (*checks, *labels)


def _choices(ask: FleetAsk) -> dict[str, Any]:
    """Template context of the filters and groupings, and which of them are active."""
    labels = label_choices()
    return {
        "narrowed": bool(ask.q or ask.bucket or ask.stage or ask.environment or ask.group or ask.labels or ask.check),
        "label": ",".join(ask.labels),
        "labels": labels,
        "label_keys": tuple(labels) or ("environment",),
        "group_choices": group_choices(),
        "chips": _chips(ask),
        "by_label": ask.by if ask.by != GROUP else "",
    }


def _one_of(text: str, choices: tuple[str, ...]) -> str:
    return text if text in choices else ""


def _column(ask: FleetAsk, word: str, *, sort: str, css: str) -> Column:
    chosen = sort == ask.sort
    # Numbers are sorted largest first; a second click on the column reverses the order.
    first = "1" if sort in ("blockers", "legacy") else ""
    return Column(word, sort, css, chosen, ("" if ask.descending else "1") if chosen else first)


def _groups(found: FleetPage, ask: FleetAsk) -> tuple[ClusterSection, ...]:
    if ask.flat:
        return (ClusterSection("", found.matching, found.rows),) if found.rows else ()
    if ask.by:
        parts = groupby(found.rows, key=lambda row: row.part)
        return tuple(ClusterSection("", found.parts.get(part, 0), tuple(rows), part) for part, rows in parts)
    cut = groupby(found.rows, key=lambda row: row.bucket)
    return tuple(ClusterSection(bucket, found.totals.buckets[bucket], tuple(rows)) for bucket, rows in cut)


def _headline(totals: Totals) -> tuple[tuple[str, int], ...]:
    return tuple((word, totals.buckets[bucket]) for bucket, word in HEADLINE)

"""The fleet page: clusters by status, with search, filters and sorting."""

import re
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime
from itertools import groupby
from typing import Any
from urllib.parse import urlencode

from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import render
from django.utils import timezone

from migrations_app.checks.registry import current_id
from migrations_app.karpenter.upgrade_path import HOPS
from migrations_app.queries.fleet.causes import BlockerCause, Held, OpenBlocker, blockers_of, causes
from migrations_app.queries.fleet.clusters import (
    BUCKETS,
    GROUP,
    PAGE_SIZE,
    SORTS,
    STAGES,
    FleetFilters,
    FleetPage,
    FleetRow,
    fleet_page,
)
from migrations_app.queries.fleet.counted_clusters import ENVIRONMENT as SAMPLES
from migrations_app.queries.fleet.facets import fleet_facets
from migrations_app.queries.fleet.failing_clusters import BLOCKS, NEXT
from migrations_app.queries.fleet.labels import ENVIRONMENT
from migrations_app.queries.fleet.progress import done_by_cluster
from migrations_app.queries.fleet.saved_views import view_page
from migrations_app.queries.fleet.stale_results import stale_ready
from migrations_app.queries.fleet.waivers import waivers_by_cluster
from migrations_app.queries.rollouts.active import work_of
from migrations_app.queries.scans.fleet_scans import open_fleet_scan
from migrations_app.texts import text as _
from migrations_app.web.access import require_right, uuid_in
from migrations_app.web.fleet.export import as_csv
from migrations_app.web.fleet.headline import (
    ORDER,
    ShownRow,
    cause_text,
    fleet_headline,
    on_v1,
    shown_row,
    statuses_of,
    tabs_of,
)

MAX_LABELS = 8
EXPORTED = 500
"""Number of rows that an export reads at a time."""
BY_LABEL = "label:"
_LABEL = re.compile(r"[a-z0-9][a-z0-9._/-]{0,62}:[^,]{0,120}", re.ASCII)
COLUMNS = (
    (_("Cluster"), "name", ""),
    (_("Upgrade"), "hop", "hide-cards"),
    (_("Path"), "stage", "hide-cards hide-medium"),
    (_("What blocks"), "blockers", ""),
    (_("Legacy progress"), "legacy", "hide-cards hide-medium"),
    (_("Last scan"), "scanned", "hide-cards"),
)
"""Title, sort key and CSS classes of each column; the last one, of the action, has no title."""


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
    rows: tuple[ShownRow, ...]
    part: str | None = None


@dataclass(frozen=True, slots=True)
class Chip:
    """An active filter; `label` and `check` are the values that remain in the link that removes it."""

    word: str
    label: str
    check: str


@require_right()
def fleet(request: HttpRequest) -> HttpResponse:
    """Every cluster, page by page. Search, sort order and filters are in the query string."""
    filters, now = fleet_filters(request.GET), timezone.now()
    page = fleet_page(filters, now=now)
    held = waivers_by_cluster(now)
    cause_list = causes(filters, held=held, now=now) if page.totals.buckets["blocked"] else ()
    rows = _shown_rows(page.rows, blockers_of(page.rows, held=held), today=now.date())
    context = {
        "section": "fleet",
        "at": "fleet",
        "page": page,
        "filters": filters,
        "page_size": PAGE_SIZE,
        "cause_count": len(cause_list),
        "fleet_scan": open_fleet_scan(),
        "saved": view_page(int(request.user.pk or 0)).rows,
        "to_try": any(row.source == "twin" for row in page.rows),
        "here": request.GET.urlencode(),
        "tab": request.GET.get("tab", ""),
        "ignored": ignored(request.GET, filters),
        "failing": _failing(filters, cause_list, held=held, now=now),
        "searched": bool(filters.q or filters.environment or filters.group or filters.labels or filters.check),
    }
    context |= _answer(page, filters, cause_list=cause_list, now=now)
    return render(request, "fleet/page.html", context | _choices(filters, now=now) | _list(page, filters, rows=rows))


def _answer(
    page: FleetPage, filters: FleetFilters, *, cause_list: tuple[BlockerCause, ...], now: datetime
) -> dict[str, Any]:
    """Returns the numbers above the list."""
    counts = page.totals.buckets
    return {"answer": fleet_headline(counts, cause_list), "stale_ready": stale_ready(filters, now=now)}


def _progress_query(filters: FleetFilters) -> str | None:
    """Returns the query of the progress page for the same clusters; None if that page has no such filter."""
    labels = [*filters.labels, *([f"{ENVIRONMENT}:{filters.environment}"] if filters.environment else [])]
    expressible = len(labels) <= MAX_LABELS and all(map(_LABEL.fullmatch, labels))
    if filters.q or filters.check or filters.environment == SAMPLES or not expressible:
        return None
    parameters = {"group": str(filters.group or ""), "label": ",".join(labels)}
    return urlencode({name: value for name, value in parameters.items() if value})


def _failing(
    filters: FleetFilters, cause_list: Sequence[BlockerCause], *, held: Held, now: datetime
) -> tuple[tuple[str, str, int], ...]:
    """Returns the checks that block, each with its title and the number of filtered clusters; one check can be
    chosen.
    """
    if (filters.check and filters.hop != BLOCKS) or "blocked" not in (
        (filters.bucket,) if filters.bucket else filters.buckets or BUCKETS
    ):
        return ()
    candidates = causes(replace(filters, check="", hop=""), held=held, now=now) if filters.check else cause_list
    check_words = {cause.check: (cause_text(cause), len(cause.clusters)) for cause in candidates}
    chosen = {filters.check: (filters.check, 0)} if filters.check else {}
    return tuple((check, *about) for check, about in (chosen | check_words).items())


def _shown_rows(
    rows: Sequence[FleetRow], blockers: Mapping[uuid.UUID, tuple[OpenBlocker, ...]], *, today: date
) -> tuple[ShownRow, ...]:
    keys = [row.id for row in rows]
    done, rollouts = done_by_cluster(keys, today=today), work_of(keys)
    return tuple(shown_row(row, blockers, done=done, rollouts=rollouts) for row in rows)


def _list(page: FleetPage, filters: FleetFilters, *, rows: tuple[ShownRow, ...]) -> dict[str, Any]:
    """Returns the template context of the list, its tabs, and the line of progress above it."""
    counts = page.totals.buckets
    return {
        "status_tabs": tabs_of(counts, chosen=(filters.bucket,) if filters.bucket else filters.buckets),
        "stages": tuple(
            (stage, count) for stage, count in page.totals.stages.items() if count or stage == filters.stage
        ),
        "columns": tuple(_column(filters, word, sort=sort, css=css) for word, sort, css in COLUMNS),
        "groups": _groups(page, filters, rows=rows),
        "on_v1": on_v1(page.totals.stages),
        "progress_query": _progress_query(filters),
        "shown_rows": len(page.rows),
        "of_rows": sum(page.parts.values()),
    }


@require_right()
def shared_causes(request: HttpRequest) -> HttpResponse:
    """The causes that block clusters, those of most clusters first, so that each is fixed once."""
    filters, now = fleet_filters(request.GET), timezone.now()
    cause_list = causes(filters, held=waivers_by_cluster(now), now=now)
    context = {
        "section": "fleet",
        "at": "causes",
        "causes": tuple((cause, cause_text(cause)) for cause in cause_list),
        "cause_count": len(cause_list),
        "blocked": len({cluster.id for cause in cause_list for cluster in cause.clusters}),
    }
    return render(request, "fleet/causes.html", context)


@require_right()
def export(request: HttpRequest) -> HttpResponse:
    """The filtered clusters as CSV in the order of the page."""
    return csv_answer(fleet_filters(request.GET))


def csv_answer(filters: FleetFilters, *, only: frozenset[uuid.UUID] | None = None) -> HttpResponse:
    """Returns the matching clusters as CSV; with `only`, no clusters but these."""
    now = timezone.now()
    rows: list[FleetRow] = []
    page = fleet_page(replace(filters, cursor=""), now=now, limit=EXPORTED)
    while page.rows:
        rows += (row for row in page.rows if only is None or row.id in only)
        if not page.next_cursor:
            break
        page = fleet_page(replace(filters, cursor=page.next_cursor), now=now, limit=EXPORTED)
    blockers = blockers_of(rows, held=waivers_by_cluster(now))
    shown_rows = _shown_rows(rows, blockers, today=now.date())
    response = HttpResponse(as_csv(shown_rows), content_type="text/csv; charset=utf-8")
    response["Content-Disposition"] = f'attachment; filename="fleet-{now:%Y-%m-%d}.csv"'
    return response


def fleet_filters(query: QueryDict) -> FleetFilters:
    """Parses the query string into filters. Unknown values are ignored; `cause` is a check that blocks."""
    cause = query.get("cause", "")
    return FleetFilters(
        q=query.get("q", "").strip()[:200],
        bucket=_one_of(query.get("bucket", ""), BUCKETS),
        buckets=statuses_of(query.get("tab", "")),
        order=ORDER,
        stage=_one_of(query.get("stage", ""), STAGES),
        environment=query.get("environment", "")[:40],
        group=uuid_in(query.get("group", "")),
        labels=labels_in_query(query),
        check=current_id(cause or query.get("check", "")),
        hop=BLOCKS if current_id(cause) else _one_of(query.get("hop", ""), (NEXT, *HOPS)),
        by=_arranged_by(query.get("view", "")),
        sort=_one_of(query.get("sort", ""), SORTS) or "name",
        descending=query.get("desc") == "1",
        flat=query.get("view") == "flat",
        cursor=query.get("cursor", ""),
    )


def ignored(query: QueryDict, filters: FleetFilters) -> tuple[str, ...]:
    """Returns the filters of the URL that have no effect, so that the page can say that they do not narrow the list."""
    read = {
        "bucket": filters.bucket,
        "tab": filters.buckets,
        "stage": filters.stage,
        "group": filters.group,
        "check": filters.check,
        "cause": filters.hop == BLOCKS,
        "hop": filters.hop,
        "view": filters.flat or filters.by,
        "sort": query.get("sort", "") in SORTS,
        "label": len(filters.labels) == len(query.get("label", "").split(",")),
    }
    return tuple(f"{name}={query[name][:60]}" for name, value in read.items() if query.get(name) and not value)


def labels_in_query(query: QueryDict) -> tuple[str, ...]:
    """The labels in the query string, such as team:shop,tier:1."""
    return tuple(text for text in query.get("label", "").split(",") if _LABEL.fullmatch(text))[:MAX_LABELS]


def _arranged_by(view: str) -> str:
    key = view.removeprefix(BY_LABEL)
    return GROUP if view == GROUP else key if view.startswith(BY_LABEL) and _LABEL.fullmatch(f"{key}:") else ""


def _chips(filters: FleetFilters) -> tuple[Chip, ...]:
    all_labels = ",".join(filters.labels)
    labels = (
        Chip(label, ",".join(text for text in filters.labels if text != label), filters.check)
        for label in filters.labels
    )
    blocks = _(", which blocks the next upgrade")
    at = {"": "", NEXT: _(" at the next upgrade"), BLOCKS: blocks}.get(
        filters.hop, _(" at {hop}").format(hop=filters.hop)
    )
    checks = (
        (Chip(_("Failing: {check}{at}").format(check=filters.check, at=at), all_labels, ""),) if filters.check else ()
    )
    return (*checks, *labels)


def _choices(filters: FleetFilters, *, now: datetime) -> dict[str, Any]:
    """Returns the template context of filters and groupings with the number of clusters of each, and which are
    active.
    """
    facets = fleet_facets(filters, now=now)
    by_label = filters.by if filters.by != GROUP else ""
    return {
        "narrowed": bool(
            filters.q
            or filters.bucket
            or filters.buckets
            or filters.stage
            or filters.environment
            or filters.group
            or filters.labels
            or filters.check
        ),
        "label": ",".join(filters.labels),
        "label_before": "".join(f"{label}," for label in filters.labels),
        "environments": ({filters.environment: 0} if filters.environment else {}) | dict(facets.environments),
        "labels": facets.labels,
        "label_keys": tuple(dict.fromkeys([*facets.labels, *([by_label] if by_label else [])])) or ("environment",),
        "group_choices": facets.groups,
        "chips": _chips(filters),
        "by_label": by_label,
    }


def _one_of(text: str, choices: tuple[str, ...]) -> str:
    return text if text in choices else ""


def _column(filters: FleetFilters, word: str, *, sort: str, css: str) -> Column:
    chosen = sort == filters.sort
    # Numbers are sorted largest first; a second click on the column reverses the order.
    first = "1" if sort in ("blockers", "legacy") else ""
    return Column(word, sort, css, chosen, ("" if filters.descending else "1") if chosen else first)


def _groups(page: FleetPage, filters: FleetFilters, *, rows: tuple[ShownRow, ...]) -> tuple[ClusterSection, ...]:
    if filters.flat:
        return (ClusterSection("", page.matching, rows),) if rows else ()
    if filters.by:
        parts = groupby(rows, key=lambda entry: entry.row.part)
        return tuple(
            ClusterSection("", page.parts.get(part, 0), tuple(section_rows), part) for part, section_rows in parts
        )
    sections = groupby(rows, key=lambda entry: entry.row.bucket)
    return tuple(
        ClusterSection(bucket, page.totals.buckets[bucket], tuple(section_rows)) for bucket, section_rows in sections
    )

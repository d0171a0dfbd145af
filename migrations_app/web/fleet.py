"""The overview: where the fleet stands, and what each cluster waits for."""

from dataclasses import dataclass
from itertools import groupby

from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import render
from django.utils import timezone

from migrations_app.queries.fleet import BUCKETS, PAGE, SORTS, STAGES, FleetAsk, FleetPage, FleetRow, Totals, fleet_page
from migrations_app.queries.fleet_scans import open_fleet_scan
from migrations_app.web.access import page

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
"""Word, sort key (empty: not sortable) and classes of each column."""


@dataclass(frozen=True, slots=True)
class Stop:
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
    """What `desc` becomes when the head is followed."""


@dataclass(frozen=True, slots=True)
class Group:
    """`bucket` is empty in the one list that has no groups."""

    bucket: str
    total: int
    rows: tuple[FleetRow, ...]


@page()
def fleet(request: HttpRequest) -> HttpResponse:
    """Every cluster, a page at a time; all of search, sort and filter stands in the address."""
    ask = asked(request.GET)
    found = fleet_page(ask, now=timezone.now())
    stops = tuple(Stop(stage, found.totals.stages[stage], stage == ask.stage) for stage in STAGES)
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
        "narrowed": bool(ask.q or ask.bucket or ask.stage or ask.environment),
        "fleet_scan": open_fleet_scan(),
    }
    return render(request, "fleet/page.html", context)


def asked(query: QueryDict) -> FleetAsk:
    """What the address asks for; words that are none of ours ask for nothing."""
    return FleetAsk(
        q=query.get("q", "").strip()[:200],
        bucket=_one_of(query.get("bucket", ""), BUCKETS),
        stage=_one_of(query.get("stage", ""), STAGES),
        environment=query.get("environment", "")[:40],
        sort=_one_of(query.get("sort", ""), SORTS) or "name",
        descending=query.get("desc") == "1",
        flat=query.get("view") == "flat",
        cursor=query.get("cursor", ""),
    )


def _one_of(text: str, choices: tuple[str, ...]) -> str:
    return text if text in choices else ""


def _column(ask: FleetAsk, word: str, *, sort: str, css: str) -> Column:
    chosen = sort == ask.sort
    # Numbers are wanted largest first; a second look at the same column turns it round.
    first = "1" if sort in ("blockers", "legacy") else ""
    return Column(word, sort, css, chosen, ("" if ask.descending else "1") if chosen else first)


def _groups(found: FleetPage, ask: FleetAsk) -> tuple[Group, ...]:
    if ask.flat:
        return (Group("", found.matching, found.rows),) if found.rows else ()
    cut = groupby(found.rows, key=lambda row: row.bucket)
    return tuple(Group(bucket, found.totals.buckets[bucket], tuple(rows)) for bucket, rows in cut)


def _headline(totals: Totals) -> tuple[tuple[str, int], ...]:
    return tuple((word, totals.buckets[bucket]) for bucket, word in HEADLINE)

"""The audit log page: who did what, when, to which object, and whether the log verifies."""

import csv
import io
import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import groupby
from typing import Any

from django.http import HttpRequest, HttpResponse, HttpResponseBase, StreamingHttpResponse
from django.shortcuts import render
from django.utils import timezone

from migrations_app.errors import InvalidInput
from migrations_app.queries.audit.log import (
    COLUMNS,
    FAMILIES,
    AuditFilters,
    AuditLine,
    as_line,
    audit_lines,
    audit_page,
    cluster_names,
    density,
)
from migrations_app.readiness.outputs.spreadsheet import harmless
from migrations_app.use_cases.audit.proof import status
from migrations_app.web.access import require_right

RIGHT = "view_auditevent"
PAGE_SIZE = 50
MIN_FOLDED = 3
"""Minimum number of events of steps that are folded into one row."""
WIDE, HIGH = 600, 40
FILTERS = ("q", "actor", "verb", "outcome", "cluster", "plan", "correlation", "since", "until")


@dataclass(frozen=True, slots=True)
class EventRow:
    """An event on the page; `pairs` are the members of its detail."""

    line: AuditLine
    at: datetime
    cluster: str
    pairs: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class EventGroup:
    """Neighbouring events, newest first; `folded` if they are steps of one rollout shown in one row."""

    rows: tuple[EventRow, ...]
    folded: bool = False

    @property
    def newest(self) -> EventRow:
        return self.rows[0]


@dataclass(frozen=True, slots=True)
class Bars:
    """Events per day as one SVG path in a 600 by 40 drawing."""

    path: str
    days: tuple[tuple[str, int], ...]
    most: int
    total: int


@require_right(RIGHT)
def audit(request: HttpRequest) -> HttpResponse:
    """One page of events, newest first, filtered by the query string."""
    now = timezone.now()
    filters = _filters(request)
    wanted, wrong_field = _filters_of(filters)
    try:
        page = audit_page(wanted, after=request.GET.get("cursor", ""), limit=PAGE_SIZE)
    except InvalidInput:
        page = audit_page(wanted, after="", limit=PAGE_SIZE)
    context = {
        "section": "audit",
        "chosen": filters,
        "narrowed": any(filters.values()),
        "wrong": wrong_field,
        "families": FAMILIES,
        "groups": grouped(_event_rows(page.rows), fold=not request.GET.get("every")),
        "today": f"{now:%Y-%m-%d}",
        "yesterday": f"{now - timedelta(days=1):%Y-%m-%d}",
        "next_cursor": page.next_cursor,
        "cursor": request.GET.get("cursor", ""),
        "chain": status(),
        "verified_at": now,
        "bars": bars(density(wanted, now=now)),
    }
    return render(request, "audit/page.html", context)


@require_right(RIGHT)
def export(request: HttpRequest, form: str) -> HttpResponseBase:
    """The matching events as a file. Only an export of the whole log can be verified later."""
    wanted, _ = _filters_of(_filters(request))
    if form == "csv":
        answer = StreamingHttpResponse(_as_csv(audit_lines(wanted)), content_type="text/csv; charset=utf-8")
    else:
        answer = StreamingHttpResponse(map(as_line, audit_lines(wanted)), content_type="application/x-ndjson")
    answer["Content-Disposition"] = f'attachment; filename="karpdash-audit.{form}"'
    return answer


def grouped(rows: Iterable[EventRow], *, fold: bool) -> tuple[EventGroup, ...]:
    """Returns the events in groups: neighbouring events of the steps of one plan are one group if there are at least
    MIN_FOLDED.
    """
    cut = groupby(rows, key=lambda row: row.line.plan_digest if row.line.verb.startswith("step.") else "")
    runs = ((plan, tuple(run)) for plan, run in cut)
    return tuple(EventGroup(run, fold and bool(plan) and len(run) >= MIN_FOLDED) for plan, run in runs)


def bars(days: tuple[tuple[str, int], ...]) -> Bars | None:
    """Returns one bar for each day; None without events."""
    most = max((count for _, count in days), default=0)
    if not most:
        return None
    step = WIDE / len(days)
    tall = [(index * step, count / most * HIGH) for index, (_, count) in enumerate(days) if count]
    path = " ".join(f"M{x:.1f} {HIGH} V{HIGH - high:.1f} h{step - 2:.1f} V{HIGH} Z" for x, high in tall)
    return Bars(path, days, most, sum(count for _, count in days))


def _filters(request: HttpRequest) -> dict[str, str]:
    """The filters of the query string, without NUL, which PostgreSQL does not accept."""
    return {name: request.GET.get(name, "").replace("\x00", "")[:200].strip() for name in FILTERS}


def _filters_of(filters: dict[str, str]) -> tuple[AuditFilters, str]:
    """Returns the filters, and the name of the date field that is invalid, if any."""
    since, until = _day(filters["since"]), _day(filters["until"])
    wrong_field = next((name for name, day in (("since", since), ("until", until)) if filters[name] and not day), "")
    wanted = AuditFilters(
        actor=filters["actor"],
        verb=filters["verb"],
        outcome=filters["outcome"],
        cluster=filters["cluster"],
        plan=filters["plan"],
        correlation=filters["correlation"],
        since=since,
        until=until + timedelta(days=1) if until else None,
        text=filters["q"],
    )
    return wanted, wrong_field


def _day(text: str) -> datetime | None:
    try:
        return datetime.strptime(text, "%Y-%m-%d").replace(tzinfo=UTC)
    except ValueError:
        return None


def _event_rows(lines: Sequence[AuditLine]) -> Iterator[EventRow]:
    names = cluster_names(lines)
    return (_event_row(line, names) for line in lines)


def _event_row(line: AuditLine, names: dict[str, str]) -> EventRow:
    detail = json.loads(line.detail)
    pairs = tuple((str(name), _text(value)) for name, value in detail.items()) if isinstance(detail, dict) else ()
    return EventRow(line, datetime.fromisoformat(line.at), names.get(line.cluster_id, ""), pairs)


def _text(value: Any) -> str:  # noqa: ANN401 - any JSON
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _as_csv(lines: Iterable[AuditLine]) -> Iterator[str]:
    buffer = io.StringIO()
    writer = csv.writer(buffer)
    writer.writerow(COLUMNS)
    for line in lines:
        writer.writerow([harmless(getattr(line, name)) for name in COLUMNS])
        yield buffer.getvalue()
        buffer.seek(0)
        buffer.truncate()
    yield buffer.getvalue()

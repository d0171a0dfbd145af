"""The burndown page: legacy objects over time, as a chart rendered by the server and as a table."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from itertools import pairwise

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.views.decorators.http import require_safe

from migrations_app.queries.cluster.detail import cluster_head
from migrations_app.queries.fleet.burndown import Burndown, BurndownAsk, BurndownCurve, burndown, burndown_by_group
from migrations_app.queries.fleet.groups import group_choices, group_of
from migrations_app.queries.fleet.labels import label_choices
from migrations_app.readiness.burndown import DAYS, Point
from migrations_app.web.access import require_right, uuid_in
from migrations_app.web.fleet.page import labels_asked

WIDE, HIGH, TOP = 720, 180, 8
AHEAD = 60
"""Days of the chart that lie in the future, so that a projection has room."""


@dataclass(frozen=True, slots=True)
class DrawnCurve:
    """SVG paths in a drawing of WIDE by HIGH.

    `read` connects exact counts of the day; `older` those that are carried over or lower bounds; `ahead` is the
    projection; `marks` are single lower bounds.
    """

    read: str
    older: str
    ahead: str
    marks: tuple[tuple[float, float], ...]


@dataclass(frozen=True, slots=True)
class BurndownChart:
    objects: DrawnCurve
    nodes: DrawnCurve
    highest: int
    today_x: float
    start: date
    end: date


@dataclass(frozen=True, slots=True)
class BurndownRow:
    """One day of the table."""

    day: date
    objects: Point | None
    nodes: Point | None


@require_right()
@require_safe
def of_fleet(request: HttpRequest) -> HttpResponse:
    """The burndown of the fleet, a group, clusters with some labels, or one cluster."""
    now = timezone.now()
    cluster, group = uuid_in(request.GET.get("cluster", "")), uuid_in(request.GET.get("group", ""))
    ask = BurndownAsk(cluster=cluster, group=group, labels=labels_asked(request.GET))
    by_group = not (cluster or group)
    told, groups = burndown_by_group(ask, now=now) if by_group else (burndown(ask, now=now), ())
    context = {
        "section": "fleet",
        "head": cluster_head(cluster, now=now) if cluster else None,
        "group": group_of(group) if group else None,
        "told": told,
        "groups": groups,
        "chart": chart(told),
        "rows": _rows(told),
        "choices": group_choices(),
        "labels": label_choices(),
        "ask": ask,
        "label": ",".join(ask.labels),
        "now": now,
    }
    return render(request, "burndown/page.html", context)


def chart(told: Burndown) -> BurndownChart | None:
    """The chart; None if no day was counted or the count was always zero."""
    lines = (told.objects, told.nodes)
    highest = max((point.count or 0 for line in lines for point in line.points), default=0)
    last = told.objects.last or told.nodes.last
    if not highest or last is None:
        return None
    start, end = _day(last.day, 1 - DAYS), _day(last.day, AHEAD)
    objects, nodes = (_drawn(line, start=start, highest=highest) for line in lines)
    return BurndownChart(objects, nodes, highest, _x(last.day, start), start, end)


def _day(day: date, days: int) -> date:
    return date.fromordinal(day.toordinal() + days)


def _x(day: date, start: date) -> float:
    return (day - start).days / (DAYS - 1 + AHEAD) * WIDE


def _drawn(line: BurndownCurve, *, start: date, highest: int) -> DrawnCurve:
    def place(point: Point) -> tuple[float, float]:
        return _x(point.day, start), HIGH - (point.count or 0) / highest * (HIGH - TOP)

    known = [point for point in line.points if point.count is not None]
    pairs = list(pairwise(known))
    whole = [(place(a), place(b)) for a, b in pairs if _read(a) and _read(b)]
    older = [(place(a), place(b)) for a, b in pairs if not (_read(a) and _read(b))]
    marks = tuple(place(point) for point in known if point.certainty == "at_least")[-1:]
    ahead = ""
    if known and line.projection.ends_on:
        ahead = _path([(place(known[-1]), (_x(line.projection.ends_on, start), float(HIGH)))])
    return DrawnCurve(_path(whole), _path(older), ahead, marks)


def _read(point: Point) -> bool:
    return point.certainty == "exact" and not point.carried


def _path(pieces: Sequence[tuple[tuple[float, float], tuple[float, float]]]) -> str:
    parts: list[str] = []
    before: tuple[float, float] | None = None
    for one, other in pieces:
        if one != before:
            parts.append(f"M{one[0]:.1f} {one[1]:.1f}")
        parts.append(f"L{other[0]:.1f} {other[1]:.1f}")
        before = other
    return " ".join(parts)


def _rows(told: Burndown) -> tuple[BurndownRow, ...]:
    """The table's rows, newest first."""
    objects = {point.day: point for point in told.objects.points}
    nodes = {point.day: point for point in told.nodes.points}
    days = sorted(objects.keys() | nodes.keys(), reverse=True)
    return tuple(BurndownRow(day, objects.get(day), nodes.get(day)) for day in days)

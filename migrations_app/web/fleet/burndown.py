"""The progress page: both conversions as numbers, as a chart drawn by the server, as a table and as CSV."""

import csv
import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from textwrap import shorten
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.views.decorators.http import require_safe

from migrations_app.queries.clusters.detail import cluster_head
from migrations_app.queries.fleet.burndown import (
    Burndown,
    BurndownCurve,
    BurndownFilters,
    burndown,
    burndown_by_group,
    rollouts_between,
    without_karpenter,
)
from migrations_app.queries.fleet.groups import group_choices, group_of
from migrations_app.queries.fleet.labels import label_choices
from migrations_app.queries.fleet.progress import WAY, ends_of, with_progress
from migrations_app.readiness.progress.curve import DAYS, MEASURES, Point
from migrations_app.readiness.progress.done_percent import CONVERSIONS, DonePercent, ProjectedEnd
from migrations_app.texts import text as _
from migrations_app.web.access import require_right, uuid_in
from migrations_app.web.fleet.page import labels_in_query
from migrations_app.web.fleet.progress_chart import WORDS, ProgressChart, ProgressDay, chart, days_of

MEASURE_WORDS: Mapping[str, tuple[str, str]] = {
    "objects": (_("Legacy objects"), _("Provisioners, AWSNodeTemplates and Machines")),
    "nodes": (_("Legacy nodes"), _("to be replaced by nodes of NodePools")),
    "stored_versions": (_("Legacy stored versions"), _("CRDs that do not store v1 alone")),
    "claims": (_("Claims not stored as v1"), _("Machines, and NodeClaims that are not rewritten")),
}
"""The word of each measure for what is left, and what it counts."""
UNKNOWN = DonePercent(percent=None, bound="unknown")
LAST_HEADINGS = ("clusters", "scanned", "fell because")
MAX_EXPLAINED_FALLS = 6
"""How many falls, the newest ones, the picture explains in words; it marks all of them."""
LEGEND_Y = 456
"""Vertical position of the last line of the picture's legend; the lines about falls are below it."""
FALL_LINE = 150
"""Maximum number of characters of a line about a fall, by the width of the picture."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasureLine:
    """One measure in numbers."""

    name: str
    word: str
    note: str
    curve: BurndownCurve


@dataclass(frozen=True, slots=True, kw_only=True)
class HalfCard:
    name: str
    word: str
    done: DonePercent
    end: ProjectedEnd
    measures: tuple[MeasureLine, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupProgress:
    """One group of the table."""

    id: object
    name: str
    progress: Burndown
    done: DonePercent
    end: ProjectedEnd


@require_right()
@require_safe
def of_fleet(request: HttpRequest) -> HttpResponse:
    """The progress of the fleet, a group, clusters with some labels, or one cluster."""
    now, filters = timezone.now(), _filters_of(request)
    by_group = not (filters.cluster or filters.group)
    progress, groups = burndown_by_group(filters, now=now) if by_group else (burndown(filters, now=now), ())
    context = _chart_context(filters, progress, now=now) | {
        "section": "fleet",
        "bare": without_karpenter(filters),
        "head": cluster_head(filters.cluster, now=now) if filters.cluster else None,
        "group": group_of(filters.group) if filters.group else None,
        "groups": [_group(group.burndown, key=group.id, name=group.name) for group in groups],
        "choices": group_choices(),
        "labels": label_choices(),
        "filters": filters,
        "label": ",".join(filters.labels),
        "query": request.GET.urlencode(),
    }
    return render(request, "burndown/page.html", context)


@require_right()
@require_safe
def line(request: HttpRequest) -> HttpResponse:
    """The progress and the projected end of these clusters in one line, which the fleet page loads separately.

    Computing it reads the days of every cluster, and the fleet page does not wait for that.
    """
    filters = _filters_of(request)
    summary = with_progress(burndown(filters, now=timezone.now()))
    context = {
        "told": summary,
        "bare": without_karpenter(filters),
        "way": summary.way.done,
        "end": summary.way.end,
        "query": request.GET.urlencode(),
    }
    return render(request, "burndown/line.html", context)


@require_right()
@require_safe
def picture(request: HttpRequest) -> HttpResponse:
    """The chart as an SVG file."""
    now, filters = timezone.now(), _filters_of(request)
    name = _name(filters, now=now)
    chart_values = _chart_context(filters, burndown(filters, now=now), now=now)
    context = chart_values | {"name": name} | _fall_lines(chart_values["chart"])
    return render(request, "burndown/picture.svg", context, content_type="image/svg+xml")


def _fall_lines(chart: ProgressChart | None) -> dict[str, Any]:
    """Returns the lines of the picture that say why the progress fell, and by how much they make the picture higher."""
    falls = chart.falls if chart else ()
    lines = [
        shorten(f"{fall.number}: {fall.word}", FALL_LINE, placeholder=" …") for fall in falls[:MAX_EXPLAINED_FALLS]
    ]
    more = len(falls) - len(lines)
    if more:
        lines.append(_("{number} earlier falls are in the table and in the CSV").format(number=more))
    return {
        "falls_told": MAX_EXPLAINED_FALLS,
        "fall_lines": [(LEGEND_Y + 24 * at, line) for at, line in enumerate(lines, 1)],
        "height": LEGEND_Y + 24 * (len(lines) + 1),
    }


@require_right()
@require_safe
def export(request: HttpRequest) -> HttpResponse:
    """The table as CSV: one line for each day, the oldest first; an unknown number is empty."""
    now, filters = timezone.now(), _filters_of(request)
    answer = HttpResponse(as_csv(days_of(burndown(filters, now=now))), content_type="text/csv; charset=utf-8")
    answer["Content-Disposition"] = f'attachment; filename="progress-{now:%Y-%m-%d}.csv"'
    return answer


def as_csv(days: Sequence[ProgressDay]) -> str:
    """Returns the days as CSV. `bound` says whether the percents are exact, or an upper bound because something was
    never read; `fell because` is empty on days on which no percent is lower than the day before.
    """
    buffer = io.StringIO()
    writer = csv.writer(buffer)
    lefts = (f"{measure.name} {word}" for measure in MEASURES for word in ("left", "total"))
    writer.writerow(("day", "percent", "bound", *(f"percent {half}" for half in CONVERSIONS), *lefts, *LAST_HEADINGS))
    for day in days:
        way = day.done[WAY]
        halves = [_cell(day.done[half].percent) for half in CONVERSIONS]
        counts = [_cell(number) for measure in MEASURES for number in _counts(day.points.get(measure.name))]
        clusters = max(point.clusters for point in day.points.values())
        writer.writerow((day.day, _cell(way.percent), way.bound, *halves, *counts, clusters, day.scanned, day.causes))
    return buffer.getvalue()


def _counts(point: Point | None) -> tuple[int | None, int | None]:
    return (point.count, point.total) if point else (None, None)


def _cell(number: int | None) -> int | str:
    return "" if number is None else number


def _filters_of(request: HttpRequest) -> BurndownFilters:
    cluster, group = uuid_in(request.GET.get("cluster", "")), uuid_in(request.GET.get("group", ""))
    return BurndownFilters(cluster=cluster, group=group, labels=labels_in_query(request.GET))


def _chart_context(filters: BurndownFilters, progress: Burndown, *, now: datetime) -> dict[str, Any]:
    """Returns the template context of the curves, for the page and the picture."""
    days, ends = days_of(progress), ends_of(progress)
    first = days[0].day if days else now.date()
    rollouts = rollouts_between(filters, first=max(first, now.date() - timedelta(days=DAYS)))
    progress_chart = chart(days, ends=ends, rollouts=rollouts)
    last = days[-1].done if days else {}
    return {
        "told": progress,
        "halves": [_half(half, progress=progress, done=last.get(half), end=ends[half]) for half in CONVERSIONS],
        "way": last.get(WAY, UNKNOWN),
        "end": ends[WAY],
        "chart": progress_chart,
        "hover": _hover(days) if progress_chart else None,
        "days": tuple(reversed(days)),
        "now": now,
    }


def _half(half: str, *, progress: Burndown, done: DonePercent | None, end: ProjectedEnd) -> HalfCard:
    lines = (
        MeasureLine(name=name, word=MEASURE_WORDS[name][0], note=MEASURE_WORDS[name][1], curve=progress.curves[name])
        for name in CONVERSIONS[half]
    )
    return HalfCard(name=half, word=WORDS[half], done=done or UNKNOWN, end=end, measures=tuple(lines))


def _group(progress: Burndown, *, key: object, name: str) -> GroupProgress:
    days, ends = days_of(progress), ends_of(progress)
    done = days[-1].done[WAY] if days else UNKNOWN
    return GroupProgress(id=key, name=name, progress=progress, done=done, end=ends[WAY])


def _hover(days: Sequence[ProgressDay]) -> list[str]:
    """Returns the text that the chart shows for each day that it draws."""
    days_with_share = [
        day for day in days if any(done_percent.percent is not None for done_percent in day.done.values())
    ]
    return [_day_words(day) for day in days_with_share]


def _day_words(day: ProgressDay) -> str:
    shares = "; ".join(f"{WORDS[name]} {_percent(day.done[name])}" for name in WORDS)
    return f"{_date(day.day)}: {shares}{'; ' if day.why else ''}{day.why}"


def _date(day: date) -> str:
    return f"{day.day} {day:%b %Y}"


def _percent(done: DonePercent) -> str:
    if done.percent is None:
        return "unknown"
    return f"{'at most ' if done.bound == 'at_most' else ''}{done.percent} %"


def _name(filters: BurndownFilters, *, now: datetime) -> str:
    if filters.cluster:
        return cluster_head(filters.cluster, now=now).name
    return group_of(filters.group).name if filters.group else _("the fleet")

"""Progress of the conversions to v1: of each cluster of a list, and of a burndown, as pages show it."""

import uuid
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from datetime import date, timedelta
from itertools import pairwise

from django.db.models import OuterRef, QuerySet, Subquery

from migrations_app.models.cluster import Cluster
from migrations_app.models.scan import LegacyDay
from migrations_app.queries.fleet.burndown import DAYS_BEFORE, Burndown, BurndownCurve
from migrations_app.readiness.progress.curve import COLUMNS, DAYS, Day, Lacking, Point, missing_for_projection
from migrations_app.readiness.progress.done_percent import (
    CONVERSIONS,
    DonePercent,
    ProjectedEnd,
    percent_after_days,
    percent_of_conversions,
    projected_end,
)
from migrations_app.readiness.progress.falls import FallCause, falls_between

WAY = "way"


@dataclass(frozen=True, slots=True, kw_only=True)
class OverallProgress:
    """Progress of both conversions together: the percentage that is done, and the projected end. `end.on` is only set
    for `falling`.
    """

    done: DonePercent
    end: ProjectedEnd


@dataclass(frozen=True, slots=True, kw_only=True)
class FallenDay:
    """One reason why the progress was lower on that day than on the day before, as in `Fall`."""

    day: date
    measure: str
    cause: FallCause
    number: int


@dataclass(frozen=True, slots=True, kw_only=True)
class BurndownWithProgress(Burndown):
    """A burndown with the progress of both conversions, and the reasons for lower progress, oldest first."""

    way: OverallProgress
    falls: tuple[FallenDay, ...]


def with_progress(burndown: Burndown) -> BurndownWithProgress:
    """The burndown with its progress and the reasons for lower progress."""
    days = points_by_day(burndown)
    falls = (
        FallenDay(day=day, measure=fall.measure, cause=fall.cause, number=fall.number)
        for (_, before), (day, points) in pairwise(days)
        for fall in falls_between(before, points)
    )
    done = percent_of_conversions(days[-1][1]) if days else DonePercent(percent=None, bound="unknown")
    curves = {column.name: getattr(burndown, column.name) for column in fields(burndown)}
    return BurndownWithProgress(
        **curves, way=OverallProgress(done=done, end=ends_of(burndown)[WAY]), falls=tuple(falls)
    )


def points_by_day(burndown: Burndown) -> list[tuple[date, Mapping[str, Point]]]:
    """The points by measure, for every day with a point, oldest first."""
    by_day: dict[date, dict[str, Point]] = {}
    for name, line in burndown.curves.items():
        for point in line.points:
            by_day.setdefault(point.day, {})[name] = point
    return sorted(by_day.items(), key=lambda day: day[0])


def ends_of(burndown: Burndown) -> Mapping[str, ProjectedEnd]:
    """The projected end of each conversion and of both together."""
    curves = burndown.curves
    halves = {half: _end([curves[name] for name in names]) for half, names in CONVERSIONS.items()}
    return {WAY: _end(list(curves.values()))} | halves


def _end(curves: Sequence[BurndownCurve]) -> ProjectedEnd:
    end = projected_end([line.projection for line in curves])
    if end.outcome != "too_little":
        return end
    lacks = [missing_for_projection(line.points) for line in curves if line.projection.outcome == "too_little"]
    most = Lacking(scans=max(lack.scans for lack in lacks), days=max(lack.days for lack in lacks))
    return replace(end, lacks=most)


def done_by_cluster(clusters: Collection[uuid.UUID], *, today: date) -> Mapping[uuid.UUID, DonePercent]:
    """The progress by cluster; clusters that were never counted are left out.

    One query, and a second one for clusters whose last scan could not read everything: older numbers are used for them.
    """
    newest = LegacyDay.objects.filter(cluster=OuterRef("pk"), day__lte=today).order_by("-day").values("pk")[:1]
    rows = Cluster.objects.filter(pk__in=clusters).order_by().annotate(newest=Subquery(newest))
    days = _days(LegacyDay.objects.filter(pk__in=rows.values("newest")))
    partial = [key for key, (day,) in days.items() if None in day.counts.values()]
    if partial:
        since = today - timedelta(days=DAYS + DAYS_BEFORE)
        days |= _days(LegacyDay.objects.filter(cluster__in=partial, day__gte=since, day__lte=today))
    return {key: percent_after_days(cluster_days) for key, cluster_days in days.items()}


def _days(rows: "QuerySet[LegacyDay]") -> dict[uuid.UUID, list[Day]]:
    """The days of each cluster, oldest first."""
    by_cluster: dict[uuid.UUID, list[Day]] = {}
    for key, day, *counts in rows.order_by("day").values_list("cluster_id", "day", *COLUMNS):
        by_cluster.setdefault(key, []).append(
            Day(cluster=str(key), day=day, counts=dict(zip(COLUMNS, counts, strict=True)))
        )
    return by_cluster

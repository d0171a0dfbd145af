"""Computes the percent done of each measure, of each conversion and of both, and the day on which they end.

A measure compares what is done with what exists now. So its percent rises only by work and falls only by new legacy
objects, never by passing checks; scaling all objects alike does not change it. A conversion is the mean of its
measures, the total the mean of both conversions; a measure with nothing to count has no weight.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from typing import Literal

from migrations_app.readiness.progress.curve import (
    CLAIMS,
    MEASURES,
    NODES,
    OBJECTS,
    STORED_VERSIONS,
    BurndownProjection,
    CurveState,
    Day,
    Lacking,
    Point,
    ProjectionOutcome,
)

CONVERSIONS: Mapping[str, tuple[str, ...]] = {
    "to_v1beta1": (OBJECTS.name, NODES.name),
    "to_v1": (STORED_VERSIONS.name, CLAIMS.name),
}
"""The two conversions from v1alpha5 to v1, and the measures of each."""
OUTCOMES_BY_PRECEDENCE: tuple[ProjectionOutcome, ...] = ("unknown", "not_falling", "too_little", "falling", "gone")
"""Outcomes of projections by precedence: the first one present decides."""

Bound = Literal["exact", "at_most", "unknown"]


@dataclass(frozen=True, slots=True, kw_only=True)
class DonePercent:
    """`percent` is None if nothing is known. It is an upper bound if something was never read."""

    percent: int | None
    bound: Bound


@dataclass(frozen=True, slots=True, kw_only=True)
class ProjectedEnd:
    """`on` is set for the outcome `falling`; it means "not before" if `certainty` is at_least. `lacks` is set for
    `too_little`."""

    outcome: ProjectionOutcome
    on: date | None = None
    certainty: str = "exact"
    lacks: Lacking = field(default_factory=Lacking)


def percent_of_measures(points: Sequence[Point]) -> DonePercent:
    """Returns the percent of some measures on one day; 100 only if everything was read and nothing is left."""
    known = [point for point in points if point.total is not None]
    if not known:
        return DonePercent(percent=None, bound="unknown")
    shares = [(point.done or 0) / point.total for point in known if point.total]
    whole = len(known) == len(points) and all(point.certainty == "exact" for point in points)
    left = any(point.count for point in points)
    percent = int(100 * sum(shares) / len(shares)) if shares else 100
    if left or not whole:
        percent = min(percent, 99)
    return DonePercent(percent=percent, bound="exact" if whole else "at_most")


def percent_of_conversions(points: Mapping[str, Point]) -> DonePercent:
    """Returns the percent of both conversions on one day: the mean of those of which something is known."""
    halves = [percent_of_measures([points[name] for name in names if name in points]) for names in CONVERSIONS.values()]
    known = [half.percent for half in halves if half.percent is not None]
    if not known:
        return DonePercent(percent=None, bound="unknown")
    whole = all(half.bound == "exact" for half in halves)
    return DonePercent(percent=sum(known) // len(known), bound="exact" if whole else "at_most")


def percent_after_days(days: Sequence[Day]) -> DonePercent:
    """Returns the percent of both conversions of one cluster after these days, oldest first; unknown without any."""
    if not days:
        return DonePercent(percent=None, bound="unknown")
    points: dict[str, Point] = {}
    for measure in MEASURES:
        state = CurveState(measure)
        for day in days:
            state.take((day,))
        points[measure.name] = state.point(days[-1].day, read=1, there=1)
    return percent_of_conversions(points)


def projected_end(projections: Sequence[BurndownProjection]) -> ProjectedEnd:
    """Returns when the last of some measures ends; no day if one does not fall or too little is known of it."""
    outcomes: list[ProjectionOutcome] = [projection.outcome for projection in projections] or ["unknown"]
    outcome = min(outcomes, key=OUTCOMES_BY_PRECEDENCE.index)
    certainty = "exact" if all(projection.certainty == "exact" for projection in projections) else "at_least"
    ends = [projection.ends_on for projection in projections if projection.ends_on]
    if outcome != "falling":
        return ProjectedEnd(outcome=outcome, certainty=certainty)
    return ProjectedEnd(outcome="falling", on=max(ends), certainty=certainty)

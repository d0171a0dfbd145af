"""How much of the way is done: the share of each measure, of each half, and of both, with the day when it ends.

A measure counts what is there now: what is done of all there is. So a share rises only by work and falls only by new
legacy objects, never by checks that pass, and scaling alike does not move it. A half is the mean of its measures, the
whole way the mean of the halves; measures without anything to count have no weight.
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
    Outcome,
    Point,
)

HALVES: Mapping[str, tuple[str, ...]] = {
    "to_v1beta1": (OBJECTS.name, NODES.name),
    "to_v1": (STORED_VERSIONS.name, CLAIMS.name),
}
"""The halves of the way from v1alpha5 to v1, and the measures of each."""
ENDS: tuple[Outcome, ...] = ("unknown", "not_falling", "too_little", "falling", "gone")
"""Outcomes, the one that decides over others first."""

Bound = Literal["exact", "at_most", "unknown"]


@dataclass(frozen=True, slots=True, kw_only=True)
class DonePercent:
    """`percent` is None where nothing is known. It is an upper bound where something was never read."""

    percent: int | None
    bound: Bound


@dataclass(frozen=True, slots=True, kw_only=True)
class ProjectedEnd:
    """`on` is set for the outcome `falling`; where `certainty` is at_least it means: not before. `lacks` is for
    `too_little`."""

    outcome: Outcome
    on: date | None = None
    certainty: str = "exact"
    lacks: Lacking = field(default_factory=Lacking)


def done_of(points: Sequence[Point]) -> DonePercent:
    """The share of some measures on one day; 100 only if all of it was read and nothing is left."""
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


def done_of_way(points: Mapping[str, Point]) -> DonePercent:
    """The share of the whole way on one day: the mean of the halves of which something is known."""
    halves = [done_of([points[name] for name in names if name in points]) for names in HALVES.values()]
    known = [half.percent for half in halves if half.percent is not None]
    if not known:
        return DonePercent(percent=None, bound="unknown")
    whole = all(half.bound == "exact" for half in halves)
    return DonePercent(percent=sum(known) // len(known), bound="exact" if whole else "at_most")


def done_of_days(days: Sequence[Day]) -> DonePercent:
    """The share of the whole way of one cluster after these days, oldest first; unknown without any."""
    if not days:
        return DonePercent(percent=None, bound="unknown")
    points: dict[str, Point] = {}
    for measure in MEASURES:
        state = CurveState(measure)
        for day in days:
            state.take((day,))
        points[measure.name] = state.point(days[-1].day, read=1, there=1)
    return done_of_way(points)


def end_of(projections: Sequence[BurndownProjection]) -> ProjectedEnd:
    """When the last of some measures is gone. One that does not fall, or of which too little is known, gives no day."""
    outcomes: list[Outcome] = [projection.outcome for projection in projections] or ["unknown"]
    decides = min(outcomes, key=ENDS.index)
    certainty = "exact" if all(projection.certainty == "exact" for projection in projections) else "at_least"
    ends = [projection.ends_on for projection in projections if projection.ends_on]
    if decides != "falling":
        return ProjectedEnd(outcome=decides, certainty=certainty)
    return ProjectedEnd(outcome="falling", on=max(ends), certainty=certainty)

"""Computes the burndown: what is left of a measure on each day, and when the line through the last weeks reaches zero.

A day without a scan, and a kind that a scan could not read, keep the last number that was read; the point says so. A
kind that was never read is not counted as zero: the sum without it is a lower bound.
"""

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from datetime import date, timedelta
from itertools import groupby
from operator import attrgetter
from typing import Annotated, Literal

from msgspec import Meta

from migrations_app.inventory.parts import Certainty

DAYS = 90
"""Days that the curve covers."""
PROJECTION_DAYS = 28
"""Days that a projection uses."""
SHORTEST_SPAN_DAYS = 7
"""Least number of days between the first and the last point of a projection."""
FEWEST_POINTS = 4
"""Least number of points of a projection."""
LONGEST_PROJECTION_DAYS = 1826
"""Five years in days: a projection that ends later counts as not falling."""


ProjectionOutcome = Literal["gone", "falling", "not_falling", "too_little", "unknown"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Measure:
    """One thing that is counted: the columns whose sum is what is left, and the column of the total."""

    name: str
    kinds: tuple[str, ...]
    total: str


OBJECTS = Measure(name="objects", kinds=("provisioners", "templates", "machines"), total="objects_total")
NODES = Measure(name="nodes", kinds=("nodes",), total="nodes_total")
STORED_VERSIONS = Measure(name="stored_versions", kinds=("stored_versions",), total="stored_versions_total")
CLAIMS = Measure(name="claims", kinds=("claims",), total="claims_total")
MEASURES = (OBJECTS, NODES, STORED_VERSIONS, CLAIMS)
COLUMNS: tuple[str, ...] = tuple(name for measure in MEASURES for name in (*measure.kinds, measure.total))


@dataclass(frozen=True, slots=True, kw_only=True)
class Day:
    """The counts of a cluster's last scan of a day, by column; None for a column that the scan could not read."""

    cluster: str
    day: date
    counts: Mapping[str, int | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """The curve on one day. `count` is what is left; None if nothing is known. `clusters` is the number of clusters;
    of them `carried` have numbers from an earlier day and `unseen` have a kind that was never read. `done` of
    `total` counts only clusters with both numbers; None if there is none."""

    day: date
    count: int | None
    certainty: Certainty
    clusters: int
    carried: int = 0
    unseen: int = 0
    done: int | None = None
    total: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class BurndownProjection:
    """`ends_on` is set for `falling` only; it means "not before" if `certainty` is at_least."""

    outcome: ProjectionOutcome
    ends_on: date | None = None
    per_week: Annotated[float, Meta(description="Change in a week; negative where it falls.")] = 0.0
    certainty: Certainty = "exact"


@dataclass(frozen=True, slots=True, kw_only=True)
class Lacking:
    """What a projection still needs: days with a complete scan, and how many days later the last of them has to be."""

    scans: int = 0
    days: int = 0


def curve(days: Iterable[Day], *, measure: Measure, registered: Mapping[str, date], today: date) -> tuple[Point, ...]:
    """Returns a point for each of the last DAYS days, the last one for today. `registered` has the date of
    registration of every cluster that counts; days of other clusters are ignored. There is no point before the first
    scan of any cluster."""
    return points_until(CurveState(measure), days, registered=registered, until=today, today=today)


def points_until(
    state: "CurveState", days: Iterable[Day], *, registered: Mapping[str, date], until: date, today: date
) -> tuple[Point, ...]:
    """Returns the points of the days up to `until` that are not yet in `state`, as `curve` returns them for `today`.

    Changes `state`: a later call continues with the days after `until`.
    """
    rows = sorted(
        (day_row for day_row in days if day_row.cluster in registered and day_row.day <= until), key=attrgetter("day")
    )
    start = today - timedelta(days=DAYS - 1)
    since = sorted(registered.values())
    points: list[Point] = []
    by_day = {day: tuple(day_rows) for day, day_rows in groupby(rows, key=attrgetter("day"))}
    for day in sorted(day_row for day_row in by_day if day_row < start):
        state.take(by_day[day])
    for day in _days(state.at or start, until):
        new_rows = by_day.get(day, ())
        state.take(new_rows)
        if state.known or state.seen:
            there = bisect_right(since, day)
            points.append(state.point(day, read=_fully_read_count(new_rows, state.measure.kinds), there=there))
    state.at = until + timedelta(days=1)
    return tuple(points)


def _days(first: date, last: date) -> Iterator[date]:
    return (first + timedelta(days=number) for number in range((last - first).days + 1))


class CurveState:
    """The last number of each column of each cluster, and their sums, updated day by day."""

    def __init__(self, measure: Measure) -> None:
        self.measure = measure
        self.known: dict[tuple[str, str], int] = {}
        self.totals: dict[str, int] = {}
        self.shares: dict[str, tuple[int, int]] = {}
        self.seen: set[str] = set()
        self.sum = self.whole = self.done = self.total = 0
        self.at: date | None = None
        """The next day to add; None before the first one."""

    def copy(self) -> "CurveState":
        """Returns an independent copy."""
        other = copy(self)
        other.known, other.totals = dict(self.known), dict(self.totals)
        other.shares, other.seen = dict(self.shares), set(self.seen)
        return other

    def take(self, rows: Iterable[Day]) -> None:
        """Adds the scans of one day."""
        for row in rows:
            self.seen.add(row.cluster)
            for kind in self.measure.kinds:
                count = row.counts.get(kind)
                if count is not None:
                    self.sum += count - self.known.get((row.cluster, kind), 0)
                    self.known[row.cluster, kind] = count
            total = row.counts.get(self.measure.total)
            if total is not None:
                self.totals[row.cluster] = total
            self._share(row.cluster)
        self.whole = self._fully_read_count()

    def _share(self, cluster: str) -> None:
        left_counts = [self.known.get((cluster, kind)) for kind in self.measure.kinds]
        total = self.totals.get(cluster)
        if total is None or None in left_counts:
            return
        done_before, total_before = self.shares.get(cluster, (0, 0))
        done = max(0, total - sum(count or 0 for count in left_counts))
        self.shares[cluster] = done, total
        self.done += done - done_before
        self.total += total - total_before

    def _fully_read_count(self) -> int:
        """Returns the number of clusters of which every kind was read at least once."""
        kinds = self.measure.kinds
        if len(self.known) == len(self.seen) * len(kinds):
            return len(self.seen)
        return sum(all((cluster, kind) in self.known for kind in kinds) for cluster in self.seen)

    def point(self, day: date, *, read: int, there: int) -> Point:
        """Returns the point of a day; `read` clusters were fully read that day, `there` were registered."""
        clusters = max(there, len(self.seen))
        unseen = clusters - self.whole
        certainty: Certainty = "unknown" if not self.known else "at_least" if unseen else "exact"
        count = self.sum if self.known else None
        carried = max(self.whole - read, 0)
        done, total = (self.done, self.total) if self.shares else (None, None)
        return Point(
            day=day, count=count, certainty=certainty, clusters=clusters, carried=carried, unseen=unseen, done=done,
            total=total,
        )  # fmt: skip


def _fully_read_count(rows: Iterable[Day], kinds: Sequence[str]) -> int:
    """Returns the number of clusters whose scan of the day read every kind."""
    return sum(all(row.counts.get(kind) is not None for kind in kinds) for row in rows)


def projection(points: Sequence[Point]) -> BurndownProjection:
    """Returns when the curve reaches zero if it goes on as in the last weeks.

    Only days with as many clusters as today count: one more cluster is no setback, and one less is no progress.
    """
    if not points or points[-1].count is None:
        return BurndownProjection(outcome="unknown", certainty="unknown")
    last = points[-1]
    certainty: Certainty = "exact" if last.certainty == "exact" and not last.carried else "at_least"
    if not last.count and last.certainty == "exact":
        return BurndownProjection(outcome="gone", certainty=certainty)
    comparable = [point for point in points if _comparable(point, last)]
    if missing_for_projection(points) != Lacking():
        return BurndownProjection(outcome="too_little", certainty=certainty)
    rate = _slope_per_day(comparable)
    days_left = (last.count or 0) / -rate if rate < 0 else None
    if days_left is None or days_left > LONGEST_PROJECTION_DAYS or not last.count:
        return BurndownProjection(outcome="not_falling", per_week=_per_week(rate), certainty=certainty)
    ends_on = last.day + timedelta(days=max(1, round(days_left)))
    return BurndownProjection(outcome="falling", ends_on=ends_on, per_week=_per_week(rate), certainty=certainty)


def missing_for_projection(points: Sequence[Point]) -> Lacking:
    """Returns what the points lack for a projection."""
    comparable_days = [point.day for point in points if _comparable(point, points[-1])]
    if not comparable_days:
        return Lacking(scans=FEWEST_POINTS, days=SHORTEST_SPAN_DAYS)
    return Lacking(
        scans=max(0, FEWEST_POINTS - len(comparable_days)),
        days=max(0, SHORTEST_SPAN_DAYS - (comparable_days[-1] - comparable_days[0]).days),
    )


def _comparable(point: Point, last: Point) -> bool:
    is_recent = (last.day - point.day).days <= PROJECTION_DAYS
    # A day on which every number is carried from an earlier day adds no information.
    is_current = point.carried < point.clusters or point is last
    return (
        is_recent
        and is_current
        and point.count is not None
        and (point.clusters, point.unseen) == (last.clusters, last.unseen)
    )


def _slope_per_day(points: Sequence[Point]) -> float:
    """Returns the change in objects per day, by least squares."""
    days = [(point.day - points[0].day).days for point in points]
    counts = [point.count or 0 for point in points]
    middle, mean = sum(days) / len(days), sum(counts) / len(counts)
    spread = sum((day - middle) ** 2 for day in days)
    return sum((day - middle) * (count - mean) for day, count in zip(days, counts, strict=True)) / spread


def _per_week(rate: float) -> float:
    return round(rate * 7, 1) + 0.0

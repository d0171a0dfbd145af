"""What is left to do over time, and when it will be gone: counted from what was seen, never guessed.

A day without a scan, and a kind that a scan could not read, keep the last number that was read, and the point says so.
What was never read is not taken for zero: the sum without it is a lower bound.
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

DAYS = 90
"""How far back the curve goes."""
LOOKED_AT = 28
"""Days that a projection is drawn from."""
SHORTEST = 7
"""Days between the first and the last point of a projection, at least."""
FEWEST = 4
"""Points of a projection, at least."""
FARTHEST = 1826
"""Five years: what would end later is as good as not falling."""


Certainty = Literal["exact", "at_least", "unknown"]
Outcome = Literal["gone", "falling", "not_falling", "too_little", "unknown"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Measure:
    """One thing that is counted down: the columns that add up to what is left, and the column of what there is."""

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
    """What the last scan of a cluster on a day read, by column; None where it could not read that."""

    cluster: str
    day: date
    counts: Mapping[str, int | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """`count` is None where nothing is known. `clusters` counts those that it is made of, `carried` those of them whose
    number is of an earlier day, `unseen` those with a kind that was never read. `done` of `total` is of those clusters
    alone of which both numbers were read; None where there is none."""

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
    """`ends_on` is set for `falling` only; it is a lower bound, "not before", where `certainty` is at_least."""

    outcome: Outcome
    ends_on: date | None = None
    per_week: Annotated[float, Meta(description="Change in a week; negative where it falls.")] = 0.0
    certainty: Certainty = "exact"


@dataclass(frozen=True, slots=True, kw_only=True)
class Lacking:
    """What a projection needs yet: days with a scan that read everything, and days from today to the last of them."""

    scans: int = 0
    days: int = 0


def curve(days: Iterable[Day], *, measure: Measure, registered: Mapping[str, date], today: date) -> tuple[Point, ...]:
    """A point for each of the last DAYS days, the last one for today. `registered` names every cluster that counts and
    since when; days of other clusters are left out. Days before the first scan of any of them have no point."""
    return walked(CurveState(measure), days, registered=registered, until=today, today=today)


def walked(
    state: "CurveState", days: Iterable[Day], *, registered: Mapping[str, date], until: date, today: date
) -> tuple[Point, ...]:
    """The points of the days up to `until` that `state` has not been through yet, as `curve` gives them for `today`.

    `state` is changed: a later call goes on from there, with the days after `until` alone.
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
        fresh = by_day.get(day, ())
        state.take(fresh)
        if state.known or state.seen:
            there = bisect_right(since, day)
            points.append(state.point(day, read=_whole(fresh, state.measure.kinds), there=there))
    state.at = until + timedelta(days=1)
    return tuple(points)


def _days(first: date, last: date) -> Iterator[date]:
    return (first + timedelta(days=number) for number in range((last - first).days + 1))


class CurveState:
    """The last number of each column of each cluster, and their sums, kept up as days go by."""

    def __init__(self, measure: Measure) -> None:
        self.measure = measure
        self.known: dict[tuple[str, str], int] = {}
        self.totals: dict[str, int] = {}
        self.shares: dict[str, tuple[int, int]] = {}
        self.seen: set[str] = set()
        self.sum = self.whole = self.done = self.total = 0
        self.at: date | None = None
        """The first day that was not walked yet; None before the first one."""

    def copy(self) -> "CurveState":
        """A state that changes on its own."""
        other = copy(self)
        other.known, other.totals = dict(self.known), dict(self.totals)
        other.shares, other.seen = dict(self.shares), set(self.seen)
        return other

    def take(self, rows: Iterable[Day]) -> None:
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
        self.whole = self._whole()

    def _share(self, cluster: str) -> None:
        left = [self.known.get((cluster, kind)) for kind in self.measure.kinds]
        total = self.totals.get(cluster)
        if total is None or None in left:
            return
        before, all_before = self.shares.get(cluster, (0, 0))
        done = max(0, total - sum(count or 0 for count in left))
        self.shares[cluster] = done, total
        self.done += done - before
        self.total += total - all_before

    def _whole(self) -> int:
        """Clusters of which every kind was read once."""
        kinds = self.measure.kinds
        if len(self.known) == len(self.seen) * len(kinds):
            return len(self.seen)
        return sum(all((cluster, kind) in self.known for kind in kinds) for cluster in self.seen)

    def point(self, day: date, *, read: int, there: int) -> Point:
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


def _whole(rows: Iterable[Day], kinds: Sequence[str]) -> int:
    """Clusters that a scan of the day read every kind of."""
    return sum(all(row.counts.get(kind) is not None for kind in kinds) for row in rows)


def projection(points: Sequence[Point]) -> BurndownProjection:
    """When the curve reaches zero if it goes on as in the last weeks.

    Only days count on which as many clusters stood behind the number as today: a cluster more is no step back, and
    one less no progress.
    """
    if not points or points[-1].count is None:
        return BurndownProjection(outcome="unknown", certainty="unknown")
    last = points[-1]
    certainty: Certainty = "exact" if last.certainty == "exact" and not last.carried else "at_least"
    if not last.count and last.certainty == "exact":
        return BurndownProjection(outcome="gone", certainty=certainty)
    alike = [point for point in points if _comparable(point, last)]
    if lacking(points) != Lacking():
        return BurndownProjection(outcome="too_little", certainty=certainty)
    rate = _slope(alike)
    left = (last.count or 0) / -rate if rate < 0 else None
    if left is None or left > FARTHEST or not last.count:
        return BurndownProjection(outcome="not_falling", per_week=_rounded(rate), certainty=certainty)
    ends_on = last.day + timedelta(days=max(1, round(left)))
    return BurndownProjection(outcome="falling", ends_on=ends_on, per_week=_rounded(rate), certainty=certainty)


def lacking(points: Sequence[Point]) -> Lacking:
    """What the points lack for a projection, `points` being those of `projection`."""
    alike = [point.day for point in points if _comparable(point, points[-1])]
    if not alike:
        return Lacking(scans=FEWEST, days=SHORTEST)
    return Lacking(scans=max(0, FEWEST - len(alike)), days=max(0, SHORTEST - (alike[-1] - alike[0]).days))


def _comparable(point: Point, last: Point) -> bool:
    near = (last.day - point.day).days <= LOOKED_AT
    # A day that repeats older numbers throughout says nothing of its own.
    is_current = point.carried < point.clusters or point is last
    return (
        near
        and is_current
        and point.count is not None
        and (point.clusters, point.unseen) == (last.clusters, last.unseen)
    )


def _slope(points: Sequence[Point]) -> float:
    """Objects a day, by least squares."""
    days = [(point.day - points[0].day).days for point in points]
    counts = [point.count or 0 for point in points]
    middle, mean = sum(days) / len(days), sum(counts) / len(counts)
    spread = sum((day - middle) ** 2 for day in days)
    return sum((day - middle) * (count - mean) for day, count in zip(days, counts, strict=True)) / spread


def _rounded(rate: float) -> float:
    return round(rate * 7, 1) + 0.0

"""What is left of the older generation over time, and when it will be gone: counted from what was seen, never guessed.

A day without a scan, and a kind that a scan could not read, keep the last number that was read, and the point says so.
What was never read is not taken for zero: the sum without it is a lower bound.
"""

from collections.abc import Iterable, Mapping, Sequence
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
OBJECTS: tuple[str, ...] = ("provisioners", "templates", "machines")
NODES: tuple[str, ...] = ("nodes",)
KINDS = (*OBJECTS, *NODES)

Certainty = Literal["exact", "at_least", "unknown"]
Outcome = Literal["gone", "falling", "not_falling", "too_little", "unknown"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Day:
    """What the last scan of a cluster on a day read, by kind; None where it could not read that kind."""

    cluster: str
    day: date
    counts: Mapping[str, int | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """`count` is None where nothing is known. `clusters` counts those that it is made of, `carried` those of them whose
    number is of an earlier day, `unseen` those with a kind that was never read."""

    day: date
    count: int | None
    certainty: Certainty
    clusters: int
    carried: int = 0
    unseen: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class BurndownProjection:
    """`ends_on` is set for `falling` only; it is a lower bound, "not before", where `certainty` is at_least."""

    outcome: Outcome
    ends_on: date | None = None
    per_week: Annotated[float, Meta(description="Change in a week; negative where it falls.")] = 0.0
    certainty: Certainty = "exact"


def curve(
    days: Iterable[Day], *, kinds: Sequence[str], registered: Mapping[str, date], today: date
) -> tuple[Point, ...]:
    """A point for each of the last DAYS days, the last one for today. `registered` names every cluster that counts and
    since when; days of other clusters are left out. Days before the first scan of any of them have no point."""
    rows = sorted((one for one in days if one.cluster in registered and one.day <= today), key=attrgetter("day"))
    start = today - timedelta(days=DAYS - 1)
    since = sorted(registered.values())
    state = _State()
    points: list[Point] = []
    by_day = {day: tuple(found) for day, found in groupby(rows, key=attrgetter("day"))}
    for day in sorted(one for one in by_day if one < start):
        state.take(by_day[day], kinds)
    for day in (start + timedelta(days=number) for number in range(DAYS)):
        fresh = by_day.get(day, ())
        state.take(fresh, kinds)
        if state.known or state.seen:
            there = sum(one <= day for one in since)
            points.append(state.point(day, read=_whole(fresh, kinds), there=there))
    return tuple(points)


class _State:
    """The last number of each kind of each cluster, and their sum, kept up as days go by."""

    def __init__(self) -> None:
        self.known: dict[tuple[str, str], int] = {}
        self.seen: set[str] = set()
        self.sum = 0
        self.whole = 0

    def take(self, rows: Iterable[Day], kinds: Sequence[str]) -> None:
        for row in rows:
            self.seen.add(row.cluster)
            for kind in kinds:
                count = row.counts.get(kind)
                if count is not None:
                    self.sum += count - self.known.get((row.cluster, kind), 0)
                    self.known[row.cluster, kind] = count
        self.whole = self._whole(kinds)

    def _whole(self, kinds: Sequence[str]) -> int:
        """Clusters of which every kind was read once."""
        if len(self.known) == len(self.seen) * len(kinds):
            return len(self.seen)
        return sum(all((cluster, kind) in self.known for kind in kinds) for cluster in self.seen)

    def point(self, day: date, *, read: int, there: int) -> Point:
        clusters = max(there, len(self.seen))
        unseen = clusters - self.whole
        certainty: Certainty = "unknown" if not self.known else "at_least" if unseen else "exact"
        count = self.sum if self.known else None
        carried = max(self.whole - read, 0)
        return Point(day=day, count=count, certainty=certainty, clusters=clusters, carried=carried, unseen=unseen)


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
    alike = [one for one in points if _comparable(one, last)]
    if len(alike) < FEWEST or (last.day - alike[0].day).days < SHORTEST:
        return BurndownProjection(outcome="too_little", certainty=certainty)
    rate = _slope(alike)
    left = (last.count or 0) / -rate if rate < 0 else None
    if left is None or left > FARTHEST or not last.count:
        return BurndownProjection(outcome="not_falling", per_week=_rounded(rate), certainty=certainty)
    ends_on = last.day + timedelta(days=max(1, round(left)))
    return BurndownProjection(outcome="falling", ends_on=ends_on, per_week=_rounded(rate), certainty=certainty)


def _comparable(one: Point, last: Point) -> bool:
    near = (last.day - one.day).days <= LOOKED_AT
    # A day that repeats older numbers throughout says nothing of its own.
    told = one.carried < one.clusters or one is last
    return near and told and one.count is not None and (one.clusters, one.unseen) == (last.clusters, last.unseen)


def _slope(points: Sequence[Point]) -> float:
    """Objects a day, by least squares."""
    days = [(one.day - points[0].day).days for one in points]
    counts = [one.count or 0 for one in points]
    middle, mean = sum(days) / len(days), sum(counts) / len(counts)
    spread = sum((day - middle) ** 2 for day in days)
    return sum((day - middle) * (count - mean) for day, count in zip(days, counts, strict=True)) / spread


def _rounded(rate: float) -> float:
    return round(rate * 7, 1) + 0.0

"""The progress chart: percent done by day, for both conversions and both together, with the projected end.

The page lays its labels over the drawing, so that they keep their size on a phone; the SVG file has its own labels.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from itertools import pairwise

from migrations_app.queries.fleet.burndown import Burndown, MarkedRollout
from migrations_app.queries.fleet.progress import WAY, points_by_day
from migrations_app.readiness.progress.curve import Point
from migrations_app.readiness.progress.done_percent import (
    CONVERSIONS,
    DonePercent,
    ProjectedEnd,
    percent_of_conversions,
    percent_of_measures,
)
from migrations_app.readiness.progress.falls import Fall, FallCause, falls_between
from migrations_app.texts import text as _

WIDTH, HEIGHT, TOP = 1000, 300, 6
MIN_DAYS_BEFORE = 7
"""Minimum number of days before today on the axis, so that a single point does not fill the drawing."""
MIN_DAYS_AFTER = 14
"""Minimum number of days after today on the axis."""
MAX_DAYS_AFTER = 180
"""Maximum number of days after today on the axis; a later end is only written as text."""
TICKS = 6
WORDS: Mapping[str, str] = {WAY: _("Whole way"), "to_v1beta1": _("v1alpha5 to v1beta1"), "to_v1": _("v1beta1 to v1")}

FALLEN: Mapping[str, tuple[str, str, str]] = {
    "objects": (_("object"), _("objects"), _("on the old API")),
    "nodes": (_("node"), _("nodes"), _("on the old API")),
    "stored_versions": (_("CRD"), _("CRDs"), _("not storing v1 alone")),
    "claims": (_("claim"), _("claims"), _("not stored as v1")),
}
"""For each measure: what it counts, in singular and plural, and what makes it legacy."""
FALL_WORDS: Mapping[FallCause, str] = {
    "more_left": _("{number} {noun} more {legacy}"),
    "done_gone": _("{number} migrated {noun} fewer"),
    "first_counted": _("{number} {noun} {legacy}, counted for the first time"),
    "none_counted": _("no {noun} to count any more"),
    "not_read": _("scan partial, {number} {cluster} not fully read"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ProgressDay:
    """One day: the shares by series, and the points by measure. `scanned` is the number of clusters that were read that
    day; `falls` says why a share is lower than the day before.
    """

    day: date
    done: Mapping[str, DonePercent]
    points: Mapping[str, Point]
    scanned: int
    falls: tuple[Fall, ...] = ()

    @property
    def causes(self) -> str:
        """Why a share fell, as a text; empty if none fell."""
        return ", ".join(dict.fromkeys(fall_text(fall) for fall in self.falls))

    @property
    def why(self) -> str:
        """As `causes`, as a text that follows a share."""
        return _("falls: {causes}").format(causes=self.causes) if self.falls else ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProgressLine:
    """`read` connects days whose numbers were all read that day, `other` days with older numbers or upper bounds;
    `ahead` leads to the projected end. `dots` are single days.
    """

    name: str
    word: str
    read: str
    other: str
    ahead: str
    dots: tuple[tuple[float, float], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class AxisTick:
    """A position on an axis in percent of its length, and its label."""

    at: float
    word: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RolloutMark:
    """A rollout at the position where it began and as wide as its duration, in the drawing's units."""

    rollout: MarkedRollout
    number: int
    x: float
    width: float


@dataclass(frozen=True, slots=True, kw_only=True)
class FallMark:
    """A day on which a share fell, with the reason, drawn on the line of both conversions; the newest has number 1."""

    x: float
    y: float
    word: str
    number: int

    @property
    def at(self) -> float:
        """Its position in percent of the width."""
        return self.x / WIDTH * 100

    @property
    def below(self) -> float:
        """Where its number is drawn: beside the mark and lower, where no line crosses it."""
        return self.y + 14


@dataclass(frozen=True, slots=True, kw_only=True)
class ProgressChart:
    lines: tuple[ProgressLine, ...]
    dates: tuple[AxisTick, ...]
    percents: tuple[AxisTick, ...]
    marks: tuple[RolloutMark, ...]
    falls: tuple[FallMark, ...]
    scans: tuple[float, ...]
    places: tuple[float, ...]
    """The position of each day, in percent of the width."""
    today: float


@dataclass(frozen=True, slots=True)
class _Axis:
    first: date
    last: date

    def x(self, day: date) -> float:
        return (day - self.first).days / (self.last - self.first).days * WIDTH


def days_of(progress: Burndown) -> tuple[ProgressDay, ...]:
    """Returns every day with a point, oldest first."""
    by_day = points_by_day(progress)
    before = [{}, *(points for _, points in by_day)]
    return tuple(_day(day, points, before=past) for (day, points), past in zip(by_day, before, strict=False))


def fall_text(fall: Fall) -> str:
    """Returns the cause of a fall as a text."""
    singular, plural, legacy = FALLEN[fall.measure]
    alone = fall.number == 1
    return FALL_WORDS[fall.cause].format(
        number=fall.number,
        noun=singular if alone else plural,
        legacy=legacy,
        cluster=_("cluster") if alone else _("clusters"),
    )


def _day(day: date, points: Mapping[str, Point], *, before: Mapping[str, Point]) -> ProgressDay:
    done = {
        half: percent_of_measures([points[name] for name in names if name in points])
        for half, names in CONVERSIONS.items()
    }
    scanned = max(point.clusters - point.unseen - point.carried for point in points.values())
    falls = falls_between(before, points)
    return ProgressDay(
        day=day, done={WAY: percent_of_conversions(points)} | done, points=points, scanned=max(0, scanned), falls=falls
    )


def chart(
    days: Sequence[ProgressDay], *, ends: Mapping[str, ProjectedEnd], rollouts: Sequence[MarkedRollout] = ()
) -> ProgressChart | None:
    """Returns the drawing; None if no share of any day is known."""
    days_with_share = [
        day for day in days if any(done_percent.percent is not None for done_percent in day.done.values())
    ]
    if not days_with_share:
        return None
    axis = _axis(days_with_share, ends)
    marks = (
        _mark(rollout, number, axis=axis, today=days_with_share[-1].day) for number, rollout in enumerate(rollouts, 1)
    )
    return ProgressChart(
        lines=tuple(_line(name, days_with_share, axis=axis, end=ends[name]) for name in reversed(tuple(WORDS))),
        dates=_dates(axis),
        percents=tuple(
            AxisTick(at=100 * _y(percent) / HEIGHT, word=f"{percent} %") for percent in (100, 75, 50, 25, 0)
        ),
        marks=tuple(mark for mark in marks if mark),
        falls=_falls(days_with_share, axis=axis),
        scans=tuple(axis.x(day.day) for day in days_with_share if day.scanned),
        places=tuple(round(axis.x(day.day) / WIDTH * 100, 2) for day in days_with_share),
        today=axis.x(days_with_share[-1].day),
    )


def _falls(days: Sequence[ProgressDay], *, axis: _Axis) -> tuple[FallMark, ...]:
    """Returns the days on which a share fell, the newest first."""
    fallen = (day for day in reversed(days) if day.falls)
    places = ((day, percent) for day in fallen if (percent := day.done[WAY].percent) is not None)
    return tuple(
        FallMark(x=axis.x(day.day), y=_y(percent), word=f"{day.day} {day.why}", number=number)
        for number, (day, percent) in enumerate(places, 1)
    )


def _axis(days: Sequence[ProgressDay], ends: Mapping[str, ProjectedEnd]) -> _Axis:
    today = days[-1].day
    first = min(days[0].day, today - timedelta(days=MIN_DAYS_BEFORE))
    ahead = [(end.on - today).days for end in ends.values() if end.on]
    last = today + timedelta(days=min(MAX_DAYS_AFTER, max([MIN_DAYS_AFTER, *ahead])))
    return _Axis(first, last)


def _y(percent: float) -> float:
    return HEIGHT - percent / 100 * (HEIGHT - TOP)


def _dates(axis: _Axis) -> tuple[AxisTick, ...]:
    days = (axis.last - axis.first).days
    step = max(1, -(-days // TICKS))
    dates = (axis.first + timedelta(days=number) for number in range(0, days, step))
    return tuple(AxisTick(at=axis.x(day) / WIDTH * 100, word=f"{day.day} {day:%b}") for day in dates)


def _mark(rollout: MarkedRollout, number: int, *, axis: _Axis, today: date) -> RolloutMark | None:
    ended = rollout.ended or today
    if ended < axis.first:
        return None
    x = axis.x(max(rollout.began, axis.first))
    return RolloutMark(rollout=rollout, number=number, x=x, width=max(3.0, axis.x(ended) - x))


def _line(name: str, days: Sequence[ProgressDay], *, axis: _Axis, end: ProjectedEnd) -> ProgressLine:
    shares = [(day, day.done[name]) for day in days]
    places = [
        (axis.x(day.day), _y(done_percent.percent), done_percent.bound == "exact" and _fresh(day, name))
        for day, done_percent in shares
        if done_percent.percent is not None
    ]
    pairs = list(pairwise(places))
    ahead = ""
    if places and end.on and end.on > days[-1].day:
        ahead = _ahead(places[-1][:2], end.on, axis=axis)
    return ProgressLine(
        name=name,
        word=WORDS[name],
        read=_path([(a[:2], b[:2]) for a, b in pairs if a[2] and b[2]]),
        other=_path([(a[:2], b[:2]) for a, b in pairs if not (a[2] and b[2])]),
        ahead=ahead,
        dots=tuple(place[:2] for place in places) if len(places) < MIN_DAYS_BEFORE else (),
    )


def _fresh(day: ProgressDay, name: str) -> bool:
    """Whether all numbers of the series were read on that day."""
    names = CONVERSIONS.get(name, tuple(day.points))
    return not any(day.points[measure].carried for measure in names if measure in day.points)


def _ahead(start: tuple[float, float], end: date, *, axis: _Axis) -> str:
    """Returns the path to 100 % on the projected day; cut off where the axis ends."""
    x, y = axis.x(end), _y(100)
    if x > WIDTH:
        y = start[1] + (y - start[1]) * (WIDTH - start[0]) / (x - start[0])
        x = WIDTH
    return _path([(start, (x, y))])


def _path(pieces: Sequence[tuple[tuple[float, float], tuple[float, float]]]) -> str:
    parts: list[str] = []
    before: tuple[float, float] | None = None
    for start, end in pieces:
        if start != before:
            parts.append(f"M{start[0]:.1f} {start[1]:.1f}")
        parts.append(f"L{end[0]:.1f} {end[1]:.1f}")
        before = end
    return " ".join(parts)

"""Explains why a percent of progress is lower than on the day before, from the numbers of both days."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

from migrations_app.readiness.progress.curve import Point
from migrations_app.readiness.progress.done_percent import CONVERSIONS, percent_of_conversions, percent_of_measures

FallCause = Literal["more_left", "done_gone", "first_counted", "none_counted", "not_read"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Fall:
    """One cause of a fall. `number` counts, by cause: how much more is left (`more_left`), what was done and no
    longer exists (`done_gone`), what is left of a measure that is counted for the first time (`first_counted`),
    clusters that were not fully read (`not_read`)."""

    measure: str
    cause: FallCause
    number: int


def falls_between(before: Mapping[str, Point], after: Mapping[str, Point]) -> tuple[Fall, ...]:
    """Returns why the total percent or that of one conversion fell; empty if none fell."""
    fallen = [
        half for half, names in CONVERSIONS.items() if _fell(_percent_of(before, names), _percent_of(after, names))
    ]
    if not fallen and not _total_fell(before, after):
        return ()
    names = [name for half in fallen or CONVERSIONS for name in CONVERSIONS[half] if name in after]
    return tuple(fall for name in names for fall in _causes(name, before=before.get(name), after=after[name]))


def _percent_of(points: Mapping[str, Point], names: tuple[str, ...]) -> int | None:
    return percent_of_measures([points[name] for name in names if name in points]).percent


def _fell(before: int | None, after: int | None) -> bool:
    return before is not None and after is not None and after < before


def _total_fell(before: Mapping[str, Point], after: Mapping[str, Point]) -> bool:
    return _fell(percent_of_conversions(before).percent, percent_of_conversions(after).percent)


def _causes(name: str, *, before: Point | None, after: Point) -> Iterator[Fall]:
    """Yields the causes of one measure: more left comes first; lost done objects count only if nothing else explains
    it."""
    left_before, left_after = (before.count or 0, after.count or 0) if before else (0, after.count or 0)
    was_counted = bool(before and before.total)
    if after.total and not was_counted and left_after:
        yield Fall(measure=name, cause="first_counted", number=left_after)
    elif was_counted and left_after > left_before:
        yield Fall(measure=name, cause="more_left", number=left_after - left_before)
    elif was_counted and not after.total:
        yield Fall(measure=name, cause="none_counted", number=0)
    elif before and _lower(before, after):
        yield Fall(measure=name, cause="done_gone", number=(before.done or 0) - (after.done or 0))
    if after.unseen > (before.unseen if before else 0):
        yield Fall(measure=name, cause="not_read", number=after.unseen - (before.unseen if before else 0))


def _lower(before: Point, after: Point) -> bool:
    """Returns whether the percent is lower because done objects no longer exist."""
    if not before.total or not after.total or before.done is None or after.done is None:
        return False
    return after.done < before.done and after.done * before.total < before.done * after.total

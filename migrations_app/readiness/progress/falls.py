"""Why a share of progress is lower than on the day before, from the numbers of both days alone."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

from migrations_app.readiness.progress.curve import Point
from migrations_app.readiness.progress.share import HALVES, done_of, done_of_way

FallCause = Literal["more_left", "done_gone", "first_counted", "none_counted", "not_read"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Fall:
    """One cause of a fall. `number` counts what is left more (`more_left`), what was done and is gone (`done_gone`),
    what is left of a measure that weighs now (`first_counted`), and clusters that were not read whole (`not_read`).
    """

    measure: str
    cause: FallCause
    number: int


def falls_between(before: Mapping[str, Point], after: Mapping[str, Point]) -> tuple[Fall, ...]:
    """The causes for which the whole way or a half fell; nothing where none did."""
    fallen = [half for half, names in HALVES.items() if _fell(_of(before, names), _of(after, names))]
    if not fallen and not _way_fell(before, after):
        return ()
    names = [name for half in fallen or HALVES for name in HALVES[half] if name in after]
    return tuple(fall for name in names for fall in _causes(name, before=before.get(name), after=after[name]))


def _of(points: Mapping[str, Point], names: tuple[str, ...]) -> int | None:
    return done_of([points[name] for name in names if name in points]).percent


def _fell(before: int | None, after: int | None) -> bool:
    return before is not None and after is not None and after < before


def _way_fell(before: Mapping[str, Point], after: Mapping[str, Point]) -> bool:
    return _fell(done_of_way(before).percent, done_of_way(after).percent)


def _causes(name: str, *, before: Point | None, after: Point) -> Iterator[Fall]:
    """More left explains a fall before anything else does; what was done and went away only where nothing is."""
    was, left = (before.count or 0, after.count or 0) if before else (0, after.count or 0)
    weighed = bool(before and before.total)
    if after.total and not weighed and left:
        yield Fall(measure=name, cause="first_counted", number=left)
    elif weighed and left > was:
        yield Fall(measure=name, cause="more_left", number=left - was)
    elif weighed and not after.total:
        yield Fall(measure=name, cause="none_counted", number=0)
    elif before and _lower(before, after):
        yield Fall(measure=name, cause="done_gone", number=(before.done or 0) - (after.done or 0))
    if after.unseen > (before.unseen if before else 0):
        yield Fall(measure=name, cause="not_read", number=after.unseen - (before.unseen if before else 0))


def _lower(before: Point, after: Point) -> bool:
    """Whether the share is lower because what was done is not there any more."""
    if not before.total or not after.total or before.done is None or after.done is None:
        return False
    return after.done < before.done and after.done * before.total < before.done * after.total

"""When budgets with a schedule are active: cron schedules in UTC, each hit of which lasts for a duration.

Rules: kubernetes-sigs/karpenter@v1.14.1:pkg/apis/v1/nodepool.go (Budget.IsActive): a budget is active for its duration
after each hit of its schedule. Schedules are those of robfig/cron@v3.0.1:parser.go (ParseStandard).
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import date, timedelta
from functools import lru_cache, reduce
from itertools import pairwise
from operator import or_
from typing import Final

DESCRIPTORS: Final = {
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
    "@monthly": "0 0 1 * *",
    "@weekly": "0 0 * * 0",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@hourly": "0 * * * *",
}
_MONTHS: Final = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_WEEKDAYS: Final = ("sun", "mon", "tue", "wed", "thu", "fri", "sat")
_LIMITS: Final = ((0, 59), (0, 23), (1, 31), (1, 12), (0, 6))
"""The lowest and highest value of minute, hour, day of month, month and day of week."""
_DURATION: Final = re.compile(r"(?:(\d{1,6})h)?(?:(\d{1,8})m)?(?:0s)?", re.ASCII)
_DAY: Final = 24 * 60
_FIRST: Final = date(2024, 1, 1)
_DAYS: Final = 8 * 365 + 2
"""Two leap years, so that each day of a month and of a week is among them."""
_SETTLED: Final = 366
"""From that day on everything counts that began before, as no longer duration is looked at."""
_WHOLE_DAY: Final = (1 << _DAY) - 1
"""A bit for each minute of a day."""
MAX_SCHEDULE_LENGTH: Final = 100
"""The longest schedule that is read, in characters."""

Interval = tuple[int, int]


@dataclass(frozen=True, slots=True)
class _Cron:
    minutes: frozenset[int]
    hours: frozenset[int]
    days: frozenset[int]
    months: frozenset[int]
    weekdays: frozenset[int]
    either_day: bool
    """Whether a day is a hit by its day of the month or of the week: neither of them is a star."""

    def hits_on(self, day: date) -> bool:
        by_month, by_week = day.day in self.days, day.isoweekday() % 7 in self.weekdays
        day_fits = (by_month or by_week) if self.either_day else (by_month and by_week)
        return day.month in self.months and day_fits


def duration_minutes(text: object) -> int | None:
    """The minutes of a duration such as 1h30m; None if it is none that the API accepts."""
    match = _DURATION.fullmatch(text) if isinstance(text, str) and text else None
    if match is None or (match[1] is None and match[2] is None):
        return None
    return int(match[1] or 0) * 60 + int(match[2] or 0)


def is_readable(schedule: object) -> bool:
    """Whether that is a schedule that Karpenter can read."""
    return isinstance(schedule, str) and len(schedule) <= MAX_SCHEDULE_LENGTH and _cron(schedule) is not None


def window_of(budget: Mapping[str, object]) -> tuple[str, int] | None:
    """The schedule of a budget and its duration in minutes; None if it has none, or none that can be read."""
    schedule, minutes = budget.get("schedule"), duration_minutes(budget.get("duration"))
    return (schedule, minutes) if isinstance(schedule, str) and schedule and minutes is not None else None


def always_active(windows: Iterable[tuple[str, int]]) -> bool:
    """Whether at every moment one of these schedules, each with its duration in minutes, is active."""
    active = [days for schedule, minutes in windows if (days := _active_minutes(schedule, minutes))]
    return bool(active) and all(reduce(or_, at_once) == _WHOLE_DAY for at_once in zip(*active, strict=True))


@lru_cache(maxsize=64)
def _active_minutes(schedule: str, minutes: int) -> tuple[int, ...]:
    """For each day from `_SETTLED` on, the minutes at which the schedule is active, as bits of a number; none if it
    cannot be read."""
    cron = _cron(schedule)
    if cron is None:
        return ()
    times = list(_first_and_last(sorted(hour * 60 + minute for hour in cron.hours for minute in cron.minutes), minutes))
    of_hit = reduce(or_, (_span(start, min(end, _DAY)) for start, end in times))
    days: list[int] = []
    until = 0  # what goes on after midnight is one interval: each that does contains midnight
    for day in range(_DAYS):
        active = _span(0, max(0, min(until - day * _DAY, _DAY)))
        if cron.hits_on(_FIRST + timedelta(days=day)):
            active |= of_hit
            until = max(until, day * _DAY + times[-1][1])
        days.append(active)
    return tuple(days[_SETTLED:])


def _span(start: int, end: int) -> int:
    """The minutes from `start` on and before `end`, as bits."""
    return (1 << end) - (1 << start)


def _first_and_last(hits: list[int], minutes: int) -> Iterator[Interval]:
    """The times of one day, those that touch as one."""
    begin = hits[0]
    for before, hit in pairwise([*hits, hits[-1] + minutes + 1]):
        if hit > before + minutes:
            yield begin, before + minutes
            begin = hit


@lru_cache(maxsize=64)
def _cron(schedule: str) -> _Cron | None:
    """The schedule; None if it is none."""
    words = DESCRIPTORS.get(schedule, schedule).lower().split()
    if len(words) != len(_LIMITS):
        return None
    fields = [_values(word, limits=limits) for word, limits in zip(words, _LIMITS, strict=True)]
    if not all(fields):
        return None
    minutes, hours, days, months, weekdays = (frozenset(values) for values in fields)
    return _Cron(minutes, hours, days, months, weekdays, either_day=not (_is_star(words[2]) or _is_star(words[4])))


def _is_star(word: str) -> bool:
    return any(part.removesuffix("/1") in ("*", "?") for part in word.split(","))


def _values(word: str, *, limits: Interval) -> set[int]:
    """The values that one field stands for; empty if it is none."""
    values: set[int] = set()
    for part in word.split(","):
        part_values = _part_values(part, limits=limits)
        if not part_values:
            return set()
        values |= part_values
    return values


def _part_values(part: str, *, limits: Interval) -> set[int]:
    span, slash, step_text = part.partition("/")
    step = _number(step_text, limits=(1, 99)) if slash else 1
    if span in ("*", "?"):
        first, last = limits[0], limits[1]
    else:
        low, dash, high = span.partition("-")
        begin, end = _number(low, limits=limits), _number(high if dash else low, limits=limits)
        if begin is None or end is None or begin > end:
            return set()
        first, last = begin, limits[1] if slash and not dash else end
    return set() if step is None else set(range(first, last + 1, step))


def _number(text: str, *, limits: Interval) -> int | None:
    """A number, or the name of a month or weekday, within these limits; None otherwise."""
    names = {(1, 12): _MONTHS, (0, 6): _WEEKDAYS}.get(limits, ())
    if text in names:
        return names.index(text) + limits[0]
    number = int(text) if text.isascii() and text.isdigit() and len(text) <= 2 else None
    return number if number is not None and limits[0] <= number <= limits[1] else None

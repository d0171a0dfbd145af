"""Change windows of policies and campaigns: weekly times in UTC at which changes may begin."""

from collections.abc import Iterable, Iterator
from datetime import UTC, datetime, time, timedelta

MAX_DAYS = 366
"""The most days that `spans` covers."""


def is_open(window: object, now: datetime) -> bool:
    """Whether the window is open at `now` (UTC). It spans midnight if it ends before it begins; malformed: False."""
    parsed = _parsed(window)
    if parsed is None:
        return False
    begins, ends, days = parsed
    clock, today = now.time(), now.weekday()
    if begins <= ends:
        return today in days and begins <= clock < ends
    return (today in days and clock >= begins) or ((today - 1) % 7 in days and clock < ends)


def any_open(windows: Iterable[object], now: datetime) -> bool:
    """Whether one of the windows is open at `now`; True without any window."""
    all_windows = tuple(windows)
    return not all_windows or any(is_open(window, now) for window in all_windows)


def spans(window: object, *, since: datetime, days: int) -> Iterator[tuple[datetime, datetime]]:
    """Start and end of each opening, for `days` days from the day of `since` on; nothing for a malformed window."""
    parsed = _parsed(window)
    if parsed is None:
        return
    begins, ends, weekdays = parsed
    first = datetime.combine(since.date(), time(), tzinfo=UTC)
    for number in range(min(days, MAX_DAYS)):
        day = first + timedelta(days=number)
        if day.weekday() in weekdays:
            until = day if begins <= ends else day + timedelta(days=1)
            yield datetime.combine(day, begins, tzinfo=UTC), datetime.combine(until, ends, tzinfo=UTC)


def _parsed(window: object) -> tuple[time, time, frozenset[int]] | None:
    if not isinstance(window, dict):
        return None
    try:
        begins, ends = time.fromisoformat(str(window["from"])), time.fromisoformat(str(window["to"]))
    except (KeyError, ValueError):
        return None
    days = window.get("days", range(7))
    return begins, ends, frozenset(day for day in days if isinstance(day, int))

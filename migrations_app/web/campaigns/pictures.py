"""Draws SVG pictures of campaigns: the burn-up with its projected end, and the calendar of change windows."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, time, timedelta
from typing import Any

from migrations_app.actions.windows import spans
from migrations_app.campaigns.burn_up import BurnUp

WIDTH, HEIGHT, TOP = 1000, 300, 6
TICKS = 5
AHEAD = 0.25
"""The share of the width that is reserved for the future if no end is projected."""
CALENDAR_DAYS = 14


@dataclass(frozen=True, slots=True, kw_only=True)
class BurnUpChart:
    """SVG paths in the units of the drawing, and the labels of both axes with their position in percent."""

    done: str
    ahead: str
    now: float
    times: tuple[tuple[float, str], ...]
    counts: tuple[tuple[float, str], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class WindowDay:
    """One day of the calendar: when the window is open, as texts; `whole` if it is open all day."""

    day: datetime
    open: tuple[str, ...]
    all_day: bool = False


def burn_up_chart(burn_up: BurnUp, *, now: datetime) -> BurnUpChart | None:
    """Returns the drawing; None before the campaign started."""
    if not burn_up.points or not burn_up.total:
        return None
    began = burn_up.points[0].at
    last = burn_up.ends or now
    length = max((last - began).total_seconds(), 60.0) * (1 if burn_up.ends else 1 + AHEAD)

    def x(at: datetime) -> float:
        return min(WIDTH, (at - began).total_seconds() / length * WIDTH)

    def y(done: int) -> float:
        return HEIGHT - done / burn_up.total * (HEIGHT - TOP)

    path = [f"M0 {y(0):.1f}"]
    before = 0
    for point in burn_up.points[1:]:
        path.append(f"L{x(point.at):.1f} {y(before):.1f}L{x(point.at):.1f} {y(point.done):.1f}")
        before = point.done
    path.append(f"L{x(now):.1f} {y(before):.1f}")
    ahead = f"M{x(now):.1f} {y(before):.1f}L{x(burn_up.ends):.1f} {y(burn_up.total):.1f}" if burn_up.ends else ""
    steps = range(TICKS)
    return BurnUpChart(
        done=" ".join(path),
        ahead=ahead,
        now=x(now),
        times=tuple(
            (100 * number / TICKS, f"{began + timedelta(seconds=length * number / TICKS):%d %b %H:%M}")
            for number in steps
        ),
        counts=tuple(
            (100 * y(count) / HEIGHT, str(count))
            for count in sorted({0, burn_up.total // 2, burn_up.total}, reverse=True)
        ),
    )


def window_days(windows: Sequence[Mapping[str, Any]], *, now: datetime) -> tuple[WindowDay, ...]:
    """Returns the next days with the times at which a step may begin; without change windows every day is open."""
    first = datetime.combine(now.date(), time(), tzinfo=UTC)
    days = [first + timedelta(days=number) for number in range(CALENDAR_DAYS)]
    if not windows:
        return tuple(WindowDay(day=day, open=(), all_day=True) for day in days)
    openings = [
        span
        for window in windows
        for span in spans(dict(window), since=now - timedelta(days=1), days=CALENDAR_DAYS + 1)
    ]
    return tuple(WindowDay(day=day, open=tuple(_of_day(day, sorted(openings)))) for day in days)


def _of_day(day: datetime, openings: Iterable[tuple[datetime, datetime]]) -> Iterable[str]:
    until = day + timedelta(days=1)
    for begins, ends in openings:
        if begins < until and ends > day:
            closes = "24:00" if ends >= until else f"{ends:%H:%M}"
            yield f"{max(begins, day):%H:%M}-{closes}"

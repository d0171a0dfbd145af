"""How a campaign comes along: clusters done over time, and when it would end at the pace so far."""

from collections.abc import Sequence
from datetime import datetime, timedelta

import msgspec

FEWEST = 2
"""Clusters that have to be done before an end is projected."""
SHORTEST = timedelta(minutes=10)
"""The first and the last of them have to be so far apart, at least."""
FARTHEST = timedelta(days=366)


class BurnUpPoint(msgspec.Struct, frozen=True):
    """So many clusters were done at that moment."""

    at: datetime
    done: int


class BurnUp(msgspec.Struct, frozen=True, kw_only=True):
    """`points` begin with the start; `ends` is the projected end, None where too little is known or all is done."""

    total: int
    points: tuple[BurnUpPoint, ...]
    ends: datetime | None = None

    @property
    def done(self) -> int:
        """Clusters that are done."""
        return self.points[-1].done if self.points else 0


def burn_up(*, began: datetime | None, ended: Sequence[datetime], total: int, now: datetime) -> BurnUp:
    """The curve and the projected end, drawn from the whole time since the start: waits at gates count as well."""
    if began is None:
        return BurnUp(total=total, points=())
    times = sorted(ended)
    points = (BurnUpPoint(began, 0), *(BurnUpPoint(at, number) for number, at in enumerate(times, 1)))
    return BurnUp(total=total, points=points, ends=_projected(began, times, total=total, now=now))


def _projected(began: datetime, times: Sequence[datetime], *, total: int, now: datetime) -> datetime | None:
    left = total - len(times)
    if left <= 0 or len(times) < FEWEST or now - began < SHORTEST:
        return None
    pace = (now - began) / len(times)
    ahead = pace * left
    return now + ahead if ahead <= FARTHEST else None

"""Computes the progress of a campaign: clusters done over time, and the projected end at the pace so far."""

from collections.abc import Sequence
from datetime import datetime, timedelta

import msgspec

FEWEST_DONE = 2
"""Least number of done clusters for a projection."""
SHORTEST_TIME = timedelta(minutes=10)
"""Least time since the start for a projection."""
LONGEST_PROJECTION = timedelta(days=366)


class BurnUpPoint(msgspec.Struct, frozen=True):
    """The number of clusters done at a time."""

    at: datetime
    done: int


class BurnUp(msgspec.Struct, frozen=True, kw_only=True):
    """`points` begin at the start; `ends` is the projected end, None if too little is known or all clusters are
    done."""

    total: int
    points: tuple[BurnUpPoint, ...]
    ends: datetime | None = None

    @property
    def done(self) -> int:
        """Clusters that are done."""
        return self.points[-1].done if self.points else 0


def burn_up(*, began: datetime | None, ended: Sequence[datetime], total: int, now: datetime) -> BurnUp:
    """Returns the curve and the projected end, by the whole time since the start, including waits at gates."""
    if began is None:
        return BurnUp(total=total, points=())
    times = sorted(ended)
    points = (BurnUpPoint(began, 0), *(BurnUpPoint(at, number) for number, at in enumerate(times, 1)))
    return BurnUp(total=total, points=points, ends=_projected(began, times, total=total, now=now))


def _projected(began: datetime, times: Sequence[datetime], *, total: int, now: datetime) -> datetime | None:
    left = total - len(times)
    if left <= 0 or len(times) < FEWEST_DONE or now - began < SHORTEST_TIME:
        return None
    pace = (now - began) / len(times)
    ahead = pace * left
    return now + ahead if ahead <= LONGEST_PROJECTION else None

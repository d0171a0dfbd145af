"""Every hop that a path may name, in order, and spans of them: what a check says when it asks "from 1.1 on"."""

from migrations_app.karpenter.release_shape import MinorRelease
from migrations_app.karpenter.releases import RELEASES, Table
from migrations_app.karpenter.stops import STOPS

ALPHA_LEFT = "0.33+"
"""The hop that lands where alpha objects are no longer acted on."""
CONVERTED = "1.0"
BETA_LEFT = "1.1+"
NAMED = ("0.32", ALPHA_LEFT, CONVERTED, BETA_LEFT)
"""The hops that the guides describe step by step, with the patches that one can go back to."""


def every_hop(*, table: Table = RELEASES) -> tuple[str, ...]:
    """The named hops and the minors that are hops by their number, oldest first."""
    return tuple(dict.fromkeys(_hop(row) for row in table))


def hops_from(first: str, *, table: Table = RELEASES) -> tuple[str, ...]:
    """That hop and every later one. Raises ValueError for a hop that is none."""
    hops = every_hop(table=table)
    return hops[hops.index(first) :]


def hops_between(first: str, last: str, *, table: Table = RELEASES) -> tuple[str, ...]:
    """The hops from `first` to `last`, both included. Raises ValueError for a hop that is none."""
    hops = every_hop(table=table)
    return hops[hops.index(first) : hops.index(last) + 1]


def _hop(row: MinorRelease) -> str:
    """An open stop names its first minor only: from there on minors are hops by their number."""
    named = (stop.hop for stop in STOPS if row.minor == stop.first or (stop.last and stop.spans(row.newest)))
    return next(named, row.minor)

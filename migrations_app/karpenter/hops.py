"""The hops of an upgrade: where a path has to stop, the name of the hop to a release, and spans of hops such as "from
1.1 on".

Source: aws/karpenter-provider-aws@v1.14.1:website/content/en, its upgrade guide and its guides for each API
generation.
"""

from typing import Literal, NamedTuple

from migrations_app.karpenter.releases import RELEASES, Table
from migrations_app.karpenter.table_types import MinorRelease
from migrations_app.karpenter.versions import Release, minor_order

Strength = Literal["recommended", "mandatory"]


class HopStop(NamedTuple):
    """A hop whose minors, from first to last, must not be skipped. An empty last minor means that the span is open.

    `prefer` says which of its minors to choose if several fit the cluster.
    """

    hop: str
    first: str
    last: str
    prefer: Literal["oldest", "newest"]
    strength: Strength
    why: str
    leaving: str
    source: str

    def spans(self, running: Release) -> bool:
        """Whether that release is one of its minors."""
        place = minor_order(running.minor)
        return minor_order(self.first) <= place and (not self.last or place <= minor_order(self.last))

    def ahead_of(self, running: Release) -> bool:
        """Whether that release is older than all of its minors."""
        return minor_order(running.minor) < minor_order(self.first)


STOPS: tuple[HopStop, ...] = (
    HopStop(
        hop="0.31",
        first="0.31",
        last="0.31",
        prefer="newest",
        strength="recommended",
        why="Upgrade to 0.32 only from 0.31.4 or later: once beta objects exist, nothing older can be rolled back to",
        leaving="Only 0.31.4 and later can take over again once beta objects exist",
        source="website/content/en/v1.0/upgrading/v1beta1-migration.md; aws/karpenter-provider-aws#5621",
    ),
    HopStop(
        hop="0.32",
        first="0.32",
        last="0.32",
        prefer="newest",
        strength="mandatory",
        why="0.32 alone acts on alpha and beta objects; every node has to pass from a Machine to a NodeClaim here",
        leaving="",
        source="website/content/en/preview/upgrading/upgrade-guide.md",
    ),
    HopStop(
        hop="0.33+",
        first="0.33",
        last="0.37",
        prefer="newest",
        strength="mandatory",
        why="Upgrade to 1.0 only from 0.33 to 0.37, and from the latest patch: only that can be rolled back to",
        leaving="Upgrade to the latest patch of the running minor before 1.0: older patches may have no rollback",
        source="website/content/en/v1.0/upgrading/v1-migration.md",
    ),
    HopStop(
        hop="1.0",
        first="1.0",
        last="1.0",
        prefer="newest",
        strength="mandatory",
        why="1.0 alone serves v1beta1 and v1 together and rewrites what is stored as v1",
        leaving="1.0.6 and later rewrite what is stored, and only 1.0.9 and later can take over again from 1.1",
        source="website/content/en/v1.0/upgrading/v1-migration.md, .../preview/upgrading/upgrade-guide.md",
    ),
    HopStop(
        hop="1.1+",
        first="1.1",
        last="",
        prefer="oldest",
        strength="recommended",
        why="1.1 removes v1beta1. Upgrade to it on its own, so that a failure has one cause",
        leaving="",
        source="website/content/en/preview/upgrading/upgrade-guide.md",
    ),
)
HOPS: tuple[str, ...] = ("0.32", "0.33+", "1.0", "1.1+")
"""The named hops. Every other hop has the number of its target minor."""


def named(hop: str) -> HopStop | None:
    """The stop of that hop; None for a hop that is only a minor."""
    return next((stop for stop in STOPS if stop.hop == hop), None)


def hop_of(release: Release, *, start: Release) -> str:
    """The name of the hop from `start` to `release`: "0.32", "0.33+", "1.0", "1.1+", or a minor."""
    for stop in STOPS:
        closed = bool(stop.last)
        if stop.spans(release) and (closed or stop.ahead_of(start) or release.minor == stop.first):
            return stop.hop
    return release.minor


ALPHA_LEFT = "0.33+"
"""The hop to the first releases that no longer act on alpha objects."""
CONVERTED = "1.0"
BETA_LEFT = "1.1+"
NAMED = ("0.32", ALPHA_LEFT, CONVERTED, BETA_LEFT)
"""The hops that the guides describe step by step, with the patches one can roll back to."""


def every_hop(*, table: Table = RELEASES) -> tuple[str, ...]:
    """The named hops and the minors that are hops themselves, oldest first."""
    return tuple(dict.fromkeys(_hop(row) for row in table))


def hops_from(first: str, *, table: Table = RELEASES) -> tuple[str, ...]:
    """That hop and every later one. Raises ValueError for an unknown hop."""
    hops = every_hop(table=table)
    return hops[hops.index(first) :]


def hops_between(first: str, last: str, *, table: Table = RELEASES) -> tuple[str, ...]:
    """The hops from `first` to `last`, both included. Raises ValueError for an unknown hop."""
    hops = every_hop(table=table)
    return hops[hops.index(first) : hops.index(last) + 1]


def _hop(row: MinorRelease) -> str:
    """The hop of a row. An open stop applies to its first minor only: later minors are hops themselves."""
    named = (stop.hop for stop in STOPS if row.minor == stop.first or (stop.last and stop.spans(row.newest)))
    return next(named, row.minor)

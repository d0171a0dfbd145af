"""Everything the catalogue says of a check: what it declares, and what is worked out from its code and the coverage."""

from typing import NamedTuple

from migrations_app.checks.base import Check
from migrations_app.checks.tools import tools
from migrations_app.checks.values import EVERY, How
from migrations_app.karpenter import coverage


class Covered(NamedTuple):
    """A change or a known pain that the check answers; `release` is empty for a pain."""

    id: str
    subject: str
    release: str


class About(NamedTuple):
    """`introduced_by` is the oldest Karpenter minor whose change the check answers; empty where it answers none."""

    check: Check
    remedies: tuple[How, ...]
    covers: tuple[Covered, ...]
    introduced_by: str

    @property
    def hops(self) -> str:
        return spoken_hops(self.check.hops)


def about(check: Check) -> About:
    """What the catalogue says of that check."""
    covers = tuple(Covered(one.id, one.subject, one.release) for one in coverage.covers(check.id))
    return About(check, tools(check), covers, coverage.introduced_by(check.id))


def spoken_hops(hops: tuple[str, ...]) -> str:
    """The hops of a check in words: every hop, a list of few, or a long run by its ends."""
    if hops == EVERY:
        return "every hop"
    return ", ".join(hops) if len(hops) < 6 else f"{hops[0]} to {hops[-1]}"

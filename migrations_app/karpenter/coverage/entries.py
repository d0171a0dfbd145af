"""Every change of a release and every known problem, with the check that covers it or the reason why none does."""

from collections import Counter
from collections.abc import Iterable
from functools import cache
from typing import NamedTuple

from migrations_app.karpenter.coverage.changes_alpha import ALPHA_CHANGES
from migrations_app.karpenter.coverage.changes_beta import BETA_CHANGES
from migrations_app.karpenter.coverage.changes_to_beta import TO_BETA_CHANGES
from migrations_app.karpenter.coverage.changes_to_v1 import TO_V1_CHANGES
from migrations_app.karpenter.coverage.changes_v1 import V1_CHANGES
from migrations_app.karpenter.coverage.entry import EXTENTS, Coverage, Extent
from migrations_app.karpenter.coverage.problems_platform import PLATFORM_PROBLEMS
from migrations_app.karpenter.coverage.problems_work import WORK_PROBLEMS
from migrations_app.karpenter.coverage.proofs import PROVEN
from migrations_app.karpenter.versions import minor_order

CHANGES: tuple[Coverage, ...] = (*ALPHA_CHANGES, *TO_BETA_CHANGES, *BETA_CHANGES, *TO_V1_CHANGES, *V1_CHANGES)
KNOWN_PROBLEMS: tuple[Coverage, ...] = (*PLATFORM_PROBLEMS, *WORK_PROBLEMS)


@cache
def covers(check: str) -> tuple[Coverage, ...]:
    """The entries that a check covers, changes before problems; empty if it is based on no recorded entry."""
    return tuple(entry for entry in (*CHANGES, *KNOWN_PROBLEMS) if check in entry.checks)


def introduced_by(check: str) -> str:
    """The oldest minor among the changes that a check covers; empty if it covers none."""
    releases = {entry.release for entry in covers(check) if entry.release}
    return min(releases, key=minor_order, default="")


class ExtentCount(NamedTuple):
    """The number of entries with one extent of coverage, and how many of them are proven: a test plants the change or
    problem into a clean cluster and runs the check that covers it."""

    extent: Extent
    entries: int
    proven: int

    @property
    def word(self) -> str:
        return EXTENTS[self.extent]


def counted(entries: Iterable[Coverage]) -> tuple[ExtentCount, ...]:
    """One count for each extent, from fully judged to not covered."""
    all_entries = tuple(entries)
    total = Counter(entry.extent for entry in all_entries)
    proven = Counter(entry.extent for entry in all_entries if entry.id in PROVEN)
    return tuple(ExtentCount(extent, total[extent], proven[extent]) for extent in EXTENTS)

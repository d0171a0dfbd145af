"""Important fixes that were released in several minors: the first patch of each minor that has them."""

from collections.abc import Iterator
from typing import NamedTuple

from migrations_app.karpenter.versions import Release, minor_order, release


class FixRow(NamedTuple):
    """`since` names the first patch with the fix in each minor that received it; newer minors have it, older ones do
    not.
    """

    fault: str
    since: tuple[str, ...]
    source: str

    def fixed_in(self, running: Release) -> Release | None:
        """The nearest patch with the fix; None if that release has it."""
        patches = sorted(release(patch) for patch in self.since)
        own_patch = next((patch for patch in patches if patch.minor == running.minor), None)
        if own_patch is not None:
            return own_patch if running < own_patch else None
        return patches[0] if minor_order(running.minor) < minor_order(patches[0].minor) else None


FIX_ROWS: tuple[FixRow, ...] = (
    FixRow(
        "lookups of subnets, security groups and images may give one selector the result of another",
        ("0.37.8", "1.0.12", "1.1.8", "1.2.6", "1.3.6", "1.4.2", "1.5.6", "1.6.5", "1.7.3", "1.8.2"),
        "aws/karpenter-provider-aws#8665",
    ),
)


def missing_fixes(running: Release, *, table: tuple[FixRow, ...] = FIX_ROWS) -> Iterator[tuple[FixRow, Release]]:
    """The fixes that the release lacks, each with the nearest patch that has it."""
    for row in table:
        patch = row.fixed_in(running)
        if patch is not None:
            yield row, patch

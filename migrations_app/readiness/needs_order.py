"""Orders findings by what their changes need: the checks that have to pass first."""

from collections.abc import Sequence

from msgspec import UNSET

from migrations_app.checks.base import Finding


def ordered_by_needs(findings: Sequence[Finding]) -> list[Finding]:
    """Returns the findings in the given order, but each after those that its changes need first. Findings that need
    each other keep the given order."""
    remaining, ordered = list(findings), list[Finding]()
    needs = {finding.id: needs_of(finding) for finding in findings}
    while remaining:
        remaining_ids = {finding.id for finding in remaining}
        following = next(
            (finding for finding in remaining if not needs[finding.id] & (remaining_ids - {finding.id})), remaining[0]
        )
        remaining.remove(following)
        ordered.append(following)
    return ordered


def needs_of(finding: Finding) -> set[str]:
    """The ids of the checks that have to pass before the changes of the finding are made."""
    changes = [remedy.change for remedy in finding.remedies if remedy.change is not UNSET]
    return {check for change in changes for check in change.needs}

"""Open findings that wait for the same thing, put together: one refused list is one row, not twenty."""

from collections.abc import Iterable
from typing import NamedTuple

from migrations_app.checks.values import Finding, Remedy, Severity, Status
from migrations_app.readiness.causes import Cause, cause_of, how_to_see

_SEVERITIES: tuple[Severity, ...] = ("blocker", "warning", "info")
_SHARED: tuple[Status, ...] = ("unknown", "manual")
"""A failure has evidence of its own and stands alone."""


class Group(NamedTuple):
    """Findings of one status and one cause, the most severe first; `remedies` help all of them."""

    cause: Cause
    findings: tuple[Finding, ...]
    remedies: tuple[Remedy, ...]

    @property
    def first(self) -> Finding:
        return self.findings[0]

    @property
    def alone(self) -> bool:
        return len(self.findings) == 1

    @property
    def status(self) -> Status:
        return self.first.status

    @property
    def severity(self) -> Severity:
        return self.first.severity

    @property
    def summary(self) -> str:
        """What to say of all of them: the cause, or what the only one says."""
        return self.first.summary if self.alone else self.cause.text


def grouped(findings: Iterable[Finding], *, cluster: str) -> tuple[Group, ...]:
    """The groups, each where its most severe finding stands among `findings`."""
    held: dict[object, list[Finding]] = {}
    for finding in sorted(findings, key=_rank):
        alike = finding.status in _SHARED
        held.setdefault((finding.status, cause_of(finding)) if alike else finding.id, []).append(finding)
    return tuple(_group(tuple(alike), cluster=cluster) for alike in held.values())


def _rank(finding: Finding) -> int:
    return _SEVERITIES.index(finding.severity)


def _group(alike: tuple[Finding, ...], *, cluster: str) -> Group:
    first = alike[0]
    cause = cause_of(first)
    own = first.remedies if first.remedies or first.status != "unknown" else how_to_see(cause, cluster=cluster)
    return Group(cause, alike, own)

"""Applies waivers to a report: accepted failures stay visible and stop counting as open.

Only a failed check can be waived, and those manual checks that a person confirms (`CONFIRMABLE`), for the hop that the
person named. An unknown check can never be waived.
"""

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime

import msgspec

from migrations_app.checks.base import CONFIRMABLE, Check, Finding, Severity, Status
from migrations_app.checks.registry import ids_of
from migrations_app.readiness.report import HopLine, Report
from migrations_app.readiness.verdict import hop_line, hop_lines


class WaiverRule(msgspec.Struct, frozen=True, kw_only=True):
    """One valid waiver. `blockers`: its author may accept blockers; `own`: it is for this cluster alone, not for a
    group or all clusters; `hop`: the only hop that it is for, empty for every hop."""

    check: str
    owner: str
    reason: str
    ends_at: datetime
    blockers: bool = False
    own: bool = True
    hop: str = ""

    def covers(self, *, check: str, status: Status, severity: Severity, hop: str) -> bool:
        """Whether a finding of that check is accepted, whichever of the check's ids waiver and finding hold."""
        is_confirmed = status == "manual" and check in CONFIRMABLE and self.hop == hop
        fits = is_confirmed or (status == "fail" and self.hop in ("", hop))
        return fits and check in ids_of(self.check) and (self.blockers or severity != "blocker")

    def words(self, summary: str) -> str:
        """Returns the summary with who accepted the failure, until when and why."""
        until = self.ends_at.astimezone(UTC).date().isoformat()
        return f"{summary} (accepted by {self.owner} until {until}: {self.reason})"


def apply(report: Report, waivers: Sequence[WaiverRule], *, now: datetime) -> Report:
    """Returns the report in which every finding covered at `now` is waived, with new verdicts and counts of its
    hops."""
    valid_waivers = [waiver for waiver in waivers if waiver.ends_at > now]
    checks = tuple(_waived(finding, valid_waivers) for finding in report.checks)
    changed_hops = {after.hop for before, after in zip(report.checks, checks, strict=True) if after is not before}
    if not changed_hops:
        return report
    lines_ahead = {line.hop: line for line in hop_lines([hop.name for hop in report.target.path], checks)}
    hops = tuple(
        lines_ahead.get(line.hop) or _judged(line, checks) if line.hop in changed_hops else line for line in report.hops
    )
    return msgspec.structs.replace(report, checks=checks, hops=hops)


def covering(
    waivers: Iterable[WaiverRule], *, check: str, status: Status, severity: Severity, hop: str
) -> WaiverRule | None:
    """Returns the waiver that counts for a finding: the cluster's own first, then the one that lasts longest; None
    if there is none."""
    fitting = (waiver for waiver in waivers if waiver.covers(check=check, status=status, severity=severity, hop=hop))
    return max(fitting, key=lambda waived: (waived.own, waived.ends_at, waived.owner), default=None)


def as_stored(held: Iterable[WaiverRule]) -> list[dict[str, object]]:
    """Returns the waivers as a snapshot stores them."""
    rows: list[dict[str, object]] = msgspec.to_builtins(sorted(held, key=_order))
    return rows


def _order(waived: WaiverRule) -> tuple[str, str, bool, datetime, str, str, bool]:
    """Sorts waivers in a fixed order, however they were read."""
    return waived.check, waived.hop, waived.own, waived.ends_at, waived.owner, waived.reason, waived.blockers


def from_stored(rows: Iterable[object] | None) -> tuple[WaiverRule, ...]:
    """Returns the waivers that `as_stored` wrote."""
    return msgspec.convert(tuple(rows or ()), type=tuple[WaiverRule, ...])


def can_block(check: Check) -> bool:
    """Whether the check is a blocker at any hop."""
    return "blocker" in (check.severity, *check.severity_at.values())


def _waived(finding: Finding, waivers: Sequence[WaiverRule]) -> Finding:
    waived = covering(waivers, check=finding.id, status=finding.status, severity=finding.severity, hop=finding.hop)
    if waived is None:
        return finding
    return msgspec.structs.replace(finding, status="waived", summary=waived.words(finding.summary))


def _judged(line: HopLine, checks: Iterable[Finding]) -> HopLine:
    """Returns the line with its new counts; a hop that is done or in progress stays so."""
    hop_verdict = hop_line(line.hop, (finding for finding in checks if finding.hop == line.hop))
    return (
        msgspec.structs.replace(line, counts=hop_verdict.counts)
        if line.verdict in ("done", "in_progress")
        else hop_verdict
    )

"""Failing checks that somebody took on, for a while and with a reason: they stay visible, and stop counting as open.

Only what certainly fails can be waived, and of manual checks those that wait for just that: the recorded word of a
person (`CONFIRMABLE`), for the one hop that the person looked at. Nobody can take on what is not known.
"""

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime

import msgspec

from migrations_app.checks.base import CONFIRMABLE, Check, Finding, Severity, Status
from migrations_app.readiness.report import HopLine, Report
from migrations_app.readiness.verdict import hop_line, hop_lines


class Waived(msgspec.Struct, frozen=True, kw_only=True):
    """One waiver that holds. `blockers`: it was given by somebody who may accept what blocks; `own`: for this cluster
    alone, not for a group or for all of them; `hop`: the only hop that it is about, empty for every hop."""

    check: str
    owner: str
    reason: str
    ends_at: datetime
    blockers: bool = False
    own: bool = True
    hop: str = ""

    def covers(self, *, check: str, status: Status, severity: Severity, hop: str) -> bool:
        answered = status == "manual" and check in CONFIRMABLE and self.hop == hop
        fits = answered or (status == "fail" and self.hop in ("", hop))
        return fits and check == self.check and (self.blockers or severity != "blocker")

    def words(self, summary: str) -> str:
        """What failed, with who took it on, until when and why."""
        until = self.ends_at.astimezone(UTC).date().isoformat()
        return f"{summary} (accepted by {self.owner} until {until}: {self.reason})"


def apply(report: Report, waivers: Sequence[Waived], *, now: datetime) -> Report:
    """The report with every finding that a waiver covers at `now` as waived, and its hops judged and counted again."""
    held = [waiver for waiver in waivers if waiver.ends_at > now]
    checks = tuple(_waived(finding, held) for finding in report.checks)
    moved = {new.hop for old, new in zip(report.checks, checks, strict=True) if new is not old}
    if not moved:
        return report
    ahead = {line.hop: line for line in hop_lines([step.hop for step in report.target.path], checks)}
    hops = tuple(ahead.get(line.hop) or _judged(line, checks) if line.hop in moved else line for line in report.hops)
    return msgspec.structs.replace(report, checks=checks, hops=hops)


def covering(waivers: Iterable[Waived], *, check: str, status: Status, severity: Severity, hop: str) -> Waived | None:
    """The waiver that counts for such a finding: the cluster's own before that of all, then the one that lasts longest;
    None when there is none."""
    fit = (waiver for waiver in waivers if waiver.covers(check=check, status=status, severity=severity, hop=hop))
    return max(fit, key=lambda waived: (waived.own, waived.ends_at, waived.owner), default=None)


def as_stored(held: Iterable[Waived]) -> list[dict[str, object]]:
    """What a snapshot remembers of the waivers that it was counted with."""
    rows: list[dict[str, object]] = msgspec.to_builtins(sorted(held, key=_order))
    return rows


def _order(waived: Waived) -> tuple[str, str, bool, datetime, str, str, bool]:
    """One order of any waivers, however they were found."""
    return waived.check, waived.hop, waived.own, waived.ends_at, waived.owner, waived.reason, waived.blockers


def from_stored(rows: Iterable[object] | None) -> tuple[Waived, ...]:
    """The same, read back."""
    return msgspec.convert(tuple(rows or ()), type=tuple[Waived, ...])


def can_block(check: Check) -> bool:
    """Whether the check is a blocker at any hop."""
    return "blocker" in (check.severity, *check.severity_at.values())


def _waived(finding: Finding, waivers: Sequence[Waived]) -> Finding:
    waived = covering(waivers, check=finding.id, status=finding.status, severity=finding.severity, hop=finding.hop)
    if waived is None:
        return finding
    return msgspec.structs.replace(finding, status="waived", summary=waived.words(finding.summary))


def _judged(line: HopLine, checks: Iterable[Finding]) -> HopLine:
    """A hop that has been landed on stays done, or in progress."""
    hop_verdict = hop_line(line.hop, (finding for finding in checks if finding.hop == line.hop))
    return (
        msgspec.structs.replace(line, counts=hop_verdict.counts)
        if line.verdict in ("done", "in_progress")
        else hop_verdict
    )

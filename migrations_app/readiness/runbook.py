"""A report as a runbook: the hops in order, and at each hop what is still to be done, in the order of the work."""

import msgspec

from migrations_app.checks.values import PHASES, Finding
from migrations_app.readiness.report import ClusterFacts, PathStep, Report, Verdict

OPEN = ("fail", "unknown", "manual")


class RunbookHop(msgspec.Struct, frozen=True, kw_only=True):
    """One hop: where it lands, its verdict now, and its open findings by phase, blockers first within a phase."""

    lands: PathStep
    verdict: Verdict
    done_percent: int
    steps: tuple[Finding, ...]


class Runbook(msgspec.Struct, frozen=True, kw_only=True):
    schema: str = "karpdash/plan/v1"
    cluster: ClusterFacts
    scanned_at: str
    complete: bool
    target: str | None
    notes: tuple[str, ...]
    hops: tuple[RunbookHop, ...]


def runbook(report: Report) -> Runbook:
    """The runbook of a report; it has no hops when there is nothing left to do or no path could be told."""
    lines = {line.hop: line for line in report.hops}
    return Runbook(
        cluster=report.cluster,
        scanned_at=report.scanned_at,
        complete=report.complete,
        target=report.target.release,
        notes=(*report.cluster.disagreements, *report.target.notes),
        hops=tuple(
            RunbookHop(
                lands=step,
                verdict=lines[step.hop].verdict,
                done_percent=lines[step.hop].done_percent,
                steps=_steps(report, step.hop),
            )
            for step in report.target.path
        ),
    )


def _steps(report: Report, hop: str) -> tuple[Finding, ...]:
    found = [finding for finding in report.checks if finding.hop == hop and finding.status in OPEN]
    return tuple(sorted(found, key=_order))


def _order(finding: Finding) -> tuple[int, int, int, str]:
    severity = ("blocker", "warning", "info").index(finding.severity)
    return PHASES.index(finding.phase), severity, OPEN.index(finding.status), finding.id

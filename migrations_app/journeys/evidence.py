"""What a scan shows of a step: whether the work that the step stands for is seen in the cluster."""

from typing import Literal

import msgspec

from migrations_app.checks.base import Finding, Status
from migrations_app.journeys.plan import JourneyStep
from migrations_app.readiness.report import Report

Verdict = Literal["proven", "open", "unknown", "other_release"]
IN_ORDER: tuple[Status, ...] = ("pass", "not_applicable", "waived")
NOT_ASKED = "not_asked"
"""The status of a check that no hop of the report asks any more."""


class CheckSeen(msgspec.Struct, frozen=True):
    """One check as a scan answers it; `status` is that of the finding, or NOT_ASKED."""

    id: str
    status: str
    summary: str = ""


class StepEvidence(msgspec.Struct, frozen=True, kw_only=True):
    """What one scan shows of a step. `other_release`: neither the release before the hop runs nor the one after it."""

    verdict: Verdict
    scanned_at: str = ""
    snapshot: str = ""
    release: str = ""
    checks: tuple[CheckSeen, ...] = ()


def seen(step: JourneyStep, report: Report, *, hop: str, starts: str) -> StepEvidence:
    """What the report shows of the step, at the hop or, once that was taken, at the first hop that asks the same."""
    checks = tuple(_check(report, name, hop=hop) for name in step.checks)
    running = report.cluster.karpenter_version or ""
    return StepEvidence(
        verdict=_verdict(step, checks, running=running, starts=starts),
        scanned_at=report.scanned_at,
        release=running,
        checks=checks,
    )


def _verdict(step: JourneyStep, checks: tuple[CheckSeen, ...], *, running: str, starts: str) -> Verdict:
    if step.release and running and running not in (step.release, starts):
        return "other_release"
    if (step.release and running == starts != step.release) or any(check.status == "fail" for check in checks):
        return "open"
    if (step.release and not running) or any(check.status not in IN_ORDER for check in checks):
        return "unknown"
    return "proven" if step.release or checks else "unknown"


def _check(report: Report, name: str, *, hop: str) -> CheckSeen:
    finding = finding_of(report, name, hop=hop)
    return CheckSeen(name, finding.status, finding.summary) if finding else CheckSeen(name, NOT_ASKED)


def finding_of(report: Report, name: str, *, hop: str) -> Finding | None:
    """What the check says at the hop or, once that was taken, at the first hop that asks it; None if none does."""
    by_hop: dict[str, Finding] = {check.hop: check for check in report.checks if check.id == name}
    order = (hop, *(step.hop for step in report.target.path))
    return next((by_hop[step_hop] for step_hop in order if step_hop in by_hop), None)

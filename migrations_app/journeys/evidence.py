"""Compares a step with a scan: whether the scan proves that the work of the step is done."""

from typing import Literal

import msgspec

from migrations_app.checks.base import Finding, Status
from migrations_app.journeys.plan import JourneyStep
from migrations_app.readiness.report import Report

StepVerdict = Literal["proven", "open", "unknown", "other_release"]
IN_ORDER: tuple[Status, ...] = ("pass", "not_applicable", "waived")
NOT_ASKED = "not_asked"
"""The status of a check that is in no hop of the report any more."""


class CheckSeen(msgspec.Struct, frozen=True):
    """The answer of one check in a scan; `status` is that of the finding, or NOT_ASKED."""

    id: str
    status: str
    summary: str = ""


class StepEvidence(msgspec.Struct, frozen=True, kw_only=True):
    """What one scan proves of a step. `other_release`: neither the release before the hop nor its target version
    runs."""

    verdict: StepVerdict
    scanned_at: str = ""
    snapshot: str = ""
    release: str = ""
    checks: tuple[CheckSeen, ...] = ()


def step_evidence(step: JourneyStep, report: Report, *, hop: str, starts: str) -> StepEvidence:
    """Returns what the report proves of the step, at its hop or, after that, at the first hop with the same check."""
    checks = tuple(_check(report, name, hop=hop) for name in step.checks)
    running = report.cluster.karpenter_version or ""
    return StepEvidence(
        verdict=_verdict(step, checks, running=running, starts=starts),
        scanned_at=report.scanned_at,
        release=running,
        checks=checks,
    )


def _verdict(step: JourneyStep, checks: tuple[CheckSeen, ...], *, running: str, starts: str) -> StepVerdict:
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
    """Returns the finding of the check at the hop or, after that, at the first hop that has it; None if none has."""
    by_hop: dict[str, Finding] = {check.hop: check for check in report.checks if check.id == name}
    order = (hop, *(step.name for step in report.target.path))
    return next((by_hop[step_hop] for step_hop in order if step_hop in by_hop), None)

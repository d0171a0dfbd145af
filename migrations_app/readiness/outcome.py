"""What a report means for a pipeline: one small number."""

from typing import Literal

from migrations_app.readiness.report import Report

READY, FINDINGS, USAGE, COULD_NOT_LOOK = 0, 1, 2, 3
FailOn = Literal["blocker", "warning", "never"]
_COUNTED: dict[FailOn, tuple[str, ...]] = {"blocker": ("blocker",), "warning": ("blocker", "warning"), "never": ()}


def exit_code(report: Report, *, fail_on: FailOn = "blocker", strict: bool = False) -> int:
    """READY, FINDINGS at or above `fail_on`, or COULD_NOT_LOOK.

    A certain failure is told before an uncertainty. A blocker that is unknown, or waits for a person to confirm it, is
    never ready, whatever `fail_on` says. `strict` takes every waived failure as a failure, and every unknown check and
    every part not read whole as not having looked.
    """
    failed = ("fail", "waived") if strict else ("fail",)
    if any(f.status in failed and f.severity in _COUNTED[fail_on] for f in report.checks):
        return FINDINGS
    return COULD_NOT_LOOK if _untold(report) or (strict and _unread(report)) else READY


def _untold(report: Report) -> bool:
    """A blocker without an answer, a hop of which not enough is known, or not even a path."""
    no_path = report.target.release is None and report.cluster.stage != "no_karpenter"
    needs_facts = any(hop.verdict == "needs_facts" for hop in report.hops)
    open_blocker = any(f.severity == "blocker" and f.status in ("unknown", "manual") for f in report.checks)
    return no_path or needs_facts or open_blocker


def _unread(report: Report) -> bool:
    return not report.complete or any(f.status == "unknown" for f in report.checks)

"""What lists show of a report: the hop that is next, its verdict and its counts."""

from typing import Any

from migrations_app.readiness.report import HopLine, Report


def next_hop(report: Report) -> HopLine | None:
    """The first hop still ahead; the one landed on when none is; None where there is no path."""
    ahead = {step.hop for step in report.target.path}
    return next((line for line in report.hops if line.hop in ahead), report.hops[-1] if report.hops else None)


def judged_columns(report: Report) -> dict[str, Any]:
    """The columns of a snapshot that depend on how its findings are judged."""
    following = next_hop(report)
    open_now = [finding for finding in report.checks if following and finding.hop == following.hop]
    return {
        "verdict": _verdict(report, following),
        "blockers": sum(f.severity == "blocker" and f.status == "fail" for f in open_now),
        "warnings": sum(f.severity == "warning" and f.status == "fail" for f in open_now),
        "unknowns": sum(f.status in ("unknown", "manual") for f in open_now),
    }


def _verdict(report: Report, following: HopLine | None) -> str:
    if following:
        return following.verdict
    return "" if report.cluster.stage == "no_karpenter" else "needs_facts"

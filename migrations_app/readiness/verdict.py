"""What lists show of a report: the hop that is next, its verdict and its counts.

What a report means for a pipeline: one small number.

From findings to the verdict of a hop. Percent is work done; it never decides.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any, Literal

from msgspec.structs import replace

from migrations_app.checks.base import PHASES, Finding
from migrations_app.readiness.report import Counts, HopLine, Report, Verdict


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


READY, FINDINGS, USAGE, COULD_NOT_LOOK = 0, 1, 2, 3
FailOn = Literal["blocker", "warning", "never"]
_COUNTED: dict[FailOn, tuple[str, ...]] = {"blocker": ("blocker",), "warning": ("blocker", "warning"), "never": ()}


def exit_code(report: Report, *, fail_on: FailOn = "blocker", strict: bool = False) -> int:
    """READY, FINDINGS at or above `fail_on`, or COULD_NOT_LOOK.

    A certain failure is told before an uncertainty. A blocker that is unknown, or waits for a person to confirm it, is
    never ready, whatever `fail_on` says, and neither is such a warning where warnings count. What an earlier hop of
    the plan asks for counts there. `strict` takes every waived failure as a failure, and every unknown check and every
    part not read whole as not having looked.
    """
    failed = ("fail", "waived") if strict else ("fail",)
    if any(f.status in failed and f.severity in _COUNTED[fail_on] for f in report.checks):
        return FINDINGS
    return COULD_NOT_LOOK if _untold(report, fail_on) or (strict and _unread(report)) else READY


def _untold(report: Report, fail_on: FailOn) -> bool:
    """A check that counts without an answer, a hop of which not enough is known, or not even a path."""
    no_path = report.target.release is None and report.cluster.stage != "no_karpenter"
    needs_facts = any(hop.verdict == "needs_facts" for hop in report.hops)
    counted = {"blocker", *_COUNTED[fail_on]}
    mine = (f for f in report.checks if not f.asked_earlier)
    is_open = any(f.severity in counted and f.status in ("unknown", "manual") for f in mine)
    return no_path or needs_facts or is_open


def _unread(report: Report) -> bool:
    return not report.complete or any(f.status == "unknown" for f in report.checks)


REASONS = 5
_STATUS_ORDER = {"fail": 0, "unknown": 1, "manual": 2, "waived": 3, "pass": 4, "not_applicable": 5}
_SEVERITY_ORDER = {"blocker": 0, "warning": 1, "info": 2}


def verdict(findings: Iterable[Finding]) -> Verdict:
    """A failing blocker blocks; an unknown or unconfirmed one needs facts; anything else open is a warning."""
    every = tuple(findings)
    blockers = {f.status for f in every if f.severity == "blocker"}
    if "fail" in blockers:
        return "blocked"
    if not every or blockers & {"unknown", "manual"}:
        return "needs_facts"
    open_statuses = {f.status for f in every if f.severity != "info"}
    return "ready_with_warnings" if open_statuses & {"fail", "unknown", "manual", "waived"} else "ready"


def finding_sort_key(finding: Finding) -> tuple[int, int, int, str]:
    """Sorts as people work: blockers first and unknown second, then by severity, phase and id."""
    status = _STATUS_ORDER[finding.status]
    return _SEVERITY_ORDER[finding.severity] if status < 4 else 9, status, PHASES.index(finding.phase), finding.id


def hop_line(hop: str, findings: Iterable[Finding]) -> HopLine:
    """Verdict, counts and the summaries of what keeps the hop from being ready."""
    every = sorted(findings, key=finding_sort_key)
    counts = count(every)
    blocking = [f for f in every if f.status in ("fail", "unknown", "manual") and f.severity != "info"]
    return HopLine(
        hop=hop,
        verdict=verdict(every),
        done_percent=_percent(counts),
        counts=counts,
        reasons=tuple(dict.fromkeys(f.summary for f in blocking))[:REASONS],
    )


def hop_lines(hops: Sequence[str], findings: Iterable[Finding]) -> tuple[HopLine, ...]:
    """A line for each hop of a path, in its order. A later hop is judged by what is its own, so by what no earlier one
    asks for. It is never ready before its turn, and what earlier hops still have to do is not done."""
    by_hop: dict[str, list[Finding]] = {hop: [] for hop in hops}
    for finding in findings:
        by_hop.setdefault(finding.hop, []).append(finding)
    lines: list[HopLine] = []
    open_ids: set[str] = set()
    for hop in hops:
        line = hop_line(hop, by_hop[hop])
        if lines:
            mine = hop_line(hop, (check_finding for check_finding in by_hop[hop] if not check_finding.asked_earlier))
            waits = mine.verdict in ("ready", "ready_with_warnings")
            waiting = sum(
                check_finding.status == "pass" and check_finding.id in open_ids for check_finding in by_hop[hop]
            )
            percent = _percent(line.counts, waiting=waiting)
            reason = f"Hop {lines[-1].hop} has to be taken first"
            line = replace(
                line,
                verdict="later" if waits else mine.verdict,
                reasons=mine.reasons or (reason,),
                done_percent=percent,
            )
        open_ids |= {check_finding.id for check_finding in by_hop[hop] if check_finding.status in ("fail", "manual")}
        lines.append(line)
    return tuple(lines)


def _percent(counts: Counts, *, waiting: int = 0) -> int:
    """What is settled of what was asked; `waiting` passes are still to be brought about."""
    settled = counts.passed + counts.waived
    total = settled + counts.fail + counts.unknown + counts.manual
    return 100 * (settled - waiting) // total if total else 0


def count(findings: Iterable[Finding]) -> Counts:
    """How many findings have each status."""
    tally = Counter(finding.status for finding in findings)
    return Counts(
        passed=tally["pass"],
        fail=tally["fail"],
        unknown=tally["unknown"],
        not_applicable=tally["not_applicable"],
        manual=tally["manual"],
        waived=tally["waived"],
    )

"""Computes verdict and counts of each hop from its findings, the next hop for lists, and the exit code for pipelines.

The percent is work done; it never decides a verdict.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any, Literal

from msgspec.structs import replace

from migrations_app.checks.base import PHASES, Finding
from migrations_app.readiness.report import Counts, HopLine, Report, Verdict


def next_hop(report: Report) -> HopLine | None:
    """Returns the first hop ahead; the current hop if none is ahead; None without a path."""
    ahead = {hop.name for hop in report.target.path}
    return next((line for line in report.hops if line.hop in ahead), report.hops[-1] if report.hops else None)


def judged_columns(report: Report) -> dict[str, Any]:
    """Returns the columns of a snapshot that depend on the verdict of its findings."""
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
PATH = "path"
"""Stands in the place of a hop where no path can be told."""
FailOn = Literal["blocker", "warning", "never"]
_COUNTED: dict[FailOn, tuple[str, ...]] = {"blocker": ("blocker",), "warning": ("blocker", "warning"), "never": ()}


def exit_code(report: Report, *, fail_on: FailOn = "blocker", strict: bool = False) -> int:
    """Returns READY, FINDINGS at or above `fail_on`, or COULD_NOT_LOOK.

    A failure comes before an uncertainty. An unknown blocker, or one that waits for a person, is never ready, whatever
    `fail_on` says; neither is such a warning if warnings count. A finding of an earlier hop of the path counts there
    only. `strict` counts every waived failure as a failure, and every unknown check or incomplete data source as not
    read.
    """
    failed = ("fail", "waived") if strict else ("fail",)
    if any(f.status in failed and f.severity in _COUNTED[fail_on] for f in report.checks):
        return FINDINGS
    return COULD_NOT_LOOK if _has_unanswered(report, fail_on) or (strict and _is_incomplete(report)) else READY


def _has_unanswered(report: Report, fail_on: FailOn) -> bool:
    """Returns whether a check that counts has no answer, a hop needs facts, or there is no path."""
    no_path = report.target.release is None and report.cluster.stage != "no_karpenter"
    needs_facts = any(hop.verdict == "needs_facts" for hop in report.hops)
    counted = {"blocker", *_COUNTED[fail_on]}
    own_findings = (f for f in report.checks if not f.asked_earlier)
    is_open = any(f.severity in counted and f.status in ("unknown", "manual") for f in own_findings)
    return no_path or needs_facts or is_open


def unanswered_lines(report: Report) -> tuple[HopLine, ...]:
    """Returns the hops that need facts although none of their checks is open, each with its reasons. Without a path it
    is one line, named PATH. Outputs that list checks say these beside them: nothing in a list of checks shows them."""
    asked = {f.hop for f in report.checks if f.status in ("unknown", "manual") and f.severity == "blocker"}
    lines = tuple(line for line in report.hops if line.verdict == "needs_facts" and line.hop not in asked)
    if report.target.release is not None or report.cluster.stage == "no_karpenter":
        return lines
    reason = report.target.notes[0] if report.target.notes else "the running release could not be told"
    line = HopLine(hop=PATH, verdict="needs_facts", done_percent=0, counts=Counts(), reasons=(reason,))
    return (*lines, line)


def _is_incomplete(report: Report) -> bool:
    return not report.complete or any(f.status == "unknown" for f in report.checks)


MAX_REASONS = 5
_STATUS_ORDER = {"fail": 0, "unknown": 1, "manual": 2, "waived": 3, "pass": 4, "not_applicable": 5}
_SEVERITY_ORDER = {"blocker": 0, "warning": 1, "info": 2}


def verdict(findings: Iterable[Finding]) -> Verdict:
    """Returns blocked for a failing blocker, needs_facts for an unknown or manual one; other open findings are
    warnings."""
    every = tuple(findings)
    blockers = {f.status for f in every if f.severity == "blocker"}
    if "fail" in blockers:
        return "blocked"
    if not every or blockers & {"unknown", "manual"}:
        return "needs_facts"
    open_statuses = {f.status for f in every if f.severity != "info"}
    return "ready_with_warnings" if open_statuses & {"fail", "unknown", "manual", "waived"} else "ready"


def finding_sort_key(finding: Finding) -> tuple[int, int, int, str]:
    """Sorts findings by the order of work: by severity, status, phase and id; settled ones last."""
    status = _STATUS_ORDER[finding.status]
    return _SEVERITY_ORDER[finding.severity] if status < 4 else 9, status, PHASES.index(finding.phase), finding.id


def hop_line(hop: str, findings: Iterable[Finding]) -> HopLine:
    """Returns verdict, counts and the summaries of what keeps the hop from being ready."""
    every = sorted(findings, key=finding_sort_key)
    counts = count(every)
    blocking = [f for f in every if f.status in ("fail", "unknown", "manual") and f.severity != "info"]
    return HopLine(
        hop=hop,
        verdict=verdict(every),
        done_percent=_percent(counts),
        counts=counts,
        reasons=tuple(dict.fromkeys(f.summary for f in blocking))[:MAX_REASONS],
    )


def with_open_findings(current: HopLine | None, line: HopLine) -> HopLine:
    """Returns the current hop's line with the findings of the running release: an open one means that it is not
    done."""
    if current is None or line.verdict == "blocked":
        return line
    if current.verdict != "needs_facts" and line.verdict == "needs_facts":
        return line
    reasons = tuple(dict.fromkeys((*current.reasons, *line.reasons)))[:MAX_REASONS]
    return replace(current, counts=line.counts, reasons=reasons)


ARRIVAL_CHECKS = ("crds_match_controller", "one_controller_runs")
"""The checks that fail while the CRDs or the pods of the running release are not all there."""


def with_missing_arrival(current: HopLine | None, findings: Iterable[Finding]) -> HopLine | None:
    """Returns the current hop's line. It is in progress as long as a check of the next hop finds that the running
    release is not fully installed."""
    if current is None or current.verdict != "done":
        return current
    missing = [finding for finding in findings if finding.id in ARRIVAL_CHECKS and finding.status == "fail"]
    if not missing:
        return current
    reasons = tuple(finding.summary for finding in missing)
    return replace(current, verdict="in_progress", done_percent=min(99, current.done_percent), reasons=reasons)


def hop_lines(hops: Sequence[str], findings: Iterable[Finding]) -> tuple[HopLine, ...]:
    """Returns a line for each hop of a path, in order. A later hop is judged only by findings that no earlier hop
    has. It is never ready before the hops before it, and work that earlier hops still have to do does not count as
    done."""
    by_hop: dict[str, list[Finding]] = {hop: [] for hop in hops}
    for finding in findings:
        by_hop.setdefault(finding.hop, []).append(finding)
    lines: list[HopLine] = []
    open_ids: set[str] = set()
    for hop in hops:
        line = hop_line(hop, by_hop[hop])
        if lines:
            own_line = hop_line(
                hop, (check_finding for check_finding in by_hop[hop] if not check_finding.asked_earlier)
            )
            is_ready_later = own_line.verdict in ("ready", "ready_with_warnings")
            waiting = sum(
                check_finding.status == "pass" and check_finding.id in open_ids for check_finding in by_hop[hop]
            )
            percent = _percent(line.counts, waiting=waiting)
            reason = f"The upgrade to {lines[-1].hop} has to be made first"
            line = replace(
                line,
                verdict="later" if is_ready_later else own_line.verdict,
                reasons=own_line.reasons or (reason,),
                done_percent=percent,
            )
        open_ids |= {check_finding.id for check_finding in by_hop[hop] if check_finding.status in ("fail", "manual")}
        lines.append(line)
    return tuple(lines)


def _percent(counts: Counts, *, waiting: int = 0) -> int:
    """Returns the percent of settled findings; `waiting` of the passed ones still depend on earlier hops."""
    settled = counts.passed + counts.waived
    total = settled + counts.fail + counts.unknown + counts.manual
    return 100 * (settled - waiting) // total if total else 0


def count(findings: Iterable[Finding]) -> Counts:
    """Returns the number of findings by status."""
    tally = Counter(finding.status for finding in findings)
    return Counts(
        passed=tally["pass"],
        fail=tally["fail"],
        unknown=tally["unknown"],
        not_applicable=tally["not_applicable"],
        manual=tally["manual"],
        waived=tally["waived"],
    )

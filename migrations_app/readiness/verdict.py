"""From findings to the verdict of a hop. Percent is work done; it never decides."""

from collections import Counter
from collections.abc import Iterable

from migrations_app.checks.values import PHASES, Finding
from migrations_app.readiness.report import Counts, HopLine, Verdict

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


def order(finding: Finding) -> tuple[int, int, int, str]:
    """Sorts as people work: blockers first and unknown second, then by severity, phase and id."""
    status = _STATUS_ORDER[finding.status]
    return _SEVERITY_ORDER[finding.severity] if status < 4 else 9, status, PHASES.index(finding.phase), finding.id


def hop_line(hop: str, findings: Iterable[Finding]) -> HopLine:
    """Verdict, counts and the summaries of what keeps the hop from being ready."""
    every = sorted(findings, key=order)
    counts = count(every)
    settled = counts.passed + counts.waived
    asked = settled + counts.fail + counts.unknown + counts.manual
    blocking = [f for f in every if f.status in ("fail", "unknown", "manual") and f.severity != "info"]
    return HopLine(
        hop=hop,
        verdict=verdict(every),
        done_percent=100 * settled // asked if asked else 0,
        counts=counts,
        reasons=tuple(dict.fromkeys(f.summary for f in blocking))[:REASONS],
    )


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

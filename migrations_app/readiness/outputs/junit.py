"""Writes the report as JUnit XML: a suite for each hop, a case for each check. An unknown check is an error, and so is
a hop that needs facts although none of its checks is open: readers take a report without a case for a good one.
"""

from collections.abc import Callable
from xml.sax.saxutils import escape, quoteattr

from migrations_app.checks.base import Finding
from migrations_app.readiness.outputs.plain import plain
from migrations_app.readiness.outputs.wording import hidden_evidence_line, object_line, unanswered_text
from migrations_app.readiness.report import HopLine, Report
from migrations_app.readiness.verdict import PATH, unanswered_lines

EVIDENCE_SHOWN = 20


def render(report: Report) -> str:
    """Returns one XML document. A failing `info` check is a passed case with a note: it never breaks a build."""
    unanswered = {line.hop: _question(line) for line in unanswered_lines(report)}
    hops = [*(hop.hop for hop in report.hops), *([PATH] if PATH in unanswered else [])]
    by_hop = {hop: [f for f in report.checks if f.hop == hop] for hop in hops}
    for hop, question in unanswered.items():
        by_hop[hop].insert(0, question)
    suites = [_suite(hop, findings, report=report) for hop, findings in by_hop.items()]
    name = quoteattr(plain(report.cluster.name))
    total = [finding for findings in by_hop.values() for finding in findings]
    lines = ['<?xml version="1.0" encoding="UTF-8"?>', f"<testsuites name={name}{_numbers(total)}>"]
    return "\n".join([*lines, *suites, "</testsuites>"]) + "\n"


def _question(line: HopLine) -> Finding:
    """Returns the verdict of a hop as an unknown check, so that it is counted and written as one."""
    return Finding(
        id="verdict", hop=line.hop, phase="preflight", title="The hop has a verdict", status="unknown",
        severity="blocker", why="No check answers this: the verdict is needs facts.", summary=unanswered_text(line),
    )  # fmt: skip


def _suite(hop: str, findings: list[Finding], *, report: Report) -> str:
    name = quoteattr(plain(f"{report.cluster.name} {hop}"))
    stamp = quoteattr(plain(report.scanned_at.removesuffix("Z")))
    cases = [_case(finding) for finding in findings]
    head = (
        f'<testsuite name={name} timestamp={stamp} hostname="karpdash" time="0"{_numbers(findings)}{_skips(findings)}>'
    )
    return "\n".join([head, *cases, "</testsuite>"])


def _numbers(findings: list[Finding]) -> str:
    failures = sum(_fails(finding) for finding in findings)
    errors = sum(finding.status == "unknown" for finding in findings)
    return f' tests="{len(findings)}" failures="{failures}" errors="{errors}"'


def _skips(findings: list[Finding]) -> str:
    """Returns the attribute `skipped` of a suite; the schema does not allow it on the element around the suites."""
    return f' skipped="{sum(finding.status in ("not_applicable", "waived", "manual") for finding in findings)}"'


def _fails(finding: Finding) -> bool:
    return finding.status == "fail" and finding.severity != "info"


def _case(finding: Finding) -> str:
    head = f'<testcase classname={quoteattr(f"{finding.hop}.{finding.phase}")} name={quoteattr(finding.id)} time="0"'
    inside = _INSIDE[finding.status](finding)
    return f"{head}>{inside}</testcase>" if inside else f"{head}/>"


def _failure(finding: Finding) -> str:
    body = escape("\n".join(_failure_lines(finding)))
    if not _fails(finding):
        return f"<system-out>{escape(plain(finding.summary))}\n{body}</system-out>"
    return f"<failure type={quoteattr(finding.severity)} message={quoteattr(plain(finding.summary))}>{body}</failure>"


def _error(finding: Finding) -> str:
    return f'<error type="unknown" message={quoteattr(plain(finding.summary))}>{escape(plain(finding.why))}</error>'


def _skipped(finding: Finding) -> str:
    return f"<skipped message={quoteattr(plain(f'{finding.status}: {finding.summary}'))}/>"


def _nothing(_finding: Finding) -> str:
    return ""


_INSIDE: dict[str, Callable[[Finding], str]] = {
    "pass": _nothing,
    "fail": _failure,
    "unknown": _error,
    "not_applicable": _skipped,
    "manual": _skipped,
    "waived": _skipped,
}


def _failure_lines(finding: Finding) -> list[str]:
    rows = [object_line(row) for row in finding.evidence[:EVIDENCE_SHOWN]]
    return [plain(finding.why), *rows, *filter(None, [hidden_evidence_line(finding, EVIDENCE_SHOWN)])]

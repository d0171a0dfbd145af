"""Computes how a stored report would look if the cluster were upgraded to another Kubernetes minor.

The result equals that of `evaluate(..., kubernetes=...)`, without an inventory: the planned minor changes only the
check of the last hop's Kubernetes window and notes about the path, and both are in the report.
"""

from collections.abc import Iterable

from msgspec.structs import replace

from migrations_app.checks.base import Evidence, Finding, Remedy
from migrations_app.checks.catalogue.preflight.kubernetes_inside_window import check
from migrations_app.checks.shared.planned_kubernetes import planned_evidence, stay_inside
from migrations_app.errors import InvalidInput
from migrations_app.karpenter.releases import find, kubernetes_window
from migrations_app.karpenter.table_types import SupportedKubernetes
from migrations_app.karpenter.upgrade_path import SupportedTarget, planned_kubernetes
from migrations_app.karpenter.versions import Release, kubernetes_minor, parse
from migrations_app.readiness.report import ClusterFacts, Report
from migrations_app.readiness.verdict import finding_sort_key, hop_line, hop_lines

LONGEST = 40


def planned_minor(text: str) -> str:
    """Returns the Kubernetes minor in the text, such as 1.33. Raises InvalidInput (`bad_kubernetes`) if there is
    none."""
    minor = kubernetes_minor(text) if len(text) <= LONGEST else None
    if minor is None:
        raise InvalidInput(f"{text[:LONGEST]!r} is not a Kubernetes version, such as 1.33", code="bad_kubernetes")
    return minor


def with_planned(report: Report, kubernetes: str) -> Report:
    """Returns the report for the planned minor; unchanged for an empty text or if the release is not known."""
    current = _current(report.cluster)
    if not kubernetes or current is None or report.target.release is None:
        return report
    minor = planned_minor(kubernetes)
    targets = [
        SupportedTarget(hop.name, hop.release, SupportedKubernetes(hop.kubernetes.min, hop.kubernetes.max))
        for hop in report.target.path
    ]
    notes = (*report.target.notes, *planned_kubernetes(current, targets, minor=minor))
    report_with_note = replace(report, target=replace(report.target, notes=notes))
    running_window = kubernetes_window(current)
    last = targets[-1] if targets else SupportedTarget("", str(current), running_window) if running_window else None
    return (
        report_with_note
        if last is None or last.kubernetes.holds(minor)
        else _blocked(report_with_note, last, minor=minor)
    )


def _current(cluster: ClusterFacts) -> Release | None:
    """Returns the release at which the path starts: the oldest possible one if only a range is known."""
    if cluster.karpenter_version:
        return parse(cluster.karpenter_version)
    row = find(cluster.karpenter_range[0]) if cluster.karpenter_range else None
    return row.releases[0] if row else None


def _blocked(report: Report, last: SupportedTarget, *, minor: str) -> Report:
    """Returns the report in which the planned minor is outside the window of the last hop or of the running release."""
    findings = [finding for finding in report.checks if finding.id == check.id and last.hop in ("", finding.hop)]
    if not findings:
        return report
    finding_before, window = findings[-1], last.kubernetes
    row = planned_evidence(report.cluster.name, minor=minor, window=window)
    failed_finding = _failed(finding_before, row, remedy=stay_inside(window, last.release))
    hop_findings = sorted(
        (
            failed_finding if finding is finding_before else finding
            for finding in report.checks
            if finding.hop == finding_before.hop
        ),
        key=finding_sort_key,
    )
    checks = tuple(_in_place(report.checks, hop_findings, hop=finding_before.hop))
    lines_by_hop = {line.hop: line for line in hop_lines([hop.name for hop in report.target.path], checks)}
    line = lines_by_hop.get(finding_before.hop) or hop_line(finding_before.hop, hop_findings)
    return replace(
        report, checks=checks, hops=tuple(line if hop.hop == finding_before.hop else hop for hop in report.hops)
    )


def _failed(finding: Finding, row: Evidence, *, remedy: Remedy) -> Finding:
    """Returns the finding with one more cause; a finding that failed already keeps its remedies."""
    rows = (*finding.evidence, row)
    return replace(
        finding,
        status="fail",
        summary=check.headline(rows),
        evidence=rows,
        evidence_total=len(rows),
        evidence_exact=True,
        remedies=finding.remedies if finding.status == "fail" else (remedy,),
    )


def _in_place(checks: Iterable[Finding], hop_findings: list[Finding], *, hop: str) -> Iterable[Finding]:
    """Returns all findings, those of one hop in their new order."""
    ordered_findings = iter(hop_findings)
    return (next(ordered_findings) if finding.hop == hop else finding for finding in checks)

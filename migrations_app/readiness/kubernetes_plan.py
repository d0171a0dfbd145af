"""Computes how a stored report would look if the cluster were upgraded to another Kubernetes minor.

Without an inventory: the planned minor changes the last hop's checks that have a Kubernetes limit, whose answers from
there on are stored with their findings, the check of the hop's Kubernetes window, and the notes about the path. A
report that was stored without such answers does not know them.
"""

from collections.abc import Iterable, Mapping

from msgspec import UNSET, UnsetType
from msgspec.structs import replace

from migrations_app.checks.base import Evidence, Finding, KubernetesAnswer, Remedy
from migrations_app.checks.catalogue.preflight.kubernetes_inside_window import check
from migrations_app.checks.registry import all_checks
from migrations_app.checks.shared.planned_kubernetes import planned_evidence, stay_inside
from migrations_app.errors import InvalidInput
from migrations_app.karpenter.releases import find, kubernetes_window
from migrations_app.karpenter.table_types import SupportedKubernetes
from migrations_app.karpenter.upgrade_path import SupportedTarget, planned_kubernetes
from migrations_app.karpenter.versions import Release, kubernetes_minor, minor_order, parse
from migrations_app.readiness.report import ClusterFacts, HopLine, Report
from migrations_app.readiness.verdict import finding_sort_key, hop_line, hop_lines, with_open_findings

MAX_VERSION_LENGTH = 40
NOT_ASKED = "From Kubernetes {limit} on: not known for this scan, which was stored without it; scan again"


def planned_minor(text: str) -> str:
    """Returns the Kubernetes minor in the text, such as 1.33. Raises InvalidInput (`bad_kubernetes`) if there is
    none."""
    minor = kubernetes_minor(text) if len(text) <= MAX_VERSION_LENGTH else None
    if minor is None:
        raise InvalidInput(
            f"{text[:MAX_VERSION_LENGTH]!r} is not a Kubernetes version, such as 1.33", code="bad_kubernetes"
        )
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
    note = planned_kubernetes(current, targets, minor=minor)
    report = replace(report, target=replace(report.target, notes=(*report.target.notes, note)))
    running_window = kubernetes_window(current)
    last = targets[-1] if targets else SupportedTarget("", str(current), running_window) if running_window else None
    return report if last is None else _judged(report, last, minor=minor)


def _current(cluster: ClusterFacts) -> Release | None:
    """Returns the release at which the path starts: the oldest possible one if only a range is known."""
    if cluster.karpenter_version:
        return parse(cluster.karpenter_version)
    row = find(cluster.karpenter_range[0]) if cluster.karpenter_range else None
    return row.releases[0] if row else None


def _judged(report: Report, last: SupportedTarget, *, minor: str) -> Report:
    """Returns the report with the findings of the last hop, or of the running release, as they are with that minor."""
    hop = last.hop or next((finding.hop for finding in report.checks if finding.id == check.id), "")
    limits = {one.id: one.kubernetes_limits for one in all_checks() if one.kubernetes_limits}
    planned = {
        finding.id: _planned(finding, report.cluster, last=last, limits=limits.get(finding.id, ()), minor=minor)
        for finding in report.checks
        if finding.hop == hop
    }
    if all(planned[finding.id] is finding for finding in report.checks if finding.hop == hop):
        return report
    ordered_findings = sorted(planned.values(), key=finding_sort_key)
    checks = tuple(_in_place(report.checks, ordered_findings, hop=hop))
    lines = {line.hop: line for line in hop_lines([one.name for one in report.target.path], checks)}
    return replace(
        report, checks=checks, hops=tuple(_line(line, lines, findings=ordered_findings) for line in report.hops)
    )


def _line(line: HopLine, lines: Mapping[str, HopLine], *, findings: list[Finding]) -> HopLine:
    """Returns the line with the findings; the current hop's line is not among those of the path."""
    if line.hop in lines or line.hop != findings[0].hop:
        return lines.get(line.hop, line)
    return with_open_findings(line, hop_line(line.hop, findings))


def _planned(
    finding: Finding, cluster: ClusterFacts, *, last: SupportedTarget, limits: tuple[str, ...], minor: str
) -> Finding:
    """Returns the finding as it is with that minor; the same object where nothing differs."""
    if finding.id == check.id:
        if last.kubernetes.holds(minor):
            return finding
        row = planned_evidence(cluster.name, minor=minor, window=last.kubernetes)
        return _failed(finding, row, remedy=stay_inside(last.kubernetes, last.release))
    running = kubernetes_minor(cluster.kubernetes_version)
    reached = [limit for limit in limits if minor_order(limit) <= minor_order(minor)]
    later = [limit for limit in reached if running is None or minor_order(running) < minor_order(limit)]
    if isinstance(finding.at_kubernetes, UnsetType):
        is_settled = finding.status != "pass" or not later
        return finding if is_settled else replace(finding, status="unknown", summary=NOT_ASKED.format(limit=later[0]))
    answers = [one for one in finding.at_kubernetes if one.kubernetes in reached]
    return _with_answer(finding, answers[-1]) if answers else finding


def _with_answer(finding: Finding, later: KubernetesAnswer) -> Finding:
    return replace(
        finding,
        status=later.status,
        severity=later.severity,
        summary=later.summary,
        evidence_total=later.evidence_total,
        evidence_exact=later.evidence_exact,
        evidence=later.evidence,
        remedies=later.remedies,
        asked_at=UNSET,
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

"""A stored report as it would be for a cluster that is to be raised to another Kubernetes minor.

The same as `evaluate(..., kubernetes=...)`, without the inventory: what is planned concerns the window of the last hop
and a note about the path, and both stand in the report.
"""

from collections.abc import Iterable

from msgspec.structs import replace

from migrations_app.checks.base import Evidence, Finding, Remedy
from migrations_app.checks.catalogue.preflight.kubernetes_inside_window import check
from migrations_app.checks.shared.planned_kubernetes import planned_evidence, stay_inside
from migrations_app.errors import InvalidInput
from migrations_app.karpenter.releases import find, kubernetes_window
from migrations_app.karpenter.table_types import SupportedKubernetes
from migrations_app.karpenter.upgrade_path import SupportedLanding, planned_kubernetes
from migrations_app.karpenter.versions import Release, kubernetes_minor, parse
from migrations_app.readiness.report import ClusterFacts, Report
from migrations_app.readiness.verdict import hop_line, hop_lines, order

LONGEST = 40


def planned_minor(text: str) -> str:
    """The minor that the text names, such as 1.33. Raises InvalidInput (`bad_kubernetes`) if it names none."""
    minor = kubernetes_minor(text) if len(text) <= LONGEST else None
    if minor is None:
        raise InvalidInput(f"{text[:LONGEST]!r} is not a Kubernetes version, such as 1.33", code="bad_kubernetes")
    return minor


def with_planned(report: Report, kubernetes: str) -> Report:
    """The report with that minor planned; unchanged for an empty text, and where no release is known."""
    current = _current(report.cluster)
    if not kubernetes or current is None or report.target.release is None:
        return report
    minor = planned_minor(kubernetes)
    landings = [
        SupportedLanding(step.hop, step.release, SupportedKubernetes(step.kubernetes.min, step.kubernetes.max))
        for step in report.target.path
    ]
    note = planned_kubernetes(current, landings, minor=minor)
    noted = replace(report, target=replace(report.target, notes=(*report.target.notes, note)))
    own = kubernetes_window(current)
    last = landings[-1] if landings else SupportedLanding("", str(current), own) if own else None
    return noted if last is None or last.kubernetes.holds(minor) else _blocked(noted, last, minor=minor)


def _current(cluster: ClusterFacts) -> Release | None:
    """The release that the path starts from: the oldest one it may be, where only a range is known."""
    if cluster.karpenter_version:
        return parse(cluster.karpenter_version)
    row = find(cluster.karpenter_range[0]) if cluster.karpenter_range else None
    return row.releases[0] if row else None


def _blocked(report: Report, last: SupportedLanding, *, minor: str) -> Report:
    """The report whose last hop, or the running release where no hop is left, is outside of its window."""
    findings = [finding for finding in report.checks if finding.id == check.id and last.hop in ("", finding.hop)]
    if not findings:
        return report
    old, window = findings[-1], last.kubernetes
    row = planned_evidence(report.cluster.name, minor=minor, window=window)
    new = _failed(old, row, remedy=stay_inside(window, last.release))
    mine = sorted(
        (new if finding is old else finding for finding in report.checks if finding.hop == old.hop), key=order
    )
    checks = tuple(_in_place(report.checks, mine, hop=old.hop))
    ahead = {line.hop: line for line in hop_lines([step.hop for step in report.target.path], checks)}
    line = ahead.get(old.hop) or hop_line(old.hop, mine)
    return replace(report, checks=checks, hops=tuple(line if hop.hop == old.hop else hop for hop in report.hops))


def _failed(old: Finding, row: Evidence, *, remedy: Remedy) -> Finding:
    """The finding with one more cause; where it failed already, it keeps its remedies."""
    rows = (*old.evidence, row)
    return replace(
        old,
        status="fail",
        summary=check.headline(rows),
        evidence=rows,
        evidence_total=len(rows),
        evidence_exact=True,
        remedies=old.remedies if old.status == "fail" else (remedy,),
    )


def _in_place(checks: Iterable[Finding], mine: list[Finding], *, hop: str) -> Iterable[Finding]:
    """The findings with those of one hop in their new order."""
    following = iter(mine)
    return (next(following) if finding.hop == hop else finding for finding in checks)

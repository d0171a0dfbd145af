"""Evaluates one inventory: finds the running release, walks the upgrade path and runs every check for every hop.

The result is the report with findings and verdicts, and the rows beside it. Pure.
"""

import dataclasses
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from msgspec.structs import replace

from migrations_app.checks.base import Check, CheckContext, Finding
from migrations_app.checks.registry import all_checks
from migrations_app.checks.runner import run
from migrations_app.errors import InvalidInput
from migrations_app.inventory.facts.node_classes import convertible
from migrations_app.inventory.facts.ownership import Ownership, ownership
from migrations_app.inventory.inventory import Inventory
from migrations_app.inventory.parts import is_whole
from migrations_app.karpenter.detection import DetectedRelease
from migrations_app.karpenter.releases import RELEASES, known_up_to, newer_than_known
from migrations_app.karpenter.upgrade_path import (
    Path,
    PathHop,
    hop_of,
    path,
    stay,
)
from migrations_app.karpenter.versions import Release, kubernetes_minor, minor_order
from migrations_app.readiness import stage as facts
from migrations_app.readiness.iam_sheet.build import IamSheet, iam_sheet
from migrations_app.readiness.kubernetes_plan import with_planned
from migrations_app.readiness.report import (
    OWNERS,
    ClusterFacts,
    CollectResult,
    Counts,
    HopLine,
    KubernetesWindow,
    NodeCounts,
    Report,
    ReportHop,
    ScanResult,
    Stage,
    TablesEnd,
    Target,
    Verdict,
)
from migrations_app.readiness.runbook.walk import findings_of_hops
from migrations_app.readiness.stage import stage_of
from migrations_app.readiness.verdict import (
    finding_sort_key,
    hop_line,
    hop_lines,
    with_missing_arrival,
    with_open_findings,
)

FIRST_HOP = (0, 32)
BEFORE_V1 = ("0.32", "0.33+")
"""Hops after which v1beta1 is the intended stored version, even where v1 is served too for a rollback."""
LEFT_BEHIND_HOP = "clean-up"
"""The hop name of findings about objects that an uninstall left; at most ten characters fit into snapshots."""
LEFT_BEHIND_CHECKS = ("finalizers_served", "nothing_stuck_deleting")
KARPENTER_OWNERS = ("karpenter_alpha", "karpenter_beta", "karpenter_v1")


def current_hop_line(
    running: DetectedRelease, stage: Stage, *, legacy: Mapping[str, int | None], by_owner: Mapping[str, int]
) -> HopLine | None:
    """Returns the line of the hop that ended at the running release; None if that is unknown or older than the first
    hop."""
    if running.release is None or minor_order(running.release.minor) < FIRST_HOP:
        return None
    if newer_than_known(running.release):
        return _unknown_release(running.release)
    hop = hop_of(running.release, start=running.release)
    left = None if None in legacy.values() else sum(count or 0 for count in legacy.values())
    verdict, reasons = _verdict_of_current_hop(hop, stage, left=left)
    percent = 100 if verdict == "done" else _percent(by_owner)
    return HopLine(hop=hop, verdict=verdict, done_percent=percent, counts=Counts(), reasons=reasons)


def _unknown_release(running: Release) -> HopLine:
    """Returns the line of a release newer than the tables: no check knows it, so it is neither ready nor done."""
    reason = f"{running} is newer than {known_up_to()}, up to which this karpdash knows releases: take a newer karpdash"
    hop = hop_of(running, start=running)
    return HopLine(hop=hop, verdict="needs_facts", done_percent=0, counts=Counts(), reasons=(reason,))


def _verdict_of_current_hop(hop: str, stage: Stage, *, left: int | None) -> tuple[Verdict, tuple[str, ...]]:
    """Returns the verdict of the current hop and its reason, by what is left of alpha objects and v1beta1."""
    if stage == "unknown" or left is None:
        return "needs_facts", ("what is left of the older generation could not be read",)
    if left:
        return "in_progress", (f"{left} alpha objects and nodes are left",)
    if stage == "beta_v1" and hop not in BEFORE_V1:
        return "in_progress", ("v1beta1 is still served or stored",)
    return "done", ()


def _percent(by_owner: Mapping[str, int]) -> int:
    """Returns the percent of Karpenter nodes that are not alpha; below 100 as long as anything is left."""
    total = sum(by_owner.get(owner, 0) for owner in KARPENTER_OWNERS)
    converted = total - by_owner.get("karpenter_alpha", 0)
    return min(99, 100 * converted // total) if total else 0


NO_PATH = ("no_karpenter", "unknown_current")


@dataclass(frozen=True, slots=True)
class _ClusterState:
    """What an evaluation knows of the cluster before it runs checks."""

    inventory: Inventory
    running: DetectedRelease
    stage: Stage
    kubernetes: str | None
    owned: Ownership
    path: Path | None

    @property
    def hops_to_check(self) -> tuple[PathHop, ...]:
        """The hops to check: those of the path, or the running release itself if no hop is left."""
        if self.path is None or self.path.hops:
            return self.path.hops if self.path else ()
        running_hop = stay(self.path.current, kubernetes=kubernetes_minor(self.kubernetes))
        return () if running_hop is None else (running_hop,)


def evaluate(
    collected: CollectResult,
    *,
    target: str | None = None,
    kubernetes: str | None = None,
    checks: tuple[Check, ...] | None = None,
) -> ScanResult:
    """Returns the report, the rows of the nodes, the objects to convert and the IAM sheet.

    `kubernetes` is the Kubernetes minor to which the cluster is to be upgraded. Raises InvalidInput for a target that
    is not a release, that no hop ends at, or that is older than the running release.
    """
    known = _cluster_state(collected.inventory, target)
    every_check = all_checks() if checks is None else checks
    stuck = _uninstall_findings(known.inventory, known.running, checks=every_check, stage=known.stage)
    if stuck and known.stage == "no_karpenter":
        known = dataclasses.replace(known, stage="unknown")
    report = _report(known, collected, findings=(*_findings(known, every_check), *sorted(stuck, key=finding_sort_key)))
    objects = () if known.running.other_provider else convertible(known.inventory)
    report = with_planned(report, kubernetes or "")
    return ScanResult(report=report, nodes=known.owned.nodes, objects=objects, iam=_permissions(known))


def _cluster_state(inventory: Inventory, target: str | None) -> _ClusterState:
    running = facts.detect_running_release(inventory)
    version = next(iter(inventory.version.items), None)
    kubernetes = (version.git_version or None) if version else None
    return _ClusterState(
        inventory=inventory,
        running=running,
        stage=stage_of(inventory, running),
        kubernetes=kubernetes,
        owned=ownership(inventory),
        path=_path(running, target, kubernetes=kubernetes_minor(kubernetes)),
    )


def _path(running: DetectedRelease, target: str | None, *, kubernetes: str | None) -> Path | None:
    try:
        return path(running, target=target, kubernetes=kubernetes)
    except InvalidInput as reason:
        if reason.code in NO_PATH:
            return None
        raise


def _findings(known: _ClusterState, checks: tuple[Check, ...]) -> tuple[Finding, ...]:
    """Returns the findings of each hop, checked against the inventory as it is when the hop begins."""
    by_hop = findings_of_hops(known.inventory, known.hops_to_check, checks=checks)
    return tuple(finding for findings in by_hop for finding in sorted(findings, key=finding_sort_key))


def _permissions(known: _ClusterState) -> IamSheet | None:
    """Returns the IAM sheet; None if no Karpenter for AWS runs, which is the only one that needs it."""
    if known.stage == "no_karpenter" or known.running.other_provider:
        return None
    hops = known.path.hops if known.path else ()
    running = str(known.running.release) if known.running.release else ""
    return iam_sheet(known.inventory, hops=[(hop.name, str(hop.release)) for hop in hops], running=running)


def _uninstall_findings(
    inventory: Inventory, running: DetectedRelease, *, checks: Iterable[Check], stage: str
) -> tuple[Finding, ...]:
    """Returns the findings about objects stuck after an uninstall, as blockers; empty if none is stuck.

    An unread data source counts as stuck as long as CRDs show that Karpenter was installed.
    """
    if not running.absent:
        return ()
    newest_row = RELEASES[-1]
    release = newest_row.newest
    hop = PathHop(
        name=LEFT_BEHIND_HOP, start=release, release=release, kubernetes=newest_row.kubernetes_window(release)
    )
    context = CheckContext(inventory, hop, running, stage, inventory.taken_at)
    findings = run([check for check in checks if check.id in LEFT_BEHIND_CHECKS], context)
    was_installed = bool(inventory.crds.items) or not is_whole(inventory.crds)
    open_findings = [
        finding for finding in findings if finding.status == "fail" or (was_installed and finding.status == "unknown")
    ]
    if not open_findings:
        return ()
    return tuple(replace(finding, severity="blocker") if finding in open_findings else finding for finding in findings)


def _report(known: _ClusterState, collected: CollectResult, *, findings: tuple[Finding, ...]) -> Report:
    legacy = facts.legacy(known.inventory, known.owned)
    current_line = current_hop_line(known.running, known.stage, legacy=legacy, by_owner=known.owned.by_owner)
    hops = known.path.hops if known.path else ()
    lines_ahead = hop_lines([hop.name for hop in hops], findings)
    if hops:
        current_line = with_missing_arrival(current_line, [found for found in findings if found.hop == hops[0].name])
    elif findings:
        line_of_findings = hop_line(findings[0].hop, findings)
        current_line = (
            line_of_findings
            if line_of_findings.hop == LEFT_BEHIND_HOP
            else with_open_findings(current_line, line_of_findings)
        )
    by_owner = known.owned.by_owner
    return Report(
        cluster=_cluster(known),
        scanned_at=known.inventory.taken_at,
        complete=collected.complete,
        parts=collected.parts,
        target=_target(known),
        hops=((current_line,) if current_line and current_line.hop not in {line.hop for line in lines_ahead} else ())
        + lines_ahead,
        checks=findings,
        nodes=NodeCounts(len(known.owned.nodes), {owner: by_owner.get(owner, 0) for owner in OWNERS}),
        anomalies=known.owned.anomalies,
        known_up_to=TablesEnd(*map(str, known_up_to())),
        legacy=legacy,
        legacy_objects=facts.legacy_objects(known.inventory),
    )


def _cluster(known: _ClusterState) -> ClusterFacts:
    running = known.running
    return ClusterFacts(
        name=known.inventory.cluster,
        kubernetes_version=known.kubernetes,
        karpenter_version=str(running.release) if running.release else None,
        stage=known.stage,
        karpenter_told_by=running.how,
        karpenter_certainty=running.certainty,
        karpenter_range=running.minors if running.release is None else (),
        disagreements=running.disagreements,
        installed=facts.installed(known.inventory),
    )


def _target(known: _ClusterState) -> Target:
    if known.path is None:
        return Target(None, (), (known.running.how,) if known.running.other_provider else ())
    return Target(str(known.path.target), tuple(_report_hop(hop) for hop in known.path.hops), known.path.notes)


def _report_hop(hop: PathHop) -> ReportHop:
    return ReportHop(
        name=hop.name,
        release=str(hop.release),
        rollback_to=tuple(str(release) for release in hop.rollback_to),
        rollback_unsupported=tuple(str(release) for release in hop.rollback_unsupported),
        kubernetes=KubernetesWindow(hop.kubernetes.min, hop.kubernetes.max),
        kubernetes_fits=hop.kubernetes_fits,
        mandatory=hop.mandatory,
        why=hop.why,
        needs=hop.needs,
        notes=hop.notes,
        caveats=hop.rollback_caveats,
    )

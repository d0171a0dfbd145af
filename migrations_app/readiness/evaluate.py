"""The hop that the running release has landed on: done, or work of it still in progress.

Inventory -> report: detects, walks the path, puts every check at every hop, and gives the verdicts. Pure.
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
    SupportedLanding,
    hop_of,
    path,
    planned_kubernetes,
    stay,
)
from migrations_app.karpenter.versions import Release, kubernetes_minor, minor_order
from migrations_app.readiness import stage as facts
from migrations_app.readiness.iam_sheet.build import IamSheet, iam_sheet
from migrations_app.readiness.plan.walk import findings_of_hops
from migrations_app.readiness.report import (
    OWNERS,
    ClusterFacts,
    Collected,
    Counts,
    HopLine,
    KubernetesWindow,
    NodeCounts,
    PathStep,
    Report,
    Scanned,
    Stage,
    TablesEnd,
    Target,
    Verdict,
)
from migrations_app.readiness.stage import stage_of
from migrations_app.readiness.verdict import REASONS, hop_line, hop_lines, order

FIRST_HOP = (0, 32)
BEFORE_V1 = ("0.32", "0.33+")
"""On these v1beta1 is what is meant to be stored, even where v1 is served beside it for the way back."""
LEFT_BEHIND_HOP = "clean-up"
"""The name of what is to be done in place of a hop; at most ten characters, as snapshots keep it."""
LEFT_BEHIND_CHECKS = ("finalizers_served", "nothing_stuck_deleting")
KARPENTER_OWNERS = ("karpenter_alpha", "karpenter_beta", "karpenter_v1")


def current_hop_line(
    running: DetectedRelease, stage: Stage, *, legacy: Mapping[str, int | None], by_owner: Mapping[str, int]
) -> HopLine | None:
    """None while the release is not known, or is older than the first hop."""
    if running.release is None or minor_order(running.release.minor) < FIRST_HOP:
        return None
    if newer_than_known(running.release):
        return _unknown_release(running.release)
    hop = hop_of(running.release, start=running.release)
    left = None if None in legacy.values() else sum(count or 0 for count in legacy.values())
    verdict, reasons = _work(hop, stage, left=left)
    percent = 100 if verdict == "done" else _percent(by_owner)
    return HopLine(hop=hop, verdict=verdict, done_percent=percent, counts=Counts(), reasons=reasons)


def _unknown_release(running: Release) -> HopLine:
    """A release that came out after the tables were made: nobody looked, so it is neither ready nor done."""
    reason = f"{running} is newer than {known_up_to()}, up to which this karpdash knows releases: take a newer karpdash"
    hop = hop_of(running, start=running)
    return HopLine(hop=hop, verdict="needs_facts", done_percent=0, counts=Counts(), reasons=(reason,))


def _with_findings(landed: HopLine | None, judged: HopLine) -> HopLine:
    """The hop landed on, with what was asked about the running release: what is open there is not done."""
    if landed is None or judged.verdict == "blocked":
        return judged
    if landed.verdict != "needs_facts" and judged.verdict == "needs_facts":
        return judged
    reasons = tuple(dict.fromkeys((*landed.reasons, *judged.reasons)))[:REASONS]
    return replace(landed, counts=judged.counts, reasons=reasons)


def _work(hop: str, stage: Stage, *, left: int | None) -> tuple[Verdict, tuple[str, ...]]:
    if stage == "unknown" or left is None:
        return "needs_facts", ("what is left of the older generation could not be read",)
    if left:
        return "in_progress", (f"{left} alpha objects and nodes are left",)
    if stage == "beta_v1" and hop not in BEFORE_V1:
        return "in_progress", ("v1beta1 is still served or stored",)
    return "done", ()


def _percent(by_owner: Mapping[str, int]) -> int:
    """Nodes that have left alpha, of all Karpenter nodes; below 100 while anything is left."""
    total = sum(by_owner.get(owner, 0) for owner in KARPENTER_OWNERS)
    moved = total - by_owner.get("karpenter_alpha", 0)
    return min(99, 100 * moved // total) if total else 0


NO_PATH = ("no_karpenter", "unknown_current")


@dataclass(frozen=True, slots=True)
class _Known:
    inventory: Inventory
    running: DetectedRelease
    stage: Stage
    kubernetes: str | None
    owned: Ownership
    path: Path | None
    planned: str | None = None
    """The Kubernetes minor that somebody plans to raise the cluster to."""

    @property
    def asked(self) -> tuple[PathHop, ...]:
        """The steps of the path; where none is left, the running release itself."""
        if self.path is None or self.path.steps:
            return self.path.steps if self.path else ()
        here = stay(self.path.current, kubernetes=kubernetes_minor(self.kubernetes))
        return () if here is None else (here,)


def evaluate(
    collected: Collected,
    *,
    target: str | None = None,
    kubernetes: str | None = None,
    checks: tuple[Check, ...] | None = None,
) -> Scanned:
    """The report and the rows of its nodes; `kubernetes` is the minor that the cluster is to be raised to.

    Raises InvalidInput for a target that is no release, no hop, or behind.
    """
    known = _know(collected.inventory, target, planned=kubernetes)
    every_check = all_checks() if checks is None else checks
    stuck = _left_behind(known.inventory, known.running, checks=every_check, stage=known.stage)
    if stuck and known.stage == "no_karpenter":
        known = dataclasses.replace(known, stage="unknown")
    report = _report(known, collected, findings=(*_judge(known, every_check), *sorted(stuck, key=order)))
    objects = () if known.running.other_provider else convertible(known.inventory)
    return Scanned(report=report, nodes=known.owned.nodes, objects=objects, iam=_permissions(known))


def _know(inventory: Inventory, target: str | None, *, planned: str | None) -> _Known:
    running = facts.detect_running_release(inventory)
    version = next(iter(inventory.version.items), None)
    kubernetes = (version.git_version or None) if version else None
    return _Known(
        inventory=inventory,
        running=running,
        stage=stage_of(inventory, running),
        kubernetes=kubernetes,
        owned=ownership(inventory),
        path=_path(running, target, kubernetes=kubernetes_minor(kubernetes)),
        planned=kubernetes_minor(planned),
    )


def _path(running: DetectedRelease, target: str | None, *, kubernetes: str | None) -> Path | None:
    try:
        return path(running, target=target, kubernetes=kubernetes)
    except InvalidInput as reason:
        if reason.code in NO_PATH:
            return None
        raise


def _judge(known: _Known, checks: tuple[Check, ...]) -> tuple[Finding, ...]:
    """The findings of each hop, by the state that it begins in."""
    every = findings_of_hops(known.inventory, known.asked, checks=checks, planned=known.planned or "")
    return tuple(finding for findings in every for finding in sorted(findings, key=order))


def _permissions(known: _Known) -> IamSheet | None:
    """The sheet of permissions; None where no Karpenter of AWS runs, which then needs none."""
    if known.stage == "no_karpenter" or known.running.other_provider:
        return None
    steps = known.path.steps if known.path else ()
    running = str(known.running.release) if known.running.release else ""
    return iam_sheet(known.inventory, steps=[(step.hop, str(step.release)) for step in steps], running=running)


def _left_behind(
    inventory: Inventory, running: DetectedRelease, *, checks: Iterable[Check], stage: str
) -> tuple[Finding, ...]:
    """The findings about objects that an uninstall left behind, stuck where no controller runs, as blockers; none where
    nothing is stuck.

    What could not be read counts as long as CRDs tell that Karpenter was here.
    """
    if not running.absent:
        return ()
    row = RELEASES[-1]
    release = row.newest
    step = PathHop(hop=LEFT_BEHIND_HOP, start=release, release=release, kubernetes=row.kubernetes_window(release))
    case = CheckContext(inventory, step, running, stage, inventory.taken_at)
    findings = run([check for check in checks if check.id in LEFT_BEHIND_CHECKS], case)
    here = bool(inventory.crds.items) or not is_whole(inventory.crds)
    open_ones = [finding for finding in findings if finding.status == "fail" or (here and finding.status == "unknown")]
    if not open_ones:
        return ()
    return tuple(replace(finding, severity="blocker") if finding in open_ones else finding for finding in findings)


def _report(known: _Known, collected: Collected, *, findings: tuple[Finding, ...]) -> Report:
    legacy = facts.legacy(known.inventory, known.owned)
    landed = current_hop_line(known.running, known.stage, legacy=legacy, by_owner=known.owned.by_owner)
    steps = known.path.steps if known.path else ()
    hops = [step.hop for step in steps]
    ahead = hop_lines(hops, findings)
    if not steps and findings:
        judged = hop_line(findings[0].hop, findings)
        landed = judged if judged.hop == LEFT_BEHIND_HOP else _with_findings(landed, judged)
    by_owner = known.owned.by_owner
    return Report(
        cluster=_cluster(known),
        scanned_at=known.inventory.taken_at,
        complete=collected.complete,
        parts=collected.parts,
        target=_target(known),
        hops=((landed,) if landed and landed.hop not in {line.hop for line in ahead} else ()) + ahead,
        checks=findings,
        nodes=NodeCounts(len(known.owned.nodes), {owner: by_owner.get(owner, 0) for owner in OWNERS}),
        anomalies=known.owned.anomalies,
        known_up_to=TablesEnd(*map(str, known_up_to())),
        legacy=legacy,
        legacy_objects=facts.legacy_objects(known.inventory),
    )


def _cluster(known: _Known) -> ClusterFacts:
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


def _target(known: _Known) -> Target:
    planned_path = known.path
    if planned_path is None:
        return Target(None, (), (known.running.how,) if known.running.other_provider else ())
    landings = [SupportedLanding(step.hop, str(step.release), step.kubernetes) for step in planned_path.steps]
    planned = (planned_kubernetes(planned_path.current, landings, minor=known.planned),) if known.planned else ()
    return Target(
        str(planned_path.target), tuple(_step(step) for step in planned_path.steps), (*planned_path.notes, *planned)
    )


def _step(step: PathHop) -> PathStep:
    return PathStep(
        hop=step.hop,
        release=str(step.release),
        rollback_to=tuple(str(release) for release in step.rollback_to),
        kubernetes=KubernetesWindow(step.kubernetes.min, step.kubernetes.max),
        kubernetes_fits=step.kubernetes_fits,
        mandatory=step.mandatory,
        why=step.why,
        needs=step.needs,
        notes=step.notes,
        caveats=step.rollback_caveats,
    )

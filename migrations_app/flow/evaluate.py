"""Inventory -> report: detects, walks the path, puts every check at every hop, and gives the verdicts. Pure."""

from dataclasses import dataclass

from migrations_app.checks.base import Case, Check
from migrations_app.checks.registry import all_checks
from migrations_app.checks.runner import run
from migrations_app.checks.values import Finding
from migrations_app.errors import BadInput
from migrations_app.inventory.convertible import convertible
from migrations_app.inventory.inventory import Inventory
from migrations_app.inventory.ownership import Ownership, ownership
from migrations_app.karpenter.detection import Detected
from migrations_app.karpenter.hops import Path, Step, path
from migrations_app.karpenter.versions import kubernetes_minor
from migrations_app.readiness import facts
from migrations_app.readiness.iam_sheet import IamSheet, iam_sheet
from migrations_app.readiness.landed import landed_line
from migrations_app.readiness.report import (
    OWNERS,
    ClusterFacts,
    Collected,
    KubernetesWindow,
    NodeCounts,
    PathStep,
    Report,
    Scanned,
    Stage,
    Target,
)
from migrations_app.readiness.stage import stage
from migrations_app.readiness.verdict import hop_line, order

NO_PATH = ("no_karpenter", "unknown_current")


@dataclass(frozen=True, slots=True)
class _Known:
    inventory: Inventory
    running: Detected
    stage: Stage
    kubernetes: str | None
    owned: Ownership
    path: Path | None


def evaluate(collected: Collected, *, target: str | None = None, checks: tuple[Check, ...] | None = None) -> Scanned:
    """The report and the rows of its nodes. Raises BadInput for a target that is no release, no hop, or behind."""
    known = _know(collected.inventory, target)
    findings = _judge(known, all_checks() if checks is None else checks)
    report = _report(known, collected, findings=findings)
    objects = convertible(known.inventory)
    return Scanned(report=report, nodes=known.owned.nodes, objects=objects, iam=_permissions(known))


def _know(inventory: Inventory, target: str | None) -> _Known:
    running = facts.running(inventory)
    version = next(iter(inventory.version.items), None)
    kubernetes = (version.git_version or None) if version else None
    return _Known(
        inventory=inventory,
        running=running,
        stage=stage(inventory, running),
        kubernetes=kubernetes,
        owned=ownership(inventory),
        path=_path(running, target, kubernetes=kubernetes_minor(kubernetes)),
    )


def _path(running: Detected, target: str | None, *, kubernetes: str | None) -> Path | None:
    try:
        return path(running, target=target, kubernetes=kubernetes)
    except BadInput as reason:
        if reason.code in NO_PATH:
            return None
        raise


def _judge(known: _Known, checks: tuple[Check, ...]) -> tuple[Finding, ...]:
    found: list[Finding] = []
    for step in known.path.steps if known.path else ():
        case = Case(known.inventory, step, known.running, known.stage, known.inventory.taken_at, known.owned)
        found += sorted(run(checks, case), key=order)
    return tuple(found)


def _permissions(known: _Known) -> IamSheet | None:
    """The sheet of permissions; None where no Karpenter runs, which then needs none."""
    if known.stage == "no_karpenter":
        return None
    steps = known.path.steps if known.path else ()
    running = str(known.running.release) if known.running.release else ""
    return iam_sheet(known.inventory, steps=[(step.hop, str(step.release)) for step in steps], running=running)


def _report(known: _Known, collected: Collected, *, findings: tuple[Finding, ...]) -> Report:
    legacy = facts.legacy(known.inventory, known.owned)
    landed = landed_line(known.running, known.stage, legacy=legacy, by_owner=known.owned.by_owner)
    steps = known.path.steps if known.path else ()
    ahead = tuple(hop_line(step.hop, (f for f in findings if f.hop == step.hop)) for step in steps)
    by_owner = known.owned.by_owner
    return Report(
        cluster=_cluster(known),
        scanned_at=known.inventory.taken_at,
        complete=collected.complete,
        parts=collected.parts,
        target=_target(known.path),
        hops=((landed,) if landed and landed.hop not in {line.hop for line in ahead} else ()) + ahead,
        checks=findings,
        nodes=NodeCounts(len(known.owned.nodes), {owner: by_owner.get(owner, 0) for owner in OWNERS}),
        anomalies=known.owned.anomalies,
        legacy=legacy,
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


def _target(found: Path | None) -> Target:
    if found is None:
        return Target(None, (), ())
    return Target(str(found.target), tuple(_step(step) for step in found.steps), found.notes)


def _step(step: Step) -> PathStep:
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

"""Makes the stages of a hop's work, in order: fixes before the upgrade, the upgrade, work after it.

Every blocker is fixed before the upgrade, even if its phase comes after the upgrade.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Final

import msgspec
from msgspec import UnsetType, structs

from migrations_app.checks.base import PHASES, Finding, Phase, Remedy, RemedyTool
from migrations_app.checks.changes import DeliveryResume, KarpdashAction, ObjectPatch, group, leaves
from migrations_app.checks.remedies.commands import remedies_of
from migrations_app.checks.remedies.crd_upgrade import keep_all_crds
from migrations_app.checks.remedies.stored_versions import watch_rewrite
from migrations_app.checks.remedies.successors import successor_remedies
from migrations_app.inventory.facts.managers import BY_HAND, Managed, Manager
from migrations_app.karpenter import release_facts
from migrations_app.karpenter.versions import release
from migrations_app.readiness.report import InstallationFacts, ReportHop
from migrations_app.readiness.runbook.helm_upgrade import (
    HopUpgrades,
    controller_commands,
    crd_commands,
)
from migrations_app.readiness.runbook.orphaned_webhooks import removal_action
from migrations_app.readiness.runbook.rollback import (
    IrreversibleEffect,
    conversion_gap,
    impossible_rollback,
    lost_protection,
    rollback_commands,
    rollback_targets,
)
from migrations_app.readiness.runbook.work_order import (
    CRDS_INSTALLED_CHECK,
    DRIFT_HOLD_CHECKS,
    OPEN_STATUSES,
    PHASES_AFTER,
    SUCCESSORS_CHECK,
    HopPart,
    in_work_order,
    lacks_successors,
    last_before_upgrade,
    parts_by_check,
    reverted_after_upgrade,
)

_TITLES_BEFORE: dict[Phase, str] = {
    "preflight": "Preflight: make sure that the upgrade can start",
    "iam": "Add the IAM permissions of the new version",
    "crds": "Fix the installed CRDs",
    "controller": "Fix the controller and its settings",
    "resources": "Fix NodePools and EC2NodeClasses before the new version reads them",
    "workloads": "Update selectors of workloads",
    "rollout": "Replace the nodes that would be lost",
    "cleanup": "Delete what blocks the upgrade",
}
_TITLES_AFTER: dict[Phase, str] = {
    "preflight": "Review the preflight checks",
    "iam": "Review the controller's permissions",
    "crds": "Review the installed CRDs",
    "controller": "Update the controller's monitoring",
    "resources": "Review NodePools and EC2NodeClasses",
    "workloads": "Review workloads",
    "rollout": "Replace legacy nodes",
    "cleanup": "Clean up",
}
_NO_WORK_HERE = "no work in this upgrade; the next one lists what is left"


class RunbookStage(msgspec.Struct, frozen=True, kw_only=True):
    """`checks` are the ids of its open findings, blockers first; `settled` counts those that are not open,
    `waived` those of them that fail and are accepted.

    `commands` take the stage itself; `back` says how one goes back while it is being done, `back_commands` are lines of
    shell for it.
    """

    part: HopPart
    phase: Phase
    does: str
    checks: tuple[str, ...] = ()
    settled: int = 0
    waived: int = 0
    commands: tuple[Remedy, ...] = ()
    back: str = ""
    back_commands: tuple[str, ...] = ()
    caveats: tuple[str, ...] = ()
    no_return: tuple[IrreversibleEffect, ...] = ()

    @property
    def passed(self) -> int:
        """How many checks of the stage passed."""
        return self.settled - self.waived


def stages(
    findings: Iterable[Finding],
    hop: ReportHop,
    *,
    start: str,
    installed: InstallationFacts | None,
    upgrades: HopUpgrades | None = None,
    parts: Mapping[str, HopPart] | None = None,
    late: frozenset[str] | None = None,
    rewrites: bool = False,
    guards: bool = True,
) -> tuple[RunbookStage, ...]:
    """Returns the stages that have open findings, commands, or something that cannot be undone.

    `parts` and `late` are the results of `parts_by_check` and `last_before_upgrade`, given where the findings do not
    hold their changes of Helm values any more. `rewrites`: a later hop needs all stored objects rewritten as v1, which
    the new controller does by itself. `guards`: if Argo CD delivers, mark the CRDs so that Argo CD keeps them.
    """
    ordered, hop_upgrades = in_work_order(findings), upgrades or HopUpgrades()
    part_by_check = parts or parts_by_check(ordered, release=hop.release)
    by_part = {
        name: [finding for finding in ordered if part_by_check[finding.id] == name]
        for name in ("before", "land", "after")
    }
    late_ids = last_before_upgrade(ordered, release=hop.release) if late is None else late
    before = [finding for finding in by_part["before"] if finding.id not in late_ids]
    flux_delivers = installed is not None and "flux" in (installed.kept_by, installed.crds_kept_by)
    back = rollback_targets(hop, start, keeper=installed.kept_by if installed else "")
    resumed = tuple(_resume_stages(ordered, back=back))
    flux = tuple(stage for stage in resumed if flux_delivers and stage.commands[0].how == "flux")
    upgrades_before = bool(hop_upgrades.before or hop_upgrades.before_crds)
    argo_keeps_crds = guards and installed is not None and "argocd" in (installed.kept_by, installed.crds_kept_by)
    return (
        *(_keep_crds_stage(_still_on(start)) if argo_keeps_crds else ()),
        *_stages_before(before, hop, start=start, converts=lacks_successors(ordered)),
        *(_flux_stages(flux, part="before", back=_still_on(start)) if upgrades_before else ()),
        *_helm_stages_before(hop_upgrades, start=start),
        *_last_stages_before(
            [finding for finding in by_part["before"] if finding.id in late_ids], back=_still_on(start)
        ),
        *(() if upgrades_before else _flux_stages(flux, part="land", back=_still_on(start))),
        *_upgrade_stages(
            by_part["land"], hop, start=start, installed=installed, upgrades=hop_upgrades, guards=guards, back=back
        ),
        *_undo_hold_stages(ordered, back=back),
        *_stages_after(by_part["after"], hop, back=back),
        *(stage for stage in resumed if stage not in flux),
        *(_rewriting_stage() if rewrites else ()),
        RunbookStage(part="verify", phase="cleanup", does="Rescan to confirm that the upgrade is complete"),
    )


def _stages_before(before: list[Finding], hop: ReportHop, *, start: str, converts: bool) -> Iterator[RunbookStage]:
    """The stages of the findings fixed before the upgrade, by phase. `converts`: alpha objects are converted first."""
    back = _still_on(start)
    own_stage = (*DRIFT_HOLD_CHECKS, SUCCESSORS_CHECK) if converts else DRIFT_HOLD_CHECKS
    for phase in PHASES:
        if phase == "workloads" and converts:
            not_ready = [finding for finding in before if finding.id == SUCCESSORS_CHECK]
            stage = _stage("before", "resources", does=_MAKE_SUCCESSORS, findings=not_ready, back=back, no_return=())
            yield structs.replace(stage, commands=successor_remedies())
            taints = tuple(
                remedy
                for finding in not_ready
                for remedy in finding.remedies
                if remedy.how != "action" and not isinstance(remedy.change, KarpdashAction)
            )
            if taints:
                yield RunbookStage(part="before", phase="rollout", does=_TAINT_PROVISIONERS, commands=taints, back=back)
        in_phase = [finding for finding in before if finding.phase == phase and finding.id not in own_stage]
        losses = (_KUBERNETES_RAISED,) if phase == "preflight" and hop.kubernetes_fits is False else ()
        if losses or _any_applies(in_phase):
            yield _stage("before", phase, does=_TITLES_BEFORE[phase], findings=in_phase, back=back, no_return=losses)
    drift_holds = [finding for finding in before if finding.id in DRIFT_HOLD_CHECKS]
    if _any_applies(drift_holds):
        yield _stage("before", "rollout", does=_HOLD_DRIFT, findings=drift_holds, back=back, no_return=())


def _any_applies(findings: list[Finding]) -> bool:
    """Whether any finding applies."""
    return any(finding.status != "not_applicable" for finding in findings)


_MAKE_SUCCESSORS = "Write the NodePools and EC2NodeClasses that take over, and wait until they are ready"
_TAINT_PROVISIONERS = "Keep new pods off the Provisioners, once every NodePool is ready"
_UNDO_HOLDS = "Undo temporary holds, once the new controller runs"
_RESUME_DELIVERIES = "Resume deliveries, once their sources match the cluster"
_FIX_LAST = "Fix what can only be done, or only shows, after the work above"
_RESUME_FLUX = "Resume Flux: from here on it applies the changed source"
_HOLD_DRIFT = "Hold drift during the upgrade"
_KUBERNETES_RAISED = IrreversibleEffect(
    "A Kubernetes version that was raised for the upgrade cannot be lowered again",
    "The release to roll back to must support the newer Kubernetes too",
)


def _helm_stages_before(upgrades: HopUpgrades, *, start: str) -> Iterator[RunbookStage]:
    """The stages of the Helm upgrades that are made before the upgrade of the hop."""
    back, made = _still_on(start), list[RunbookStage]()
    if upgrades.before_crds:
        does = "Fix the CRDs of the running version before the upgrade"
        made.append(RunbookStage(part="before", phase="crds", does=does, commands=upgrades.before_crds, back=back))
    if upgrades.before:
        does = "Change the running release once, with every setting that the upgrade needs first"
        made.append(RunbookStage(part="before", phase="controller", does=does, commands=upgrades.before, back=back))
    yield from reversed(made) if upgrades.controller_first else made


def _last_stages_before(late: list[Finding], *, back: str) -> Iterator[RunbookStage]:
    """The stages of findings that need other fixes first, or appear only after these."""
    for phase in PHASES:
        in_phase = [finding for finding in late if finding.phase == phase]
        if _any_applies(in_phase):
            yield _stage("before", phase, does=_FIX_LAST, findings=in_phase, back=back, no_return=())


def _flux_stages(resumed: Iterable[RunbookStage], *, part: HopPart, back: str) -> Iterator[RunbookStage]:
    """The stages that resume Flux before its source changes for the first time: a paused Flux applies nothing."""
    for stage in resumed:
        yield structs.replace(stage, part=part, phase="controller", does=_RESUME_FLUX, back=back)


def _still_on(start: str) -> str:
    return f"still on {start or 'the running release'}, which is not changed yet"


def _upgrade_stages(
    findings: list[Finding],
    hop: ReportHop,
    *,
    start: str,
    installed: InstallationFacts | None,
    upgrades: HopUpgrades,
    guards: bool,
    back: str,
) -> Iterator[RunbookStage]:
    """The stages of the upgrade itself: the CRDs, the values of the chart, the controller. `back` is the rollback once
    the controller is upgraded."""
    crds_open = [
        finding for finding in findings if finding.id == CRDS_INSTALLED_CHECK and finding.status in OPEN_STATUSES
    ]
    actions = tuple(remedy for finding in crds_open for remedy in finding.remedies if remedy.how == "action")
    crds_back = (
        "apply its own CRDs again" if start in hop.rollback_to else "whether its own CRDs can come back is not known"
    )
    still_runs = f"{start} still runs; {crds_back}{conversion_gap(hop, start)}"
    charts = upgrades.installed or installed
    yield RunbookStage(
        part="land",
        phase="crds",
        does=f"Install the CRDs of {hop.release}",
        checks=tuple(finding.id for finding in crds_open),
        commands=(*crd_commands(hop.release, charts, values=upgrades.crds), *actions),
        back=still_runs,
        no_return=_losses(hop.name, "crds"),
    )
    value_findings = [finding for finding in findings if finding.id != CRDS_INSTALLED_CHECK]
    if _any_applies(value_findings):
        yield _stage("land", "controller", does=_PREPARE_VALUES, findings=value_findings, back=still_runs, no_return=())
    yield RunbookStage(
        part="land",
        phase="controller",
        does=f"Upgrade the controller to {hop.release}",
        commands=(
            *controller_commands(
                hop.release, charts, values=upgrades.controller, skips_crds=guards, left=upgrades.orphaned_webhooks
            ),
            *removal_action(upgrades.orphaned_webhooks, to=release(hop.release)),
        ),
        back=f"{back}{lost_protection(hop, start)}",
        back_commands=rollback_commands(hop, start, installed=charts),
        caveats=hop.caveats,
        no_return=(*_losses(hop.name, "controller"), *impossible_rollback(hop, start)),
    )


def _keep_crds_stage(back: str) -> Iterator[RunbookStage]:
    yield RunbookStage(part="before", phase="crds", does=_KEEP_CRDS, commands=(keep_all_crds(),), back=back)


_KEEP_CRDS = "Mark the CRDs so that no sync of Argo CD deletes them"
_PREPARE_VALUES = "Prepare the values for the chart of the new release"


def _undo_hold_stages(findings: list[Finding], *, back: str) -> Iterator[RunbookStage]:
    """The stages that undo temporary holds after the upgrade, one for each tool."""
    undos = [change for change in reverted_after_upgrade(findings) if isinstance(change, ObjectPatch)]
    by_tool: dict[Manager, list[ObjectPatch]] = {}
    for undo in undos:
        by_tool.setdefault(_tool_of_hold(findings, undo), []).append(undo)
    for tool, patches in by_tool.items():
        commands = remedies_of(group(*patches), Managed(tool))
        yield RunbookStage(part="after", phase="rollout", does=_UNDO_HOLDS, commands=commands, back=back)


def _tool_of_hold(findings: Iterable[Finding], back: ObjectPatch) -> Manager:
    """The tool in whose source the hold was made that `back` undoes; by hand if the hold was made in the cluster."""
    for remedy in (remedy for finding in findings if finding.status in OPEN_STATUSES for remedy in finding.remedies):
        change = remedy.change
        if not isinstance(change, UnsetType) and any(leaf.undo == back for leaf in leaves(change)):
            return next((tool for tool in IN_SOURCE if tool == remedy.how), "hand")
    return "hand"


IN_SOURCE: Final[tuple[Manager, ...]] = ("flux", "argocd", "terraform")
"""Tools that overwrite an object with the state in their source."""


def _resume_stages(findings: list[Finding], *, back: str) -> Iterator[RunbookStage]:
    """The stages that resume paused deliveries, one for each tool."""
    by_tool: dict[RemedyTool, list[Remedy]] = {}
    for change in reverted_after_upgrade(findings):
        for remedy in remedies_of(change, BY_HAND) if isinstance(change, DeliveryResume) else ():
            by_tool.setdefault(remedy.how, []).append(remedy)
    for commands in by_tool.values():
        yield RunbookStage(part="after", phase="cleanup", does=_RESUME_DELIVERIES, commands=tuple(commands), back=back)


def _stages_after(findings: list[Finding], hop: ReportHop, *, back: str) -> Iterator[RunbookStage]:
    """The stages of the work after the upgrade, by phase; also for a phase that only has something irreversible."""
    for phase in PHASES:
        in_phase = [finding for finding in findings if finding.phase == phase]
        losses = _losses(hop.name, phase) if phase in PHASES_AFTER else ()
        if in_phase or losses:
            any_open = any(finding.status in OPEN_STATUSES for finding in in_phase)
            does = _TITLES_AFTER[phase] if any_open or not losses else f"{_TITLES_AFTER[phase]}: {_NO_WORK_HERE}"
            yield _stage("after", phase, does=does, findings=in_phase, back=back, no_return=losses)


def _rewriting_stage() -> Iterator[RunbookStage]:
    """The stage that waits until the controller has rewritten all stored objects as v1."""
    does = "Wait until only v1 is stored, before the next upgrade"
    yield RunbookStage(part="after", phase="crds", does=does, commands=(watch_rewrite(),))


def _stage(
    part: HopPart,
    phase: Phase,
    *,
    does: str,
    findings: list[Finding],
    back: str,
    no_return: tuple[IrreversibleEffect, ...],
) -> RunbookStage:
    open_ids = tuple(finding.id for finding in findings if finding.status in OPEN_STATUSES)
    destroyed = tuple(
        IrreversibleEffect(row.what, row.back, row.source, row.checks)
        for row in release_facts.destroyed_by_fixes(open_ids)
    )
    return RunbookStage(
        part=part,
        phase=phase,
        does=does,
        checks=open_ids,
        settled=sum(finding.status in ("pass", "waived") for finding in findings),
        waived=sum(finding.status == "waived" for finding in findings),
        back=back,
        no_return=(*no_return, *destroyed),
    )


def _losses(hop: str, phase: str) -> tuple[IrreversibleEffect, ...]:
    return tuple(IrreversibleEffect(row.what, row.back, row.source) for row in release_facts.after(hop, phase))

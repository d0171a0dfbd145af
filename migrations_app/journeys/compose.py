"""Makes the steps of a journey from one hop of a runbook.

A failure that an action of karpdash resolves becomes a rollout. Another failing blocker becomes work outside, which a
scan confirms. What only a person can judge becomes a step that the person confirms. Findings with severity info stay in
the runbook.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from msgspec import UNSET, structs

from migrations_app.actions import registry
from migrations_app.actions.targets.disruption_hold import FIRST_WITH_BUDGETS
from migrations_app.checks.base import Finding, Remedy
from migrations_app.checks.registry import all_checks
from migrations_app.inventory.facts.controller import CHART, CRD_CHART
from migrations_app.journeys.deliveries import GITOPS, PAUSE_CHECK, is_resume_stage, with_pauses
from migrations_app.journeys.disruption_hold import HOLD, RELEASE
from migrations_app.journeys.plan import Command, JourneyStep
from migrations_app.journeys.states import StepKind
from migrations_app.karpenter.releases import drops_versions
from migrations_app.karpenter.versions import minor_order, parse
from migrations_app.readiness.action_order import LAST_RESORT
from migrations_app.readiness.report import InstallationFacts
from migrations_app.readiness.runbook.orphaned_webhooks import REMOVE_WEBHOOKS
from migrations_app.readiness.runbook.runbook import RunbookHop
from migrations_app.readiness.runbook.stages import RunbookStage
from migrations_app.readiness.runbook.work_order import CRDS_INSTALLED_CHECK, DRIFT_HOLD_CHECKS

SOAK_SECONDS = 600
"""How long the new release runs before the work after it, unless the author chooses otherwise."""
UPGRADE_CRDS = "upgrade_crds"
UPGRADE_CONTROLLER, UPGRADE_DELIVERY = "upgrade_controller", "upgrade_delivery"
HELM = "helm"
TAINTS, ROLLS = "taint_and_drift", "roll_nodes"
"""The actions that replace the nodes of old Provisioners by drift, and without it."""
DRIFT_CHECK = "drift_enabled_for_rollout"
"""The check that fails where drift would replace no node."""
TAINT_CHECK = "old_provisioners_fenced"
"""The check that fails until the taints that an administrator sets on old Provisioners are there."""
DRIFT_HOLD_CHECK = "drift_not_held_off"
"""The check that requires budgets of no nodes during the upgrade of the controller."""
WEBHOOKS_CHECK = "admission_webhooks_current"
"""The check that fails while a webhook refuses writes because nothing answers it."""
STORED_CHECK = "stored_versions_clean"
"""The check that passes once only the new version is stored."""
PREFERRED_ACTIONS: Mapping[str, str] = {"cleanup": "remove_legacy"}
"""By phase, the action that is chosen if several resolve a check; in other phases the first one."""
LONGEST_COMMAND = 4000
CHART_BY_PHASE = {"crds": CRD_CHART, "controller": CHART}
"""By phase, the chart that a stage before the upgrade of the hop upgrades."""
RELEASE_PLACEHOLDER = "{release}"
"""The part of a chart's name that is replaced by the release of the step."""


class Choices(NamedTuple):
    """What the author chose, and what the installation and the policy of the cluster allow.

    `parameters` are by the id of the action; `soak_seconds` is how long the new release runs before the work after it.
    `by_helm`: karpdash may upgrade Karpenter's Helm releases; `by_delivery`: it may change the objects of Flux and Argo
    CD; `pauses`: it may pause and resume deliveries; `holds`: it may hold Karpenter's disruption during the upgrade and
    restore the budgets. `diffs` are the diffs that a person commits for the upgrade, by chart.
    """

    parameters: Mapping[str, Mapping[str, Any]]
    soak_seconds: int = SOAK_SECONDS
    by_helm: bool = False
    by_delivery: bool = False
    pauses: bool = False
    holds: bool = False
    diffs: Mapping[str, Command] = {}


def journey_steps(hop: RunbookHop, *, installed: InstallationFacts | None, choices: Choices) -> tuple[JourneyStep, ...]:
    """Returns the steps of the hop in the order of its stages, with the ids j01, j02, ..."""
    stages = [stage for stage in hop.stages if not (choices.pauses and is_resume_stage(stage))]
    placed_steps = [
        (stage, step) for stage in stages for step in _steps_of(stage, hop, installed=installed, choices=choices)
    ]
    taints_provisioners = any(step.action in (TAINTS, ROLLS) for _, step in placed_steps)
    has_hold = any(step.action == HOLD for _, step in placed_steps)
    holds = any(set(step.checks) & set(DRIFT_HOLD_CHECKS) for _, step in placed_steps)
    steps = [
        _restoring_step(stage) if has_hold and _ends_hold(stage) else step
        for stage, step in placed_steps
        if not (taints_provisioners and _taints_provisioners(stage)) and (holds or not _ends_hold(stage))
    ]
    every = with_pauses(steps, hop, installed=installed) if choices.pauses else steps
    return tuple(structs.replace(step, id=f"j{number:02d}") for number, step in enumerate(every, 1))


def _taints_provisioners(stage: RunbookStage) -> bool:
    """Returns whether the stage taints old Provisioners by hand; the action that taints them makes it unnecessary."""
    return (stage.part, stage.phase) == ("before", "rollout") and not stage.checks


def _ends_hold(stage: RunbookStage) -> bool:
    """Returns whether the stage ends, by hand, a hold of disruption; needed only if another step starts the hold."""
    by_hand = any(command.how == "kubectl" for command in stage.commands)
    return (stage.part, stage.phase) == ("after", "rollout") and not stage.checks and by_hand


def _restoring_step(stage: RunbookStage) -> JourneyStep:
    """Returns the step that restores the budgets from where the hold recorded them; its rollout reads them at its
    end."""
    action = registry.find(RELEASE)
    title = action.title if action else stage.does
    return _step(stage, "rollout", title=title, action=RELEASE, protects=True, settled=True)


def _steps_of(
    stage: RunbookStage, hop: RunbookHop, *, installed: InstallationFacts | None, choices: Choices
) -> Iterator[JourneyStep]:
    """Yields the steps of one stage."""
    if stage.part == "verify":
        yield _step(stage, "outside", release=hop.path_hop.release, protects=True)
    elif stage.part == "land":
        yield from _upgrade_steps(stage, hop, installed=installed, choices=choices)
    elif stage.checks:
        yield from _steps_of_findings(stage, hop, choices=choices)
    elif stage.commands and (stage.part, stage.phase) == ("after", "crds"):
        yield _step(stage, "outside", checks=(STORED_CHECK,), protects=True)
    elif stage.commands and (settled_checks := settled_by_upgrade(stage, hop)):
        open_findings = [step for step in hop.steps if step.id in settled_checks]
        blocks = any(finding.severity == "blocker" and finding.status != "manual" for finding in open_findings)
        yield _step(stage, "outside" if blocks else "person", checks=settled_checks, protects=True)
    elif stage.commands:
        settled_checks = (TAINT_CHECK,) if _taints_provisioners(stage) else ()
        yield _step(stage, "person", checks=settled_checks, protects=True)


def settled_by_upgrade(stage: RunbookStage, hop: RunbookHop) -> tuple[str, ...]:
    """Returns the checks that this stage settles by an upgrade of the running release before the hop's own upgrade;
    a scan proves them. If a check needs several upgrades, only the last one settles it."""
    last: dict[str, RunbookStage] = {}
    for hop_stage in hop.stages:
        last |= {check: hop_stage for chart, check in hop.upgraded_first if _upgrades_before_hop(hop_stage, chart)}
    return tuple(check for check, hop_stage in last.items() if hop_stage is stage)


def _upgrades_before_hop(stage: RunbookStage, chart: str) -> bool:
    by_hand = bool(stage.commands) and stage.commands[0].how != "kubectl" and not is_resume_stage(stage)
    return stage.part == "before" and not stage.checks and by_hand and CHART_BY_PHASE.get(stage.phase) == chart


def _upgrade_steps(
    stage: RunbookStage, hop: RunbookHop, *, installed: InstallationFacts | None, choices: Choices
) -> Iterator[JourneyStep]:
    """Yields the steps of a stage of the upgrade itself. The last stage of its phase installs the CRDs or the
    controller; the stages before that are preparation by hand."""
    stages_of_phase = [
        hop_stage for hop_stage in hop.stages if hop_stage.part == "land" and hop_stage.phase == stage.phase
    ]
    if stage != stages_of_phase[-1]:
        if stage.checks:
            yield from _steps_of_findings(stage, hop, choices=choices)
        elif stage.commands:
            yield _step(stage, "person", protects=True)
        return
    if stage.phase == "crds":
        yield from _crd_upgrade(stage, hop, installed=installed, choices=choices)
    else:
        yield from _controller_upgrade(stage, hop.path_hop.release, installed=installed, choices=choices)


def _crd_upgrade(
    stage: RunbookStage, hop: RunbookHop, *, installed: InstallationFacts | None, choices: Choices
) -> Iterator[JourneyStep]:
    """Yields the upgrade of the CRDs: by helm, by their delivery, by karpdash itself, or outside."""
    release, manager = hop.path_hop.release, installed.crds_kept_by if installed else ""
    checked = next((finding.status for finding in hop.open_in(stage) if finding.id == CRDS_INSTALLED_CHECK), "")
    drops = bool(hop.starts) and drops_versions(parse(hop.starts), parse(release))
    failing = checked == "fail" or (not checked and drops)
    if failing and manager == HELM and _crds_by_helm(installed, choices):
        yield upgrade_step(
            UPGRADE_CONTROLLER, stage, release=release, chart=CRD_CHART, extra={}, checks=(CRDS_INSTALLED_CHECK,)
        )
    elif failing and manager in GITOPS and _is_own_source(installed, choices, chart=CRD_CHART):
        yield upgrade_step(
            UPGRADE_DELIVERY, stage, release=release, chart=CRD_CHART, extra={}, checks=(CRDS_INSTALLED_CHECK,)
        )
    elif failing and manager not in GITOPS:
        parameters = {"release": release, **_with_release(choices.parameters.get(UPGRADE_CRDS, {}), release)}
        yield _step(
            stage, "rollout", checks=(CRDS_INSTALLED_CHECK,), action=UPGRADE_CRDS, parameters=parameters, protects=True
        )
    elif stage.checks or failing:
        kind: StepKind = "person" if drops and not checked else "outside"  # the check passes before CRDs drop a version
        checks = () if kind == "person" else (CRDS_INSTALLED_CHECK,)
        yield _step(stage, kind, checks=checks, protects=True, commands=_diff_command(choices, CRD_CHART))


def _controller_upgrade(
    stage: RunbookStage, release: str, *, installed: InstallationFacts | None, choices: Choices
) -> Iterator[JourneyStep]:
    """Yields the upgrade of the controller, the deletion of the admission webhooks that it leaves, and the time that it
    runs before the next step."""
    if choices.by_helm and installed and installed.kept_by == HELM:
        chosen = choices.parameters.get(UPGRADE_CONTROLLER, {})
        yield upgrade_step(UPGRADE_CONTROLLER, stage, release=release, chart=CHART, extra=chosen)
    elif installed and installed.kept_by in GITOPS and _is_own_source(installed, choices, chart=CHART):
        yield upgrade_step(UPGRADE_DELIVERY, stage, release=release, chart=CHART, extra={})
    else:
        yield _step(stage, "outside", release=release, protects=True, commands=_diff_command(choices, CHART))
    yield from _webhook_removal(stage, release, installed=installed)
    if choices.soak_seconds:
        title = f"Let {release} run before anything else is changed"
        yield JourneyStep(
            id="", kind="wait", title=title, phase=stage.phase, seconds=choices.soak_seconds, protects=True,
            back=stage.back,
        )  # fmt: skip


def _webhook_removal(
    stage: RunbookStage, release: str, *, installed: InstallationFacts | None
) -> Iterator[JourneyStep]:
    """Yields the deletion of the admission webhooks that the upgrade leaves: by karpdash, or outside where they were
    not read."""
    if not any(command.action == REMOVE_WEBHOOKS for command in stage.commands):
        return
    title = f"Delete the admission webhooks that {release} does not answer"
    if installed is None or installed.kept_webhooks is UNSET:
        by_hand = [command for command in stage.commands if command.how != "action"]
        commands = _first_command(by_hand[-1:])
        step = _step(stage, "outside", title=title, checks=(WEBHOOKS_CHECK,), protects=True, commands=commands)
    else:
        step = _step(
            stage, "rollout", title=title, checks=(WEBHOOKS_CHECK,), action=REMOVE_WEBHOOKS,
            parameters={"release": release}, protects=True,
        )  # fmt: skip
    yield structs.replace(step, no_return=())


def _crds_by_helm(installed: InstallationFacts | None, choices: Choices) -> bool:
    """Returns whether helm may upgrade the CRD chart; the author's own choice of a source for the CRDs comes first."""
    return bool(choices.by_helm and installed and installed.crd_release and UPGRADE_CRDS not in choices.parameters)


def _is_own_source(installed: InstallationFacts | None, choices: Choices, *, chart: str) -> bool:
    """Returns whether karpdash may upgrade the chart by its only Flux or Argo CD object, which no other source
    writes."""
    all_carriers = installed.carriers if installed else ()
    carriers = [carrier for carrier in all_carriers if carrier.chart == chart] if all_carriers is not UNSET else []
    return choices.by_delivery and len(carriers) == 1 and not carriers[0].elsewhere


def _diff_command(choices: Choices, chart: str) -> tuple[Command, ...]:
    command = choices.diffs.get(chart)
    return (Command(command.tool, command.text[:LONGEST_COMMAND]),) if command else ()


def upgrade_step(
    action: str,
    stage: RunbookStage,
    *,
    release: str,
    chart: str,
    extra: Mapping[str, Any],
    checks: tuple[str, ...] = (),
) -> JourneyStep:
    """Returns the rollout step that upgrades one of Karpenter's charts by that action. For the controller, its
    release has to run afterwards; for the CRDs, the checks are the proof."""
    parameters = {**extra, "chart": chart, "release": release}
    runs = "" if chart == CRD_CHART else release
    return _step(stage, "rollout", checks=checks, release=runs, action=action, parameters=parameters, protects=True)


def _steps_of_findings(stage: RunbookStage, hop: RunbookHop, *, choices: Choices) -> Iterator[JourneyStep]:
    """Yields one step for each action needed, one for work outside, and one for what a person judges."""
    groups: dict[tuple[StepKind, str], list[Finding]] = {}
    for finding in hop.open_in(stage):
        if finding.id in _settled_by_upgrades(hop):
            continue  # the upgrade that settles it is a step of its own
        if (key := _done_by(finding, stage, hop=hop, choices=choices)) is not None:
            groups.setdefault(key, []).append(finding)
    for (kind, name), findings in groups.items():
        action = registry.find(name) if name else None
        protects = any(finding.severity == "blocker" or finding.id in DRIFT_HOLD_CHECKS for finding in findings)
        yield _step(
            stage,
            kind,
            title=action.title if action else stage.does,
            checks=tuple(finding.id for finding in findings),
            action=name,
            parameters=_parameters(name, stage, hop=hop, choices=choices),
            commands=() if name else tuple(_commands(findings)),
            protects=protects,
        )


def _settled_by_upgrades(hop: RunbookHop) -> set[str]:
    return {check for stage in hop.stages if stage.commands for check in settled_by_upgrade(stage, hop)}


def _done_by(
    finding: Finding, stage: RunbookStage, *, hop: RunbookHop, choices: Choices
) -> tuple[StepKind, str] | None:
    """Returns who does the work and the id of karpdash's action, if any; None if no step is needed."""
    if finding.id == PAUSE_CHECK:
        return None  # the pauses that it requires are steps of their own, before changes that a delivery would revert
    rolls = _rolls_nodes(hop, choices)
    if finding.id == DRIFT_CHECK and rolls:
        return None  # nodes are replaced without drift
    if finding.status == "fail" and (action := _action_for(finding, stage, hop=hop.path_hop.name)):
        if action != TAINTS or not rolls:
            return "rollout", action
        if finding.id != TAINT_CHECK or _own_nodes(finding, hop):
            return "rollout", ROLLS
    if finding.status == "fail" and finding.id == DRIFT_HOLD_CHECK and choices.holds and _can_hold(finding, hop):
        return "rollout", HOLD
    if finding.severity == "info":
        return None
    if finding.severity == "blocker" and finding.status != "manual":
        return "outside", ""
    return "person", ""


def _rolls_nodes(hop: RunbookHop, choices: Choices) -> bool:
    """Returns whether drift would replace none, and the author made no choice for that action, such as expiry."""
    off = any(finding.id == DRIFT_CHECK and finding.status == "fail" for finding in hop.steps)
    return off and TAINTS not in choices.parameters


def _own_nodes(finding: Finding, hop: RunbookHop) -> bool:
    """Returns whether each Provisioner of the finding owns nodes: rolling nodes taints no other."""
    with_nodes = {row.name for other in hop.steps if other.id == "provisioners_hold_no_nodes" for row in other.evidence}
    return finding.evidence_total == len(finding.evidence) and {row.name for row in finding.evidence} <= with_nodes


def _can_hold(finding: Finding, hop: RunbookHop) -> bool:
    """Returns whether karpdash can hold the NodePools: the running release has budgets, and no tool writes the
    NodePools from its own source."""
    starts = parse(hop.starts) if hop.starts else None
    has_budgets = starts is not None and minor_order(starts.minor) >= FIRST_WITH_BUDGETS
    return has_budgets and next((remedy.how for remedy in finding.remedies), "") == "kubectl"


def _action_for(finding: Finding, stage: RunbookStage, *, hop: str) -> str:
    """Returns the id of the action that resolves the check at that hop; empty if none. Destructive ones are never
    chosen."""
    actions = next((check.actions_at(finding) for check in all_checks() if check.id == finding.id), ())
    names = [name for name in actions if name not in LAST_RESORT and _fits(name, hop=hop)]
    return next((name for name in names if name == PREFERRED_ACTIONS.get(stage.phase)), names[0] if names else "")


def _fits(name: str, *, hop: str) -> bool:
    action = registry.find(name)
    return action is not None and (action.hops == ("*",) or hop in action.hops)


def _parameters(name: str, stage: RunbookStage, *, hop: RunbookHop, choices: Choices) -> dict[str, Any]:
    """Returns the author's parameters; before the upgrade, CRDs are those of the running release."""
    values = choices.parameters.get(name, {})
    if name != UPGRADE_CRDS:
        return dict(values)
    release = hop.starts if stage.part == "before" else hop.path_hop.release
    return {**({"release": release} if stage.part == "before" else {}), **_with_release(values, release)}


def _with_release(values: Mapping[str, Any], release: str) -> dict[str, Any]:
    """Returns the parameters with the release put into the chart's name, as each hop needs another chart."""
    source = values.get("source")
    return (
        {**values, "source": source.replace(RELEASE_PLACEHOLDER, release)} if isinstance(source, str) else dict(values)
    )


def _commands(findings: Iterable[Finding]) -> Iterator[Command]:
    for finding in findings:
        yield from _first_command(finding.remedies)


def _first_command(remedies: Iterable[Remedy]) -> tuple[Command, ...]:
    """Returns the command of the first remedy that is not an action: that of the tool that keeps the object."""
    by_hand = next((remedy for remedy in remedies if remedy.how != "action"), None)
    return (Command(by_hand.how, by_hand.text[:LONGEST_COMMAND]),) if by_hand else ()


def _step(
    stage: RunbookStage,
    kind: StepKind,
    *,
    title: str = "",
    commands: tuple[Command, ...] = (),
    checks: tuple[str, ...] = (),
    **more: Any,  # noqa: ANN401 - the other fields of a step
) -> JourneyStep:
    losses = [lost for lost in stage.no_return if not lost.checks or set(lost.checks) & set(checks)]
    return JourneyStep(
        id="",
        kind=kind,
        title=title or stage.does,
        phase=stage.phase,
        commands=commands or (() if kind == "rollout" else _first_command(stage.commands)),
        back=stage.back,
        checks=checks,
        no_return=tuple(lost.what for lost in losses),
        **more,
    )

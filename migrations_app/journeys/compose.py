"""The steps of a journey, made of one hop of a runbook.

What an action of karpdash resolves is a rollout; what else fails and blocks is done outside and seen by a scan; what
only a person can weigh is a tick. Information that neither blocks nor warns is left to the runbook.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from msgspec import UNSET, structs

from migrations_app.actions import registry
from migrations_app.actions.targets.disruption_hold import FIRST_WITH_BUDGETS
from migrations_app.checks.base import Finding, Remedy
from migrations_app.checks.registry import all_checks
from migrations_app.inventory.facts.controller import CHART, CRD_CHART
from migrations_app.journeys.deliveries import ASKED_BY, GITOPS, resumes, with_pauses
from migrations_app.journeys.disruption_hold import HOLD, RELEASE
from migrations_app.journeys.plan import Command, JourneyStep
from migrations_app.journeys.states import StepKind
from migrations_app.karpenter.versions import minor_order, parse
from migrations_app.readiness.action_order import LAST_RESORT
from migrations_app.readiness.plan.runbook import RunbookHop
from migrations_app.readiness.plan.stages import Stage
from migrations_app.readiness.plan.work_order import CRDS_INSTALLED_CHECK, DRIFT_HOLD_CHECKS
from migrations_app.readiness.report import Installed

SOAK_SECONDS = 600
"""How long the new release runs before the work after it, where the author says nothing else."""
UPGRADE_CRDS = "upgrade_crds"
UPGRADE_CONTROLLER, UPGRADE_DELIVERY = "upgrade_controller", "upgrade_delivery"
HELM = "helm"
TAINTS = "taint_and_drift"
FENCED = "old_provisioners_fenced"
"""The check that tells whether the fence by hand is there."""
DRIFTS = "drift_not_held_off"
"""The check that asks for budgets of no nodes over the landing."""
STORED = "stored_versions_clean"
"""The check that tells when only the new version is stored."""
PREFERRED: Mapping[str, str] = {"cleanup": "remove_legacy"}
"""By phase, the action that is meant where several resolve a check; elsewhere the first one."""
LONGEST_COMMAND = 4000
UPGRADED = {"crds": CRD_CHART, "controller": CHART}
"""By phase the chart that is upgraded before the landing."""
IN_CHART = "{release}"
"""Stands in the name of a chart for the release that the step is about."""


class Choices(NamedTuple):
    """What the author chose: parameters by the id of the action, and how long the new release runs before the rest.

    `by_helm`: installation and policy let karpdash upgrade Karpenter's Helm releases itself; `by_delivery`: they let it
    change the objects of Flux and Argo CD. `pauses`: they let it pause deliveries and resume them. `holds`: they let it
    hold Karpenter's own disruption over the landing and restore the budgets. `diffs` is what a person commits for the
    landing, by the chart.
    """

    parameters: Mapping[str, Mapping[str, Any]]
    soak_seconds: int = SOAK_SECONDS
    by_helm: bool = False
    by_delivery: bool = False
    pauses: bool = False
    holds: bool = False
    diffs: Mapping[str, Command] = {}


def journey_steps(hop: RunbookHop, *, installed: Installed | None, choices: Choices) -> tuple[JourneyStep, ...]:
    """The steps of the hop in the order of its stages, with the ids j01, j02, ..."""
    stages = [stage for stage in hop.stages if not (choices.pauses and resumes(stage))]
    placed_steps = [(stage, step) for stage in stages for step in _of(stage, hop, installed=installed, choices=choices)]
    fenced = any(step.action == TAINTS for _, step in placed_steps)
    has_hold = any(step.action == HOLD for _, step in placed_steps)
    holds = any(set(step.checks) & set(DRIFT_HOLD_CHECKS) for _, step in placed_steps)
    steps = [
        _restoring(stage) if has_hold and _lets_go(stage) else step
        for stage, step in placed_steps
        if not (fenced and _is_fence(stage)) and (holds or not _lets_go(stage))
    ]
    every = with_pauses(steps, hop, installed=installed) if choices.pauses else steps
    return tuple(structs.replace(step, id=f"j{number:02d}") for number, step in enumerate(every, 1))


def _is_fence(stage: Stage) -> bool:
    """Whether it is the fence by hand, which an action that taints Provisioners makes itself."""
    return (stage.part, stage.phase) == ("before", "rollout") and not stage.checks


def _lets_go(stage: Stage) -> bool:
    """Whether it ends by hand what was held over the landing; where no step holds anything, nothing is to be ended."""
    by_hand = any(command.how == "kubectl" for command in stage.commands)
    return (stage.part, stage.phase) == ("after", "rollout") and not stage.checks and by_hand


def _restoring(stage: Stage) -> JourneyStep:
    """The budgets come back from where the hold wrote them down; its rollout reads them."""
    action = registry.find(RELEASE)
    title = action.title if action else stage.does
    return _step(stage, "rollout", title=title, action=RELEASE, protects=True, settled=True)


def _of(stage: Stage, hop: RunbookHop, *, installed: Installed | None, choices: Choices) -> Iterator[JourneyStep]:
    if stage.part == "verify":
        yield _step(stage, "outside", release=hop.lands.release, protects=True)
    elif stage.part == "land":
        yield from _landing(stage, hop, installed=installed, choices=choices)
    elif stage.checks:
        yield from _open(stage, hop, choices=choices)
    elif stage.commands and (stage.part, stage.phase) == ("after", "crds"):
        yield _step(stage, "outside", checks=(STORED,), protects=True)
    elif stage.commands and (proof := upgraded_by(stage, hop)):
        open_ones = [step for step in hop.steps if step.id in proof]
        blocks = any(open_one.severity == "blocker" and open_one.status != "manual" for open_one in open_ones)
        yield _step(stage, "outside" if blocks else "person", checks=proof, protects=True)
    elif stage.commands:
        proof = (FENCED,) if _is_fence(stage) else ()
        yield _step(stage, "person", checks=proof, protects=True)


def upgraded_by(stage: Stage, hop: RunbookHop) -> tuple[str, ...]:
    """The checks that an upgrade of the running release before the landing settles, which is that stage; a scan of them
    proves it. What takes several upgrades is settled by the last one."""
    last: dict[str, Stage] = {}
    for hop_stage in hop.stages:
        last |= {check: hop_stage for chart, check in hop.upgraded_first if _upgrades_first(hop_stage, chart)}
    return tuple(check for check, hop_stage in last.items() if hop_stage is stage)


def _upgrades_first(stage: Stage, chart: str) -> bool:
    by_hand = bool(stage.commands) and stage.commands[0].how != "kubectl" and not resumes(stage)
    return stage.part == "before" and not stage.checks and by_hand and UPGRADED.get(stage.phase) == chart


def _landing(stage: Stage, hop: RunbookHop, *, installed: Installed | None, choices: Choices) -> Iterator[JourneyStep]:
    """Its CRDs and its controller are the last stages of their phases; what stands before them is prepared by hand."""
    alike = [hop_stage for hop_stage in hop.stages if hop_stage.part == "land" and hop_stage.phase == stage.phase]
    if stage != alike[-1]:
        if stage.checks:
            yield from _open(stage, hop, choices=choices)
        elif stage.commands:
            yield _step(stage, "person", protects=True)
        return
    if stage.phase == "crds":
        yield from _crds_land(stage, hop, installed=installed, choices=choices)
    else:
        yield from _controller_lands(stage, hop.lands.release, installed=installed, choices=choices)


def _crds_land(
    stage: Stage, hop: RunbookHop, *, installed: Installed | None, choices: Choices
) -> Iterator[JourneyStep]:
    """By helm or by their delivery where karpdash may, by karpdash itself where no GitOps tool keeps them."""
    release, manager = hop.lands.release, installed.crds_kept_by if installed else ""
    failing = any(finding.id == CRDS_INSTALLED_CHECK and finding.status == "fail" for finding in hop.open_in(stage))
    if failing and manager == HELM and _crds_by_helm(installed, choices):
        yield landing_by(
            UPGRADE_CONTROLLER, stage, release=release, chart=CRD_CHART, extra={}, checks=(CRDS_INSTALLED_CHECK,)
        )
    elif failing and manager in GITOPS and _is_own_source(installed, choices, chart=CRD_CHART):
        yield landing_by(
            UPGRADE_DELIVERY, stage, release=release, chart=CRD_CHART, extra={}, checks=(CRDS_INSTALLED_CHECK,)
        )
    elif failing and manager not in GITOPS:
        parameters = {"release": release, **_of_release(choices.parameters.get(UPGRADE_CRDS, {}), release)}
        yield _step(
            stage, "rollout", checks=(CRDS_INSTALLED_CHECK,), action=UPGRADE_CRDS, parameters=parameters, protects=True
        )
    elif stage.checks:
        yield _step(
            stage, "outside", checks=(CRDS_INSTALLED_CHECK,), protects=True, commands=_committed(choices, CRD_CHART)
        )


def _controller_lands(
    stage: Stage, release: str, *, installed: Installed | None, choices: Choices
) -> Iterator[JourneyStep]:
    """Its upgrade, and the time to soak."""
    if choices.by_helm and installed and installed.kept_by == HELM:
        chosen = choices.parameters.get(UPGRADE_CONTROLLER, {})
        yield landing_by(UPGRADE_CONTROLLER, stage, release=release, chart=CHART, extra=chosen)
    elif installed and installed.kept_by in GITOPS and _is_own_source(installed, choices, chart=CHART):
        yield landing_by(UPGRADE_DELIVERY, stage, release=release, chart=CHART, extra={})
    else:
        yield _step(stage, "outside", release=release, protects=True, commands=_committed(choices, CHART))
    if choices.soak_seconds:
        title = f"Let {release} run before anything else is changed"
        yield JourneyStep(
            id="", kind="wait", title=title, phase=stage.phase, seconds=choices.soak_seconds, protects=True,
            back=stage.back,
        )  # fmt: skip


def _crds_by_helm(installed: Installed | None, choices: Choices) -> bool:
    """Whether their chart is installed and helm may upgrade it; where the author says how CRDs are brought, that is
    done."""
    return bool(choices.by_helm and installed and installed.crd_release and UPGRADE_CRDS not in choices.parameters)


def _is_own_source(installed: Installed | None, choices: Choices, *, chart: str) -> bool:
    """Whether one object of Flux or Argo CD brings that chart, nobody else writes it, and karpdash may."""
    all_carriers = installed.carriers if installed else ()
    carriers = [carrier for carrier in all_carriers if carrier.chart == chart] if all_carriers is not UNSET else []
    return choices.by_delivery and len(carriers) == 1 and not carriers[0].elsewhere


def _committed(choices: Choices, chart: str) -> tuple[Command, ...]:
    command = choices.diffs.get(chart)
    return (Command(command.tool, command.text[:LONGEST_COMMAND]),) if command else ()


def landing_by(
    action: str, stage: Stage, *, release: str, chart: str, extra: Mapping[str, Any], checks: tuple[str, ...] = ()
) -> JourneyStep:
    """The step in which karpdash upgrades one of Karpenter's charts by that action. The release of the controller has
    to run afterwards; that of the CRDs is told by its checks."""
    parameters = {**extra, "chart": chart, "release": release}
    runs = "" if chart == CRD_CHART else release
    return _step(stage, "rollout", checks=checks, release=runs, action=action, parameters=parameters, protects=True)


def _open(stage: Stage, hop: RunbookHop, *, choices: Choices) -> Iterator[JourneyStep]:
    """One step for each action that is called for, one for what is done outside, and one for what is weighed."""
    groups: dict[tuple[StepKind, str], list[Finding]] = {}
    for finding in hop.open_in(stage):
        if finding.id in _made_later(hop):
            continue  # the upgrade that makes it is a step of its own
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


def _made_later(hop: RunbookHop) -> set[str]:
    return {check for stage in hop.stages if stage.commands for check in upgraded_by(stage, hop)}


def _done_by(finding: Finding, stage: Stage, *, hop: RunbookHop, choices: Choices) -> tuple[StepKind, str] | None:
    """Who does it, and the id of the action if karpdash does; None for what needs no step."""
    if finding.id == ASKED_BY:
        return None  # what it asks for are steps of their own, beside the changes that would be reverted
    if finding.status == "fail" and (action := _action_for(finding, stage, hop=hop.lands.hop)):
        return "rollout", action
    if finding.status == "fail" and finding.id == DRIFTS and choices.holds and _held_by_us(finding, hop):
        return "rollout", HOLD
    if finding.severity == "info":
        return None
    if finding.severity == "blocker" and finding.status != "manual":
        return "outside", ""
    return "person", ""


def _held_by_us(finding: Finding, hop: RunbookHop) -> bool:
    """Whether karpdash can hold them: the running release keeps budgets, and no tool writes the NodePools from a source
    of its own."""
    starts = parse(hop.starts) if hop.starts else None
    keeps = starts is not None and minor_order(starts.minor) >= FIRST_WITH_BUDGETS
    return keeps and next((remedy.how for remedy in finding.remedies), "") == "kubectl"


def _action_for(finding: Finding, stage: Stage, *, hop: str) -> str:
    """The id of the action that resolves the check at that hop; empty if none does. What destroys is never chosen."""
    named = next((check.actions_at(finding) for check in all_checks() if check.id == finding.id), ())
    names = [name for name in named if name not in LAST_RESORT and _fits(name, hop=hop)]
    return next((name for name in names if name == PREFERRED.get(stage.phase)), names[0] if names else "")


def _fits(name: str, *, hop: str) -> bool:
    action = registry.find(name)
    return action is not None and (action.hops == ("*",) or hop in action.hops)


def _parameters(name: str, stage: Stage, *, hop: RunbookHop, choices: Choices) -> dict[str, Any]:
    """What the author chose; CRDs before the landing are those of the release that runs."""
    values = choices.parameters.get(name, {})
    if name != UPGRADE_CRDS:
        return dict(values)
    release = hop.starts if stage.part == "before" else hop.lands.release
    return {**({"release": release} if stage.part == "before" else {}), **_of_release(values, release)}


def _of_release(values: Mapping[str, Any], release: str) -> dict[str, Any]:
    """The author's choices with the release in the name of the chart: several hops take several charts."""
    source = values.get("source")
    return {**values, "source": source.replace(IN_CHART, release)} if isinstance(source, str) else dict(values)


def _commands(findings: Iterable[Finding]) -> Iterator[Command]:
    for finding in findings:
        yield from _first(finding.remedies)


def _first(remedies: Iterable[Remedy]) -> tuple[Command, ...]:
    """The first way that is not an action: that of the tool that keeps the object."""
    by_hand = next((remedy for remedy in remedies if remedy.how != "action"), None)
    return (Command(by_hand.how, by_hand.text[:LONGEST_COMMAND]),) if by_hand else ()


def _step(
    stage: Stage,
    kind: StepKind,
    *,
    title: str = "",
    commands: tuple[Command, ...] = (),
    **more: Any,  # noqa: ANN401 - the other fields of a step
) -> JourneyStep:
    return JourneyStep(
        id="",
        kind=kind,
        title=title or stage.does,
        phase=stage.phase,
        commands=commands or (() if kind == "rollout" else _first(stage.commands)),
        back=stage.back,
        no_return=tuple(lost.what for lost in stage.no_return),
        **more,
    )

"""The work of a hop in the order in which it is done: what must be clear before, the landing, and what follows it.

A blocker stops the hop wherever it stands, so it is cleared before the landing even where its phase comes later.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Final

import msgspec
from msgspec import UnsetType, structs

from migrations_app.checks.base import PHASES, Finding, How, Phase, Remedy
from migrations_app.checks.changes import DeliveryResume, KarpdashAction, ObjectPatch, group, leaves
from migrations_app.checks.remedies.commands import remedies_of
from migrations_app.checks.remedies.crd_landing import keep_all_crds
from migrations_app.checks.remedies.stored_versions import watch_rewrite
from migrations_app.checks.remedies.successors import successor_remedies
from migrations_app.inventory.facts.managers import BY_HAND, Managed, Manager
from migrations_app.karpenter import release_facts
from migrations_app.manifests.natural_order import natural
from migrations_app.readiness.plan.helm_upgrade import (
    HopUpgrades,
    controller_commands,
    crd_commands,
)
from migrations_app.readiness.plan.work_order import (
    AFTER,
    HOLDS,
    LANDS,
    OPEN,
    SUCCESSOR,
    Part,
    by_work,
    lacks_successors,
    late_of,
    parts_of,
    taken_back,
)
from migrations_app.readiness.report import Installed, PathStep

_CLEAR: dict[Phase, str] = {
    "preflight": "Preflight: make sure that the upgrade can start",
    "iam": "Add the IAM permissions of the new version",
    "crds": "Fix the installed CRDs",
    "controller": "Fix the controller and its settings",
    "resources": "Fix NodePools and EC2NodeClasses before the new version reads them",
    "workloads": "Update selectors of workloads",
    "rollout": "Replace the nodes that would be lost",
    "cleanup": "Delete what blocks the upgrade",
}
_FOLLOW: dict[Phase, str] = {
    "preflight": "Review the preflight checks",
    "iam": "Review the controller's permissions",
    "crds": "Review the installed CRDs",
    "controller": "Update the controller's monitoring",
    "resources": "Review NodePools and EC2NodeClasses",
    "workloads": "Review workloads",
    "rollout": "Replace legacy nodes",
    "cleanup": "Clean up",
}
_NEXT_HOP = "no work in this hop; the next one lists what is left"


class Lost(msgspec.Struct, frozen=True):
    """What cannot be undone once a stage is done, what is still possible then, and where that is written."""

    what: str
    back: str
    source: str = ""


class Stage(msgspec.Struct, frozen=True, kw_only=True):
    """`checks` are the ids of its open findings, blockers first; `settled` counts those that are not open.

    `commands` take the stage itself; `back` says how one goes back while it is being done.
    """

    part: Part
    phase: Phase
    does: str
    checks: tuple[str, ...] = ()
    settled: int = 0
    commands: tuple[Remedy, ...] = ()
    back: str = ""
    caveats: tuple[str, ...] = ()
    no_return: tuple[Lost, ...] = ()


def stages(
    findings: Iterable[Finding],
    step: PathStep,
    *,
    start: str,
    installed: Installed | None,
    upgrades: HopUpgrades | None = None,
    parts: Mapping[str, Part] | None = None,
    late: frozenset[str] | None = None,
    rewrites: bool = False,
    guards: bool = True,
) -> tuple[Stage, ...]:
    """The stages that hold anything: open findings, commands, or something that cannot be undone.

    `parts` and `late` are those of the findings where these do not carry their changes of Helm values any more.
    `rewrites`: a later hop needs what this landing does by itself, to rewrite every stored object. `guards`: where
    Argo CD delivers, the CRDs are marked so that it keeps them.
    """
    work, taken = sorted(findings, key=by_work), upgrades or HopUpgrades()
    part = parts or parts_of(work, release=step.release)
    by_part = {name: [finding for finding in work if part[finding.id] == name] for name in ("before", "land", "after")}
    last = late_of(work, release=step.release) if late is None else late
    before = [finding for finding in by_part["before"] if finding.id not in last]
    delivers = installed is not None and "flux" in (installed.kept_by, installed.crds_kept_by)
    resumed = tuple(_resume(work, step))
    flux = tuple(stage for stage in resumed if delivers and stage.commands[0].how == "flux")
    first = bool(taken.before or taken.before_crds)
    argo = guards and installed is not None and "argocd" in (installed.kept_by, installed.crds_kept_by)
    return (
        *(_guarded(_runs_on(start)) if argo else ()),
        *_clear(before, step, start=start, converts=lacks_successors(work)),
        *(_switched_on(flux, part="before", back=_runs_on(start)) if first else ()),
        *_upgrade_first(taken, start=start),
        *_clear_last([finding for finding in by_part["before"] if finding.id in last], back=_runs_on(start)),
        *(() if first else _switched_on(flux, part="land", back=_runs_on(start))),
        *_land(by_part["land"], step, start=start, installed=installed, upgrades=taken, guards=guards),
        *_let_go(work, step),
        *_follow(by_part["after"], step),
        *(stage for stage in resumed if stage not in flux),
        *(_wait_for_rewriting() if rewrites else ()),
        Stage(part="verify", phase="cleanup", does="Rescan to confirm that the upgrade is complete"),
    )


def _clear(before: list[Finding], step: PathStep, *, start: str, converts: bool) -> Iterator[Stage]:
    back = _runs_on(start)
    apart = (*HOLDS, SUCCESSOR) if converts else HOLDS
    for phase in PHASES:
        if phase == "workloads" and converts:
            asking = [finding for finding in before if finding.id == SUCCESSOR]
            stage = _stage("before", "resources", does=_SUCCEED, findings=asking, back=back, no_return=())
            yield structs.replace(stage, commands=successor_remedies())
            fence = tuple(
                remedy
                for asking_finding in asking
                for remedy in asking_finding.remedies
                if not isinstance(remedy.change, KarpdashAction)
            )
            fence = tuple(remedy for remedy in fence if remedy.how != "action")
            if fence:
                yield Stage(part="before", phase="rollout", does=_FENCE, commands=fence, back=back)
        here = [finding for finding in before if finding.phase == phase and finding.id not in apart]
        lost = (_RAISED,) if phase == "preflight" and step.kubernetes_fits is False else ()
        if lost or _asks(here):
            yield _stage("before", phase, does=_CLEAR[phase], findings=here, back=back, no_return=lost)
    holds = [finding for finding in before if finding.id in HOLDS]
    if _asks(holds):
        yield _stage("before", "rollout", does=_HOLD, findings=holds, back=back, no_return=())


def _asks(findings: list[Finding]) -> bool:
    """Whether any of them applies."""
    return any(finding.status != "not_applicable" for finding in findings)


_SUCCEED = "Write the NodePools and EC2NodeClasses that take over, and wait until they are ready"
_FENCE = "Keep new pods off the Provisioners, once every NodePool is ready"
_LET_GO = "Undo temporary holds, once the new controller runs"
_RESUME = "Resume deliveries, once their sources match the cluster"
_LAST = "Fix what can only be done, or only shows, after the work above"
_APPLIES = "Resume Flux: from here on it applies the changed source"
_HOLD = "Hold drift during the upgrade"
_RAISED = Lost(
    "A Kubernetes version that was raised for the upgrade cannot be lowered again",
    "The release to roll back to must support the newer Kubernetes too",
)


def _upgrade_first(upgrades: HopUpgrades, *, start: str) -> Iterator[Stage]:
    back = _runs_on(start)
    if upgrades.before_crds:
        does = "Fix the CRDs of the running version before the upgrade"
        yield Stage(part="before", phase="crds", does=does, commands=upgrades.before_crds, back=back)
    if upgrades.before:
        does = "Change the running release once, with every setting that the upgrade needs first"
        yield Stage(part="before", phase="controller", does=does, commands=upgrades.before, back=back)


def _clear_last(late: list[Finding], *, back: str) -> Iterator[Stage]:
    """What waits for other fixes, or only shows once they are made."""
    for phase in PHASES:
        here = [finding for finding in late if finding.phase == phase]
        if _asks(here):
            yield _stage("before", phase, does=_LAST, findings=here, back=back, no_return=())


def _switched_on(resumed: Iterable[Stage], *, part: Part, back: str) -> Iterator[Stage]:
    """Flux applies nothing while it is paused, so it goes on before its source is changed for the first time."""
    for stage in resumed:
        yield structs.replace(stage, part=part, phase="controller", does=_APPLIES, back=back)


def _runs_on(start: str) -> str:
    return f"still on {start or 'the running release'}, nothing changed"


def _land(
    landing: list[Finding],
    step: PathStep,
    *,
    start: str,
    installed: Installed | None,
    upgrades: HopUpgrades,
    guards: bool,
) -> Iterator[Stage]:
    landing_checks = [finding for finding in landing if finding.id == LANDS and finding.status in OPEN]
    ours = tuple(remedy for finding in landing_checks for remedy in finding.remedies if remedy.how == "action")
    known = (
        "apply its own CRDs again" if start in step.rollback_to else "whether its own CRDs can come back is not known"
    )
    still = f"{start} still runs; {known}"
    there = upgrades.installed or installed
    yield Stage(
        part="land",
        phase="crds",
        does=f"Install the CRDs of {step.release}",
        checks=tuple(finding.id for finding in landing_checks),
        commands=(*crd_commands(step.release, there, values=upgrades.crds), *ours),
        back=still,
        no_return=_losses(step.hop, "crds"),
    )
    value_findings = [finding for finding in landing if finding.id != LANDS]
    if _asks(value_findings):
        yield _stage("land", "controller", does=_VALUES, findings=value_findings, back=still, no_return=())
    yield Stage(
        part="land",
        phase="controller",
        does=f"Upgrade the controller to {step.release}",
        commands=controller_commands(step.release, there, values=upgrades.controller, skips_crds=guards),
        back=_way_back(step),
        caveats=step.caveats,
        no_return=(*_losses(step.hop, "controller"), *_not_back_to(start, step)),
    )


def _guarded(back: str) -> Iterator[Stage]:
    yield Stage(part="before", phase="crds", does=_GUARD, commands=(keep_all_crds(),), back=back)


_GUARD = "Mark the CRDs so that no sync of Argo CD deletes them"
_VALUES = "Prepare the values for the chart of the new release"


def _let_go(findings: list[Finding], step: PathStep) -> Iterator[Stage]:
    """Ends what was held over the landing."""
    held = [change for change in taken_back(findings) if isinstance(change, ObjectPatch)]
    by_tool: dict[Manager, list[ObjectPatch]] = {}
    for object_patch in held:
        by_tool.setdefault(_kept_by(findings, object_patch), []).append(object_patch)
    for tool, ours in by_tool.items():
        commands = remedies_of(group(*ours), Managed(tool))
        yield Stage(part="after", phase="rollout", does=_LET_GO, commands=commands, back=_way_back(step))


def _kept_by(findings: Iterable[Finding], back: ObjectPatch) -> Manager:
    """The tool in whose source the hold was made that this takes back; by hand where it was made in the cluster."""
    for remedy in (remedy for finding in findings if finding.status in OPEN for remedy in finding.remedies):
        change = remedy.change
        if not isinstance(change, UnsetType) and any(leaf.undo == back for leaf in leaves(change)):
            return next((tool for tool in IN_SOURCE if tool == remedy.how), "hand")
    return "hand"


IN_SOURCE: Final[tuple[Manager, ...]] = ("flux", "argocd", "terraform")
"""Tools that write an object again from their source."""


def _resume(findings: list[Finding], step: PathStep) -> Iterator[Stage]:
    """Switches on again what was paused; a stage for each tool."""
    by_tool: dict[How, list[Remedy]] = {}
    for change in taken_back(findings):
        for remedy in remedies_of(change, BY_HAND) if isinstance(change, DeliveryResume) else ():
            by_tool.setdefault(remedy.how, []).append(remedy)
    for commands in by_tool.values():
        yield Stage(part="after", phase="cleanup", does=_RESUME, commands=tuple(commands), back=_way_back(step))


def _follow(follows: list[Finding], step: PathStep) -> Iterator[Stage]:
    for phase in PHASES:
        here = [follow for follow in follows if follow.phase == phase]
        lost = _losses(step.hop, phase) if phase in AFTER else ()
        if here or lost:
            asks = any(finding.status in OPEN for finding in here)
            does = _FOLLOW[phase] if asks or not lost else f"{_FOLLOW[phase]}: {_NEXT_HOP}"
            yield _stage("after", phase, does=does, findings=here, back=_way_back(step), no_return=lost)


def _wait_for_rewriting() -> Iterator[Stage]:
    does = "Wait until only v1 is stored, before the next upgrade"
    yield Stage(part="after", phase="crds", does=does, commands=(watch_rewrite(),))


def _stage(
    part: Part, phase: Phase, *, does: str, findings: list[Finding], back: str, no_return: tuple[Lost, ...]
) -> Stage:
    waiting = tuple(finding.id for finding in findings if finding.status in OPEN)
    return Stage(
        part=part,
        phase=phase,
        does=does,
        checks=waiting,
        settled=sum(finding.status in ("pass", "waived") for finding in findings),
        back=back,
        no_return=no_return,
    )


def _way_back(step: PathStep) -> str:
    if not step.rollback_to:
        return "No release is known that could take over"
    return f"Back to {', '.join(sorted(step.rollback_to, key=natural, reverse=True))}"


def _not_back_to(start: str, step: PathStep) -> tuple[Lost, ...]:
    if start in step.rollback_to:
        return ()
    known = f"{start} is not known to be able to" if start else "It is not known whether the running release can"
    return (Lost(f"{known} take over again from {step.release}", _way_back(step)),)


def _losses(hop: str, phase: str) -> tuple[Lost, ...]:
    return tuple(Lost(row.what, row.back, row.source) for row in release_facts.after(hop, phase))

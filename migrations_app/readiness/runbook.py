"""What the rollout of a hop will meet, in numbers that say how sure they are.

The work of a hop in the order in which it is done: what must be clear before, the landing, and what follows it.

A blocker stops the hop wherever it stands, so it is cleared before the landing even where its phase comes later.

A report as a runbook: the hops in order, and at each hop the work in order, with what it cannot take back.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Literal

import msgspec
from msgspec import structs

from migrations_app.checks.base import PHASES, Finding, Phase, Remedy
from migrations_app.checks.remedies.crd_landing import every_crd_kept
from migrations_app.checks.remedies.stored_versions import rewriting_watched
from migrations_app.checks.remedies.successors import successors_made
from migrations_app.karpenter import release_facts
from migrations_app.readiness.helm_upgrade import HelmWalk, HopUpgrades, controller_commands, crd_commands, in_the_plan
from migrations_app.readiness.next_step import FindingGroup, group_findings, next_step
from migrations_app.readiness.report import ClusterFacts, HopLine, Installed, PathStep, Report, TablesEnd, Verdict
from migrations_app.readiness.walk import STORED, WAITS, Settled, settled_earlier
from migrations_app.readiness.work_order import (
    AFTER,
    HOLDS,
    LANDS,
    OPEN,
    SUCCESSOR,
    Part,
    by_work,
    lacks_successors,
    parts_of,
)

FORECAST: tuple[tuple[str, str], ...] = (
    ("hashes_carry_over", "nodes that drift with the hop"),
    ("claims_not_drifted", "nodes that have drifted already"),
    ("expired_claims_gone", "claims past their expiry"),
    ("legacy_machines_gone", "Machines to be replaced"),
    ("provisioners_hold_no_nodes", "nodes that go with their Provisioners"),
    ("protected_pods_off_rolled_nodes", "protected pods or nodes that hold a rollout up"),
    ("pdbs_allow_disruption", "disruption budgets that let no pod go"),
    ("workloads_keep_a_pod", "workloads that are away while their node is replaced"),
    ("pods_have_controllers", "pods that nobody starts again"),
    ("local_data_left_behind", "pods that leave data on their node"),
    ("grace_period_spares_protected_pods", "pods that a grace period ends"),
    ("zones_of_volumes_served", "pods that may not follow their volumes"),
    ("pools_have_room", "NodePools without room for one node more"),
)
"""Checks that count what a rollout meets, and what it is that they count."""


class ForecastLine(msgspec.Struct, frozen=True, kw_only=True):
    """`count` is None where it is not known; `why` then says what keeps it from being known."""

    what: str
    count: int | None
    certainty: Literal["exact", "at_least", "unknown"]
    check: str
    why: str = ""


def forecast(findings: Iterable[Finding]) -> tuple[ForecastLine, ...]:
    """A line for each check that was asked and applies; nothing found is a number too."""
    asked = {finding.id: finding for finding in findings}
    lines = (_line(asked[name], what) for name, what in FORECAST if name in asked)
    return tuple(line for line in lines if line is not None)


def _line(finding: Finding, what: str) -> ForecastLine | None:
    match finding.status:
        case "pass":
            return ForecastLine(what=what, count=0, certainty="exact", check=finding.id)
        case "fail" | "waived":
            certainty: Literal["exact", "at_least"] = "exact" if finding.evidence_exact else "at_least"
            return ForecastLine(what=what, count=finding.evidence_total, certainty=certainty, check=finding.id)
        case "unknown" | "manual":
            return ForecastLine(what=what, count=None, certainty="unknown", check=finding.id, why=finding.summary)
    return None


_CLEAR: dict[Phase, str] = {
    "preflight": "Make sure that the hop may begin",
    "iam": "Attach what the new release needs, beside what the running one has",
    "crds": "Bring the installed CRDs in order",
    "controller": "Bring the controller and its settings in order",
    "resources": "Change pools and node classes before the new release reads them",
    "workloads": "Change what pods ask for before it is gone",
    "rollout": "Move the nodes that would be lost",
    "cleanup": "Take away what must not be there any more",
}
_FOLLOW: dict[Phase, str] = {
    "resources": "Go over pools and node classes",
    "workloads": "Go over what pods ask for",
    "rollout": "Let nodes be replaced",
    "cleanup": "Take away what is left behind",
}


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
    rewrites: bool = False,
) -> tuple[Stage, ...]:
    """The stages that hold anything: open findings, commands, or something that cannot be undone.

    `parts` are those of the findings where these do not carry their changes of Helm values any more. `rewrites`: a
    later hop needs what this landing does by itself, to rewrite every stored object.
    """
    asked, taken = sorted(findings, key=by_work), upgrades or HopUpgrades()
    part = parts or parts_of(asked, release=step.release)
    by_part = {name: [one for one in asked if part[one.id] == name] for name in ("before", "land", "after")}
    return (
        *_clear(by_part["before"], step, start=start, converts=lacks_successors(asked)),
        *_upgrade_first(taken, start=start),
        *_land(by_part["land"], step, start=start, installed=installed, upgrades=taken),
        *_follow(by_part["after"], step),
        *(_wait_for_rewriting() if rewrites else ()),
        Stage(part="verify", phase="cleanup", does="Scan again: the hop is done when its verdict says so"),
    )


def _clear(before: list[Finding], step: PathStep, *, start: str, converts: bool) -> Iterator[Stage]:
    back = f"{start or 'The running release'} runs on; nothing of the hop has been done"
    apart = (*HOLDS, SUCCESSOR) if converts else HOLDS
    for phase in PHASES:
        if phase == "workloads" and converts:
            asking = [one for one in before if one.id == SUCCESSOR]
            made = _stage("before", "resources", does=_SUCCEED, findings=asking, back=back, no_return=())
            yield structs.replace(made, commands=successors_made())
        here = [one for one in before if one.phase == phase and one.id not in apart]
        lost = (_RAISED,) if phase == "preflight" and step.kubernetes_fits is False else ()
        if lost or _asks(here):
            yield _stage("before", phase, does=_CLEAR[phase], findings=here, back=back, no_return=lost)
    holds = [one for one in before if one.id in HOLDS]
    if _asks(holds):
        yield _stage("before", "rollout", does=_HOLD, findings=holds, back=back, no_return=())


def _asks(findings: list[Finding]) -> bool:
    """Whether any of them applies."""
    return any(one.status != "not_applicable" for one in findings)


_SUCCEED = "Write the NodePools and EC2NodeClasses that take over, and wait until they are ready"
_HOLD = "Hold drift over the landing"
_RAISED = Lost(
    "A Kubernetes version that was raised for the hop cannot be lowered again",
    "The way back has to support the newer Kubernetes too",
)


def _upgrade_first(upgrades: HopUpgrades, *, start: str) -> Iterator[Stage]:
    if upgrades.before:
        does = "Upgrade the running release once, with all that has to hold before the landing"
        back = f"{start} runs on; nothing of the hop has been done"
        yield Stage(part="before", phase="controller", does=does, commands=upgrades.before, back=back)


def _land(
    landing: list[Finding], step: PathStep, *, start: str, installed: Installed | None, upgrades: HopUpgrades
) -> Iterator[Stage]:
    told = [one for one in landing if one.id == LANDS and one.status in OPEN]
    ours = tuple(remedy for one in told for remedy in one.remedies if remedy.how == "action")
    still = f"{start} still runs; apply its own CRDs again" if start in step.rollback_to else _way_back(step)
    if installed and "argocd" in (installed.kept_by, installed.crds_kept_by):
        yield Stage(part="land", phase="crds", does=_GUARD, commands=(every_crd_kept(),), back=still)
    yield Stage(
        part="land",
        phase="crds",
        does=f"Install the CRDs of {step.release}",
        checks=tuple(one.id for one in told),
        commands=(*crd_commands(step.release, installed, values=upgrades.crds), *ours),
        back=still,
        no_return=_lost(step.hop, "crds"),
    )
    given = [one for one in landing if one.id != LANDS]
    if _asks(given):
        yield _stage("land", "controller", does=_VALUES, findings=given, back=still, no_return=())
    yield Stage(
        part="land",
        phase="controller",
        does=f"Upgrade the controller to {step.release}",
        commands=controller_commands(step.release, installed, values=upgrades.controller),
        back=_way_back(step),
        caveats=step.caveats,
        no_return=(*_lost(step.hop, "controller"), *_not_back_to(start, step)),
    )


_GUARD = "Mark the CRDs so that no sync of Argo CD deletes them"
_VALUES = "Prepare the values for the chart of the new release"


def _follow(follows: list[Finding], step: PathStep) -> Iterator[Stage]:
    for phase in AFTER:
        here = [one for one in follows if one.phase == phase]
        lost = _lost(step.hop, phase)
        if here or lost:
            yield _stage("after", phase, does=_FOLLOW[phase], findings=here, back=_way_back(step), no_return=lost)


def _wait_for_rewriting() -> Iterator[Stage]:
    does = "Wait until only v1 is stored, before the next hop"
    yield Stage(part="after", phase="crds", does=does, commands=(rewriting_watched(),))


def _stage(
    part: Part, phase: Phase, *, does: str, findings: list[Finding], back: str, no_return: tuple[Lost, ...]
) -> Stage:
    waiting = tuple(one.id for one in findings if one.status in OPEN)
    return Stage(
        part=part,
        phase=phase,
        does=does,
        checks=waiting,
        settled=sum(one.status in ("pass", "waived") for one in findings),
        back=back,
        no_return=no_return,
    )


def _way_back(step: PathStep) -> str:
    return f"Back to {', '.join(step.rollback_to)}" if step.rollback_to else "No release is known that could take over"


def _not_back_to(start: str, step: PathStep) -> tuple[Lost, ...]:
    if start in step.rollback_to:
        return ()
    known = f"{start} is not known to be able to" if start else "It is not known whether the running release can"
    return (Lost(f"{known} take over again from {step.release}", _way_back(step)),)


def _lost(hop: str, phase: str) -> tuple[Lost, ...]:
    return tuple(Lost(row.what, row.back, row.source) for row in release_facts.after(hop, phase))


class Next(msgspec.Struct, frozen=True, kw_only=True):
    """Whether the hop may be taken now, and the next thing to do for it; `check` is the id that asks for it."""

    safe: str
    do: str
    check: str = ""
    others: int = 0


class DoneEarlier(msgspec.Struct, frozen=True):
    """A finding of this hop, by the id of its check, and the earlier hop whose work clears it."""

    check: str
    hop: str


class RunbookHop(msgspec.Struct, frozen=True, kw_only=True):
    """One hop, its verdict now, and the work. `starts` is empty where the running release is not known; `steps` are the
    open findings, and a stage names those that belong to it."""

    starts: str
    lands: PathStep
    verdict: Verdict
    done_percent: int
    next: Next
    forecast: tuple[ForecastLine, ...]
    stages: tuple[Stage, ...]
    steps: tuple[Finding, ...]
    done_earlier: tuple[DoneEarlier, ...] = ()
    """What fails today and is cleared by an earlier hop of this plan: it is told there, and not a step of this hop."""

    def open_in(self, stage: Stage) -> tuple[Finding, ...]:
        """The open findings of that stage, in the order in which it names them."""
        by_id = {finding.id: finding for finding in self.steps}
        return tuple(by_id[name] for name in stage.checks)

    def ways_back(self) -> tuple[str, ...]:
        """How one goes back at each stage; empty where it is as at the stage before."""
        told = [stage.back for stage in self.stages]
        return tuple("" if one == before else one for before, one in zip(["", *told], told, strict=False))

    def untold(self, cluster: str) -> tuple[FindingGroup, ...]:
        """What is not known at this hop, by what keeps it from being known."""
        return group_findings((one for one in self.steps if one.status == "unknown"), cluster=cluster)


class Runbook(msgspec.Struct, frozen=True, kw_only=True):
    schema: str = "karpdash/plan/v1"
    cluster: ClusterFacts
    scanned_at: str
    complete: bool
    target: str | None
    notes: tuple[str, ...]
    hops: tuple[RunbookHop, ...]
    known_up_to: TablesEnd | None = None


def runbook(report: Report) -> Runbook:
    """The runbook of a report; it has no hops when there is nothing left to do or no path could be told."""
    lines = {line.hop: line for line in report.hops}
    starts = (_running(report.cluster), *(step.release for step in report.target.path))
    walk = HelmWalk(report.cluster.installed)
    settled = settled_earlier([step.hop for step in report.target.path], report.checks)
    return Runbook(
        cluster=report.cluster,
        scanned_at=report.scanned_at,
        complete=report.complete,
        target=report.target.release,
        notes=(*report.cluster.disagreements, *report.target.notes),
        known_up_to=report.known_up_to,
        hops=tuple(
            _hop(report, step, start=start, line=lines[step.hop], walk=walk, settled=settled)
            for start, step in zip(starts, report.target.path, strict=False)
        ),
    )


def _hop(report: Report, step: PathStep, *, start: str, line: HopLine, walk: HelmWalk, settled: Settled) -> RunbookHop:
    judged = tuple(finding for finding in report.checks if finding.hop == step.hop)
    upgrades = walk.take(judged, start=start, lands=step.release)
    mine = tuple(finding for finding in judged if (step.hop, finding.id) not in settled)
    asked = tuple(in_the_plan(finding, upgrades) for finding in mine)
    return RunbookHop(
        starts=start,
        lands=step,
        verdict=line.verdict,
        done_percent=line.done_percent,
        next=_next(line.verdict, asked, step=step, cluster=report.cluster.name, before=settled.get((step.hop, WAITS))),
        forecast=forecast(asked),
        stages=stages(
            asked,
            step,
            start=start,
            installed=report.cluster.installed,
            upgrades=upgrades,
            parts=parts_of(judged, release=step.release),
            rewrites=any(way == step.hop and name == STORED for (_, name), way in settled.items()),
        ),
        steps=tuple(sorted((finding for finding in asked if finding.status in OPEN), key=by_work)),
        done_earlier=tuple(
            DoneEarlier(one.id, settled[step.hop, one.id])
            for one in sorted(judged, key=by_work)
            if (step.hop, one.id) in settled
        ),
    )


def _next(verdict: Verdict, findings: tuple[Finding, ...], *, step: PathStep, cluster: str, before: str | None) -> Next:
    """`before` is the hop that has to be taken first; None where this one can be taken now."""
    told = next_step(verdict, findings, release=step.release, cluster=cluster)
    if before is None:
        return Next(safe=told.safe, do=told.do, check=told.check, others=told.others)
    if verdict == "later":
        return Next(safe="Later: nothing stands in the way but the hops before", do=f"Take hop {before} first")
    return Next(safe=f"Later, after hop {before}. {told.safe}", do=told.do, check=told.check, others=told.others)


def _running(facts: ClusterFacts) -> str:
    return facts.karpenter_version or (facts.karpenter_range[0] if facts.karpenter_range else "")

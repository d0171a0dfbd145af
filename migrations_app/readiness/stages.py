"""The work of a hop in the order in which it is done: what must be clear before, the landing, and what follows it.

A blocker stops the hop wherever it stands, so it is cleared before the landing even where its phase comes later.
"""

from collections.abc import Iterable, Iterator
from typing import Literal

import msgspec

from migrations_app.checks.values import PHASES, Finding, Phase, Remedy
from migrations_app.karpenter import no_return
from migrations_app.readiness.landing import controller_commands, crd_commands
from migrations_app.readiness.report import Installed, PathStep

OPEN = ("fail", "unknown", "manual")
LANDS = "hop_crds_installed"
"""The check that the landing itself answers: its evidence says what the new CRDs bring."""
Part = Literal["before", "land", "after", "verify"]
BEFORE: tuple[Phase, ...] = ("preflight", "iam", "crds", "controller")
AFTER: tuple[Phase, ...] = ("resources", "workloads", "rollout", "cleanup")
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
    findings: Iterable[Finding], step: PathStep, *, start: str, installed: Installed | None
) -> tuple[Stage, ...]:
    """The stages that hold anything: open findings, commands, or something that cannot be undone."""
    asked = sorted(findings, key=by_work)
    return (
        *_clear(asked, step, start=start),
        *_land(asked, step, start=start, installed=installed),
        *_follow(asked, step),
        Stage(part="verify", phase="cleanup", does="Scan again: the hop is done when its verdict says so"),
    )


def by_work(finding: Finding) -> tuple[int, int, int, str]:
    """Sorts by phase; inside one blockers first, failures before what is not known."""
    severity = ("blocker", "warning", "info").index(finding.severity)
    known = OPEN.index(finding.status) if finding.status in OPEN else len(OPEN)
    return PHASES.index(finding.phase), severity, known, finding.id


def _clear(asked: list[Finding], step: PathStep, *, start: str) -> Iterator[Stage]:
    for phase in PHASES:
        here = [one for one in asked if one.phase == phase and _comes_before(one) and one.id != LANDS]
        lost = (_RAISED,) if phase == "preflight" and step.kubernetes_fits is False else ()
        if here or lost:
            back = f"{start or 'The running release'} runs on; nothing of the hop has been done"
            yield _stage("before", phase, does=_CLEAR[phase], findings=here, back=back, no_return=lost)


_RAISED = Lost(
    "A Kubernetes version that was raised for the hop cannot be lowered again",
    "The way back has to support the newer Kubernetes too",
)


def _comes_before(finding: Finding) -> bool:
    return finding.phase in BEFORE or finding.open_blocker


def _land(asked: list[Finding], step: PathStep, *, start: str, installed: Installed | None) -> Iterator[Stage]:
    told = [one for one in asked if one.id == LANDS and one.status in OPEN]
    ours = tuple(remedy for one in told for remedy in one.remedies if remedy.how == "action")
    yield Stage(
        part="land",
        phase="crds",
        does=f"Install the CRDs of {step.release}",
        checks=tuple(one.id for one in told),
        commands=(*crd_commands(step.release, installed), *ours),
        back=f"{start} still runs; apply its own CRDs again" if start in step.rollback_to else _way_back(step),
        no_return=_lost(step.hop, "crds"),
    )
    yield Stage(
        part="land",
        phase="controller",
        does=f"Upgrade the controller to {step.release}",
        commands=controller_commands(step.release, installed),
        back=_way_back(step),
        caveats=step.caveats,
        no_return=(*_lost(step.hop, "controller"), *_not_back_to(start, step)),
    )


def _follow(asked: list[Finding], step: PathStep) -> Iterator[Stage]:
    for phase in AFTER:
        here = [one for one in asked if one.phase == phase and not _comes_before(one)]
        lost = _lost(step.hop, phase)
        if here or lost:
            yield _stage("after", phase, does=_FOLLOW[phase], findings=here, back=_way_back(step), no_return=lost)


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
    return tuple(Lost(row.what, row.back, row.source) for row in no_return.after(hop, phase))

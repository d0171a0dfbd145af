"""Steps of a journey around deliveries of Flux and Argo CD: what would take changes back is paused before them, and
resumed at the end, once a person has looked at its sources.

What brings the new release itself is paused only after the landing: paused, it would bring nothing.
"""

from collections.abc import Collection, Iterable, Sequence
from typing import NamedTuple

from msgspec import UNSET

from migrations_app.checks.base import Finding
from migrations_app.checks.changes import DeliveryPause, DeliveryResume
from migrations_app.journeys.plan import JourneyStep
from migrations_app.readiness.plan.runbook import RunbookHop
from migrations_app.readiness.plan.stages import Stage
from migrations_app.readiness.report import Installed

PAUSE, RESUME = "pause_deliveries", "resume_deliveries"
ASKED_BY = "gitops_paused"
"""The check whose fix is the pause."""
BRINGS_RELEASES = ("upgrade_controller", "upgrade_delivery")
"""Actions whose changes no delivery takes back: helm's release is kept by none, and a delivery's object by itself."""
GITOPS = ("argocd", "flux")


def resumes(stage: Stage) -> bool:
    """Whether the stage switches deliveries on again."""
    return any(isinstance(command.change, DeliveryResume) for command in stage.commands)


def acting(findings: Iterable[Finding]) -> tuple[str, ...]:
    """The deliveries that act by themselves, each `Kind namespace/name`."""
    changes = [remedy.change for finding in findings if finding.id == ASKED_BY for remedy in finding.remedies]
    targets = (change.target for change in changes if isinstance(change, DeliveryPause))
    return tuple(dict.fromkeys(f"{target.kind} {target.namespace}/{target.name}" for target in targets))


class StepDone(NamedTuple):
    """How far a step is whose rollout pauses or resumes: the state of the rollout, empty if there is none."""

    step: JourneyStep
    rollout: str


NOT_BEGUN = ("", "draft", "previewed", "awaiting_approval", "approved", "rejected", "expired", "rolled_back")
"""States of a rollout in which it has changed nothing, or nothing any more."""


def left_paused(steps: Iterable[StepDone]) -> tuple[str, ...]:
    """The deliveries that the steps have paused, or may have, and not resumed; each `Kind namespace/name`."""
    deliveries: dict[str, None] = {}
    for step in steps:
        names = step.step.parameters.get("deliveries") or ()
        if step.step.action == PAUSE and step.rollout not in NOT_BEGUN:
            deliveries |= dict.fromkeys(map(str, names))
        elif step.step.action == RESUME and step.rollout == "succeeded":
            deliveries = {name: None for name in deliveries if name not in names}
    return tuple(deliveries)


def with_pauses(
    steps: Sequence[JourneyStep], hop: RunbookHop, *, installed: Installed | None
) -> tuple[JourneyStep, ...]:
    """The steps with those that pause and resume beside them; as they are where nothing of them would be reverted."""
    every = acting(hop.steps)
    places = [
        place
        for place, journey_step in enumerate(steps)
        if journey_step.kind == "rollout" and journey_step.action not in BRINGS_RELEASES
    ]
    if not every or not places:
        return tuple(steps)
    carrying = _carrying(every, installed)
    landing = next((place for place, journey_step in enumerate(steps) if journey_step.release == hop.lands.release), -1)
    after = next((place for place in places if place > landing), None)
    names_by_place: dict[int, list[str]] = {}
    for name in every:
        place = after if name in carrying else places[0]
        if place is not None:
            names_by_place.setdefault(place, []).append(name)
    return tuple(_woven(steps, names_by_place)) if names_by_place else tuple(steps)


def _carrying(every: Collection[str], installed: Installed | None) -> Collection[str]:
    """Those of the deliveries that have to run until the release has landed; all where nothing tells them apart."""
    if installed is None or not {installed.kept_by, installed.crds_kept_by} & set(GITOPS):
        return ()
    carriers = installed.carriers
    if carriers is UNSET or not carriers or any(carrier.elsewhere for carrier in carriers):
        return every
    return {carrier.said for carrier in carriers}


def _woven(steps: Sequence[JourneyStep], pauses: dict[int, list[str]]) -> Iterable[JourneyStep]:
    for place, step in enumerate(steps):
        if place in pauses:
            yield _pause(pauses[place], step)
        if place == len(steps) - 1:
            yield from _resume([name for here in sorted(pauses) for name in pauses[here]], step)
        yield step


def _pause(names: list[str], before: JourneyStep) -> JourneyStep:
    return JourneyStep(
        id="",
        kind="rollout",
        title=f"Pause {', '.join(names)}",
        phase=before.phase,
        action=PAUSE,
        parameters={"deliveries": names},
        settled=True,
        back="Resume them: karpdash keeps how they were",
    )


def _resume(names: list[str], before: JourneyStep) -> Iterable[JourneyStep]:
    deliveries = ", ".join(names)
    yield JourneyStep(
        id="", kind="person", title=f"See that the sources of {deliveries} say what the cluster holds now",
        phase=before.phase, protects=True, back=before.back,
    )  # fmt: skip
    yield JourneyStep(
        id="",
        kind="rollout",
        title=f"Resume {deliveries}",
        phase=before.phase,
        action=RESUME,
        parameters={"deliveries": names, "ahead": True},
        settled=True,
        back=before.back,
    )

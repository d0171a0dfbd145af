"""Adds the steps that pause deliveries of Flux and Argo CD before changes that they would revert, and resume them at
the end, after a person has compared their sources with the cluster.

A delivery that installs the new release is paused only after the upgrade: while paused, it would install nothing.
"""

from collections.abc import Collection, Iterable, Sequence
from typing import NamedTuple

from msgspec import UNSET

from migrations_app.checks.base import Finding
from migrations_app.checks.changes import DeliveryPause, DeliveryResume
from migrations_app.journeys.plan import JourneyStep
from migrations_app.readiness.report import InstallationFacts
from migrations_app.readiness.runbook.orphaned_webhooks import REMOVE_WEBHOOKS
from migrations_app.readiness.runbook.runbook import RunbookHop
from migrations_app.readiness.runbook.stages import RunbookStage

PAUSE, RESUME = "pause_deliveries", "resume_deliveries"
PAUSE_CHECK = "gitops_paused"
"""The check whose remedy is the pause."""
UNREVERTED_ACTIONS = ("upgrade_controller", "upgrade_delivery", REMOVE_WEBHOOKS)
"""Actions whose changes no delivery reverts: no delivery keeps helm's release, the next changes the delivery itself,
and the chart of the new release has no such webhooks."""
GITOPS = ("argocd", "flux")


def is_resume_stage(stage: RunbookStage) -> bool:
    """Returns whether the stage resumes deliveries."""
    return any(isinstance(command.change, DeliveryResume) for command in stage.commands)


def active_deliveries(findings: Iterable[Finding]) -> tuple[str, ...]:
    """Returns the deliveries that apply changes by themselves, each as `Kind namespace/name`."""
    changes = [remedy.change for finding in findings if finding.id == PAUSE_CHECK for remedy in finding.remedies]
    targets = (change.target for change in changes if isinstance(change, DeliveryPause))
    return tuple(dict.fromkeys(f"{target.kind} {target.namespace}/{target.name}" for target in targets))


class StepDone(NamedTuple):
    """A step that pauses or resumes, and the state of its rollout; empty if there is none."""

    step: JourneyStep
    rollout: str


NOT_BEGUN = ("", "draft", "previewed", "awaiting_approval", "approved", "rejected", "expired", "rolled_back")
"""States of a rollout that has changed nothing, or has undone every change."""


def paused_by_steps(steps: Iterable[StepDone]) -> tuple[str, ...]:
    """Returns the deliveries that the steps paused, or may have, and did not resume; each as `Kind namespace/name`."""
    paused: dict[str, None] = {}
    for step in steps:
        names = step.step.parameters.get("deliveries") or ()
        if step.step.action == PAUSE and step.rollout not in NOT_BEGUN:
            paused |= dict.fromkeys(map(str, names))
        elif step.step.action == RESUME and step.rollout == "succeeded":
            paused = {name: None for name in paused if name not in names}
    return tuple(paused)


def with_pauses(
    steps: Sequence[JourneyStep], hop: RunbookHop, *, installed: InstallationFacts | None
) -> tuple[JourneyStep, ...]:
    """Returns the steps with those that pause and resume added; unchanged if no delivery would revert a step."""
    deliveries = active_deliveries(hop.steps)
    places = [
        place
        for place, journey_step in enumerate(steps)
        if journey_step.kind == "rollout" and journey_step.action not in UNREVERTED_ACTIONS
    ]
    if not deliveries or not places:
        return tuple(steps)
    needed = _needed_for_upgrade(deliveries, installed)
    upgrade_place = next(
        (place for place, journey_step in enumerate(steps) if journey_step.release == hop.path_hop.release), -1
    )
    after = next((place for place in places if place > upgrade_place), None)
    names_by_place: dict[int, list[str]] = {}
    for name in deliveries:
        place = after if name in needed else places[0]
        if place is not None:
            names_by_place.setdefault(place, []).append(name)
    return tuple(_with_pause_steps(steps, names_by_place)) if names_by_place else tuple(steps)


def _needed_for_upgrade(deliveries: Collection[str], installed: InstallationFacts | None) -> Collection[str]:
    """Returns the deliveries that have to run until the upgrade is done; all of them if that cannot be decided."""
    if installed is None or not {installed.kept_by, installed.crds_kept_by} & set(GITOPS):
        return ()
    carriers = installed.carriers
    if carriers is UNSET or not carriers or any(carrier.elsewhere for carrier in carriers):
        return deliveries
    return {carrier.display_name for carrier in carriers}


def _with_pause_steps(steps: Sequence[JourneyStep], pauses: dict[int, list[str]]) -> Iterable[JourneyStep]:
    for place, step in enumerate(steps):
        if place in pauses:
            yield _pause(pauses[place], step)
        if place == len(steps) - 1:
            yield from _resume([name for pause_place in sorted(pauses) for name in pauses[pause_place]], step)
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

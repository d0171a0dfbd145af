"""Turns a draft into a preview: a fresh scan, the steps of the next hop, and each plan that can be made now.

The plans are made as rollouts, with dry runs and backups. These rollouts expire at once: they only serve the preview.
"""

import uuid
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import msgspec
from django.db import transaction
from django.utils import timezone
from msgspec import UNSET

from migrations_app.actions.plan import canonical
from migrations_app.errors import Conflict, InvalidInput
from migrations_app.inventory.facts.delivery_sources import APPLICATION, HELM_RELEASE
from migrations_app.journeys.compose import Choices, journey_steps
from migrations_app.journeys.deliveries import PAUSE, RESUME
from migrations_app.journeys.disruption_hold import HOLD, RELEASE
from migrations_app.journeys.outline import Outline
from migrations_app.journeys.plan import Command, JourneyPlan
from migrations_app.journeys.states import JourneyProgress, StepProgress
from migrations_app.karpenter.releases import as_tag
from migrations_app.karpenter.versions import parse
from migrations_app.models.journey import Journey, JourneyRollout, JourneyStepRow
from migrations_app.queries.rollouts.policies import UPGRADE_DELIVERY, action_allowed, controller_upgrades_allowed
from migrations_app.readiness.delivery_diff import diff_to_commit, values_of
from migrations_app.readiness.report import Report
from migrations_app.readiness.runbook.runbook import RunbookHop, runbook
from migrations_app.use_cases.audit.log import WORKER
from migrations_app.use_cases.journeys import step_rollouts
from migrations_app.use_cases.journeys.scans import MAX_SCAN_AGE, ask_for_scan, report_since
from migrations_app.use_cases.journeys.transitions import JourneyEvent, LoadedJourney, definition, move, store
from migrations_app.use_cases.rollouts.helm.values import hop_changes

PREVIEW = JourneyRollout.Purpose.PREVIEW
REPOSITORY_OF = {HELM_RELEASE: "flux", APPLICATION: "argocd"}
"""The tool that applies commits from a repository, by the kind of its object."""


@dataclass(slots=True)
class WorkToEnqueue:
    """The ids of rows to enqueue for workers; `again`: the journey itself can make another move at once."""

    scans: list[uuid.UUID] = field(default_factory=list)
    drafts: list[uuid.UUID] = field(default_factory=list)
    rollouts: list[uuid.UUID] = field(default_factory=list)
    again: bool = False


def prepare_journey(loaded: LoadedJourney) -> WorkToEnqueue:
    """Makes the next part of the preview of a draft; called again until the journey is no longer a draft."""
    if not loaded.steps:
        return _compose(loaded)
    pairs = [
        (step, step_rollouts.newest_rollout_for(step, purpose=PREVIEW))
        for step in loaded.steps
        if step.kind == "rollout"
    ]
    if any(rollout is not None and rollout.state == "draft" for _, rollout in pairs):
        return WorkToEnqueue(
            drafts=[rollout.pk for _, rollout in pairs if rollout is not None and rollout.state == "draft"]
        )
    with transaction.atomic():
        outlines: dict[str, Outline] = {}
        for step, rollout in pairs:
            outline = step_rollouts.outline_of(rollout) if rollout else None
            if rollout is not None and outline is not None:
                outlines[step.step] = outline
                if rollout.state == "previewed":
                    step_rollouts.withdraw(rollout, step_rollouts.SHOWN_MARK)
        plan = _plan(loaded, outlines)
        loaded.row.digest = plan.digest
        event = JourneyEvent(verb="journey.previewed", by=WORKER)
        move(loaded, "previewed", event=event, plan=canonical(plan), digest=plan.digest)
    return WorkToEnqueue()


def _compose(loaded: LoadedJourney) -> WorkToEnqueue:
    """Stores the steps of the next hop, and drafts the rollouts of the preview. Requests a scan if there is no fresh
    one.
    """
    row = loaded.row
    newest = report_since(row.cluster_id, row.made_at - MAX_SCAN_AGE)
    if newest is None:
        due = row.asked_at is None or timezone.now() - row.asked_at > MAX_SCAN_AGE
        scan_id = ask_for_scan(row) if due else None
        return WorkToEnqueue(scans=[scan_id] if scan_id else [])
    snapshot, report = newest
    hop = next(iter(runbook(report).hops), None)
    if hop is None:
        cause = JourneyEvent(verb="journey.expired", by=WORKER, code="no_hop", words=_why_no_hop(report))
        move(loaded, "expired", event=cause, cause_code="no_hop", cause=cause.words, finished_at=timezone.now())
        return WorkToEnqueue()
    parameters, soak = row.choices["parameters"], row.choices["soak_seconds"]
    choices = choices_of(row, report, hop=hop, parameters=parameters, soak=soak)
    steps = journey_steps(hop, installed=report.cluster.installed, choices=choices)
    with transaction.atomic():
        rows = [
            JourneyStepRow(
                journey=row,
                place=place,
                step=journey_step.id,
                kind=journey_step.kind,
                definition=msgspec.to_builtins(journey_step),
            )
            for place, journey_step in enumerate(steps)
        ]
        JourneyStepRow.objects.bulk_create(rows)
        loaded.steps = list(JourneyStepRow.objects.filter(journey=row).order_by("place"))
        if len(loaded.steps) != len(steps):
            raise Conflict("the journey was changed meanwhile", code="moved")
        drafts = [
            step_rollouts.plan_rollout(row, step, purpose=PREVIEW) for step in loaded.steps if step.kind == "rollout"
        ]
        progress = JourneyProgress("draft", tuple(StepProgress("waiting", protects=step.protects) for step in steps))
        columns = {
            "hop": hop.path_hop.name,
            "starts": hop.starts,
            "target_release": hop.path_hop.release,
            "snapshot_id": snapshot,
        }
        store(loaded, progress, event=JourneyEvent(verb="journey.composed", by=WORKER), columns=columns)
    return WorkToEnqueue(drafts=drafts, again=not drafts)


def choices_of(row: Journey, report: Report, *, hop: RunbookHop, parameters: Mapping[str, Any], soak: int) -> Choices:
    """The choices of the author, and which of its actions karpdash may use by installation and policy."""
    permitted = permitted_choices(row.cluster_id, parameters=parameters, soak=soak)
    return permitted._replace(diffs=dict(_changes_to_commit(report, hop)))


def permitted_choices(cluster_id: uuid.UUID, *, parameters: Mapping[str, Any], soak: int) -> Choices:
    """The choices as in `choices_of`, without the changes that a person commits."""
    return Choices(
        parameters,
        soak,
        by_helm=controller_upgrades_allowed(cluster_id),
        by_delivery=controller_upgrades_allowed(cluster_id, action=UPGRADE_DELIVERY),
        pauses=all(action_allowed(cluster_id, name) for name in (PAUSE, RESUME)),
        holds=all(action_allowed(cluster_id, name) for name in (HOLD, RELEASE)),
    )


def _changes_to_commit(report: Report, hop: RunbookHop) -> Iterator[tuple[str, Command]]:
    """The change that a person commits, by chart, if the object that installs the chart comes from a repository."""
    carriers = report.cluster.installed.carriers if report.cluster.installed else ()
    start, target_release = parse(hop.starts), parse(hop.path_hop.release)
    if carriers is UNSET or start is None or target_release is None:
        return
    for carrier in carriers:
        try:
            edits = hop_changes(
                report, values_of(carrier), chart=carrier.chart, start=start, target_release=target_release
            )
            text = diff_to_commit(carrier, version=as_tag(target_release), edits=edits)
        except InvalidInput:
            continue  # values from another source: the text of the runbook takes the place of a diff
        if text:
            yield carrier.chart, Command(REPOSITORY_OF[carrier.kind], text)


def _why_no_hop(report: Report) -> str:
    notes = report.target.notes
    return notes[0] if notes else "nothing is left to do, or the running release is not known"


def _plan(loaded: LoadedJourney, outlines: dict[str, Outline]) -> JourneyPlan:
    row = loaded.row
    return JourneyPlan(
        cluster=str(row.cluster_id),
        hop=row.hop,
        starts=row.starts,
        target_release=row.target_release,
        covers=row.covers,  # type: ignore[arg-type]  # one of COVERABLE, checked in the draft
        steps=tuple(definition(step) for step in loaded.steps),
        shown=outlines,
        author=row.author_name,
        snapshot=str(row.snapshot_id or ""),
    )

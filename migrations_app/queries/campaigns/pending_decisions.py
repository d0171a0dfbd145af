"""The decisions that wait for people in a campaign: plans to approve, plans that differ, and steps to confirm."""

import uuid
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Annotated

import msgspec
from django.db.models import Q, QuerySet
from msgspec import Meta

from migrations_app.actions.plan import Plan
from migrations_app.journeys.evidence import CheckSeen, StepEvidence
from migrations_app.journeys.outline import PlanDifference
from migrations_app.journeys.states import CURRENT
from migrations_app.models.campaign import CampaignMember
from migrations_app.models.journey import Journey, JourneyRollout, JourneyStepRow
from migrations_app.models.rollout import Rollout
from migrations_app.queries.rollouts.detail import doubts_of
from migrations_app.queries.visibility import visible

CONFIRMED = ("tick_needed", "confirmation_needed")
"""Wait codes of a journey whose step is finished by a person's confirmation."""
DIFFERING = ("plan_differs", "plan_not_shown")
"""Causes of a paused journey that an operator resolves by accepting the plan."""
MAX_ON_A_PAGE = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class WaitingDecision:
    """One thing that a person decides. `version` is that of the journey; `digest` and `nonce` are those of the plan."""

    key: Annotated[str, Meta(description="Names it in a decision; it changes with what is decided on.")]
    kind: Annotated[str, Meta(description="plan: to be approved; differing: a plan to be accepted; step: to confirm.")]
    cluster: str
    journey: uuid.UUID
    step: str
    version: int
    title: str
    code: Annotated[str, Meta(description="Why it waits.")]
    checks: Annotated[tuple[CheckSeen, ...], Meta(description="What the newest scan says of the step.")]
    rollout: uuid.UUID | None
    digest: str
    nonce: str
    risk: str
    does: Annotated[tuple[str, ...], Meta(description="The steps of the plan.")]
    differences: Annotated[tuple[PlanDifference, ...], Meta(description="How it differs from what was shown.")]
    doubts: Annotated[dict[str, str], Meta(description="Steps of the plan that are accepted one by one, with why.")]


@dataclass(frozen=True, slots=True, kw_only=True)
class WaitingWork:
    """An upgrade that waits for a person who has nothing to decide here: for work with another tool, or because it
    stopped. `code` says why.
    """

    cluster: str
    journey: uuid.UUID
    title: str
    code: str
    stopped: bool


def waiting_in(campaign_id: uuid.UUID) -> tuple[WaitingDecision, ...]:
    """All decisions that wait for a person, for the clusters that the caller may see, by wave; at most
    MAX_ON_A_PAGE.
    """
    decisions = (decision for member in _open_members(campaign_id) for decision in _of(member))
    return tuple(islice(decisions, MAX_ON_A_PAGE))


def work_in(campaign_id: uuid.UUID, *, decided_here: Collection[uuid.UUID]) -> tuple[WaitingWork, ...]:
    """The other upgrades that wait for a person or stopped, by wave, without the journeys of `decided_here` and those
    that were paused with the campaign; at most MAX_ON_A_PAGE.
    """
    waiting = Q(journey__needs_person=True) | Q(journey__state="paused", paused_with=False)
    members = _open_members(campaign_id).filter(waiting).exclude(journey__in=decided_here)
    return tuple(
        _work(member.cluster_name, journey)
        for member in members[:MAX_ON_A_PAGE]
        if (journey := member.journey) is not None
    )


def _work(cluster: str, journey: Journey) -> WaitingWork:
    row = journey.steps.filter(state__in=CURRENT).first()
    stopped = journey.state == "paused"
    return WaitingWork(
        cluster=cluster,
        journey=journey.pk,
        title=str(row.definition.get("title", "")) if row else "",
        code=journey.cause_code if stopped else journey.wait_code,
        stopped=stopped,
    )


def _open_members(campaign_id: uuid.UUID) -> QuerySet[CampaignMember]:
    """The members with an upgrade in progress that the caller may see, by wave."""
    members = CampaignMember.objects.filter(visible(), campaign_id=campaign_id, journey__isnull=False)
    open_members = members.filter(campaign__state__in=("running", "paused")).select_related("journey")
    rows = open_members.filter(journey__state__in=("running", "paused")).order_by("wave", "place")
    return rows.defer("shown", "journey__plan")


def _of(member: CampaignMember) -> Iterator[WaitingDecision]:
    journey = member.journey
    row = JourneyStepRow.objects.filter(journey=journey, state="running").first() if journey else None
    if journey is None or row is None:
        return
    link = row.made.filter(purpose=JourneyRollout.Purpose.WORK).select_related("rollout").last()
    rollout = link.rollout if link else None
    if journey.state == "running" and journey.wait_code in CONFIRMED:
        yield _decision(member.cluster_name, journey, row=row, kind="step", code=journey.wait_code)
    elif rollout is None:
        return
    elif journey.state == "paused" and journey.cause_code in DIFFERING and rollout.state == "previewed":
        yield _decision(
            member.cluster_name, journey, row=row, kind="differing", code=journey.cause_code, rollout=rollout
        )
    elif journey.state == "running" and rollout.state == "awaiting_approval":
        yield _decision(member.cluster_name, journey, row=row, kind="plan", code="approval_needed", rollout=rollout)


def _decision(
    cluster: str, journey: Journey, *, row: JourneyStepRow, kind: str, code: str, rollout: Rollout | None = None
) -> WaitingDecision:
    plan = msgspec.json.decode(bytes(rollout.plan), type=Plan) if rollout is not None else None
    evidence = msgspec.convert(row.evidence, type=StepEvidence) if row.evidence else None
    title = rollout.title if rollout is not None else str(row.definition.get("title", ""))
    digest = rollout.digest if rollout is not None else ""
    # A plan that was made again may have the same digest, but needs a new decision.
    which = f"{rollout.pk}.{digest}" if rollout is not None else journey.version
    return WaitingDecision(
        key=f"{kind}.{journey.pk}.{row.step}.{which}",
        kind=kind,
        cluster=rollout.cluster_name if rollout is not None else cluster,
        journey=journey.pk,
        step=row.step,
        version=journey.version,
        title=title,
        code=code,
        checks=evidence.checks if evidence else (),
        rollout=rollout.pk if rollout is not None else None,
        digest=digest,
        nonce=rollout.nonce if rollout is not None else "",
        risk=rollout.risk if rollout is not None else "",
        does=tuple(step.title for step in plan.steps) if plan is not None else (),
        differences=tuple(msgspec.convert(row.differences, type=list[PlanDifference])),
        doubts=doubts_of(rollout, plan) if rollout is not None and plan is not None else {},
    )

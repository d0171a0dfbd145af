"""The journeys of a campaign's clusters: drafted in their turn, compared with what was shown, approved and started.

Everything that guards a journey and its rollouts guards these; the campaign only saves people the same answer twice.
"""

import uuid
from contextlib import suppress
from datetime import timedelta

import msgspec
from django.contrib.auth.models import User
from django.db import transaction
from django.utils import timezone

from migrations_app.access import Method, Person
from migrations_app.campaigns.preview import differs
from migrations_app.errors import Conflict, PermissionDenied
from migrations_app.journeys.plan import JourneyPlan
from migrations_app.journeys.states import PLANNED
from migrations_app.models.campaign import CampaignMember
from migrations_app.models.journey import Journey
from migrations_app.queries.campaigns.agreement import campaign_approvals_valid
from migrations_app.queries.visibility import rights_over
from migrations_app.use_cases.audit.log import WORKER, Actor
from migrations_app.use_cases.campaigns.transitions import LoadedCampaign, shown_of
from migrations_app.use_cases.journeys import approvals, lifecycle
from migrations_app.use_cases.journeys.carried import carry_to_journey
from migrations_app.use_cases.journeys.drafts import JourneyRequest, draft_journey
from migrations_app.use_cases.rollouts.approvals import CarriedApproval

COVERS_FOR = timedelta(days=30)
"""How long after its start the approval of a campaign covers journeys."""


def draft_of(here: LoadedCampaign, member: CampaignMember) -> uuid.UUID:
    """Drafts the journey of the cluster's next hop, in the caller's transaction. Its author is that of the campaign.

    Raises as `draft_journey`, and Conflict `author_gone`, `cluster_gone`.
    """
    if member.cluster_id is None:
        raise Conflict("the registration of the cluster was removed", code="cluster_gone")
    recipe, row = here.recipe, here.row
    wanted = JourneyRequest(
        covers=recipe.covers,
        parameters=recipe.parameters,
        soak_seconds=recipe.soak_seconds,
        ticket=row.ticket,
        note=f"campaign {row.name}",
    )
    return draft_journey(member.cluster_id, wanted, person=_author(here, member.cluster_id), by=WORKER)


def differences_of(here: LoadedCampaign, member: CampaignMember, *, journey: Journey) -> tuple[str, ...]:
    """Codes of why the campaign's approval does not cover the previewed journey; empty if it does."""
    shown = shown_of(member)
    plan = msgspec.json.decode(bytes(journey.plan), type=JourneyPlan)
    nodes = max((one.count for outline in plan.shown.values() for one in outline.nodes), default=0)
    found = list(differs(shown, lands=journey.lands, steps=plan.steps, nodes=nodes))
    cluster = member.cluster
    if cluster is None or (cluster.kube_system_uid, cluster.ca_digest) != (shown.uid, shown.ca):
        found.append("other_cluster")
    began = here.row.started_at
    if began is None or timezone.now() - began >= COVERS_FOR:
        found.append("approval_old")
    return tuple(found)


def cover_journey(here: LoadedCampaign, member: CampaignMember, *, journey: uuid.UUID) -> Journey:
    """Asks for the approval of the journey and gives it those of the campaign; by the policy of now more may miss."""
    given = [
        CarriedApproval(approver_id=one.approver_id, approver_name=one.approver_name, step_up=one.step_up)
        for one in campaign_approvals_valid(here.row, here.clusters)
    ]
    with transaction.atomic():
        asked = ask_journey_of(here, member, journey=journey)
        if asked.state == "awaiting_approval":
            return carry_to_journey(journey, given, source=f"campaign {here.row.pk}", by=WORKER)
        return asked


def ask_journey_of(here: LoadedCampaign, member: CampaignMember, *, journey: uuid.UUID) -> Journey:
    """Asks people to approve the journey itself."""
    return approvals.ask_journey(journey, _author(here, member.cluster_id), by=WORKER)


def start_journey_of(here: LoadedCampaign, journey: Journey) -> None:
    """Starts the journey with the rights of who started the campaign. Raises as `start_journey`."""
    row = here.row
    person = account(row.starter_id, journey.cluster_id, token=row.started_by_token)
    lifecycle.start_journey(journey.pk, person, digest=journey.digest, by=WORKER)


def pause_journeys(here: LoadedCampaign, person: Person, *, by: Actor) -> None:
    """Pauses the journeys under way, and marks them to be resumed together with the campaign."""
    for member in here.members:
        if member.state == "running" and member.journey is not None and member.journey.state == "running":
            with suppress(Conflict, PermissionDenied), transaction.atomic():
                lifecycle.pause_journey(member.journey.pk, person, by=by)
                CampaignMember.objects.filter(pk=member.pk).update(paused_with=True)


def resume_journeys(here: LoadedCampaign, person: Person, *, by: Actor) -> None:
    """Resumes the journeys that were paused with the campaign, by the kill switch or by the audit log.

    One that cannot be resumed stays paused, and is seen as stopped with the next look.
    """
    for member in here.members:
        made = member.journey
        if made is None or made.state != "paused" or member.state != "running":
            continue
        if member.paused_with or made.cause_code in ("kill_switch", "audit"):
            with suppress(Conflict, PermissionDenied), transaction.atomic():
                lifecycle.resume_journey(made.pk, person, by=by)
        CampaignMember.objects.filter(pk=member.pk).update(paused_with=False)


def withdraw_journeys(here: LoadedCampaign, person: Person, *, reason: str, by: Actor) -> None:
    """Withdraws the journeys that were not started."""
    for member in here.members:
        if member.journey is not None and member.journey.state in PLANNED:
            with suppress(Conflict, PermissionDenied), transaction.atomic():
                approvals.reject_journey(member.journey.pk, person, reason=reason, by=by)


def account(user_id: int | None, cluster_id: uuid.UUID, *, token: bool = False) -> Person:
    """That account with its rights of now over the cluster. Raises Conflict `starter_gone` if it is closed."""
    user = User.objects.filter(pk=user_id or 0, is_active=True).first()
    if user is None:
        raise Conflict("the account that started the campaign is closed", code="starter_gone")
    method: Method = "token" if token else "session"
    return Person(id=user.pk, name=user.get_username(), rights=rights_over(user, cluster_id), method=method)


def _author(here: LoadedCampaign, cluster_id: uuid.UUID | None) -> Person:
    user = User.objects.filter(pk=here.row.author_id or 0, is_active=True).first()
    if user is None or cluster_id is None:
        raise Conflict("the account that made the campaign is closed", code="author_gone")
    return Person(id=user.pk, name=user.get_username(), rights=rights_over(user, cluster_id))

"""The journeys of a campaign's clusters: drafted in the order of the waves, compared with the preview, approved,
started. They have the same protection as all journeys and rollouts; a campaign only saves people repeated decisions.
"""

import uuid
from collections.abc import Mapping
from datetime import timedelta
from typing import Any

import msgspec
from django.contrib.auth.models import User
from django.db import transaction
from django.utils import timezone

from migrations_app.access import Method, Person
from migrations_app.campaigns.campaign_preview import destroyed_by
from migrations_app.campaigns.preview import differs
from migrations_app.campaigns.states import AT_WORK
from migrations_app.errors import Conflict
from migrations_app.journeys.plan import JourneyPlan
from migrations_app.journeys.prior_approval import PriorApproval, WeighedChecks
from migrations_app.journeys.states import PLANNED
from migrations_app.models.campaign import CampaignMember
from migrations_app.models.journey import Journey
from migrations_app.models.rollout import Rollout
from migrations_app.queries.campaigns.agreement import campaign_approvals_valid
from migrations_app.queries.visibility import rights_over
from migrations_app.use_cases.audit.log import WORKER, Actor
from migrations_app.use_cases.campaigns.transitions import LoadedCampaign, preview_of
from migrations_app.use_cases.journeys import approvals, lifecycle
from migrations_app.use_cases.journeys.advance_decisions import cover_with_campaign
from migrations_app.use_cases.journeys.approval_copies import copy_approvals_to_journey
from migrations_app.use_cases.journeys.drafts import JourneyRequest, draft_journey
from migrations_app.use_cases.journeys.lifecycle import ROLLOUT_HOLDS
from migrations_app.use_cases.rollouts.approvals import CarriedApproval

CLUSTER = "{cluster}"
"""A placeholder in parameters for the registered name of the cluster."""
COVER_LIFETIME = timedelta(days=30)
"""How long after its start the approval of a campaign covers journeys."""
PASSES = frozenset({"busy", "closed", "journey_open", "moved"})
"""Refusals that pass without a person: another rollout or journey of the cluster, a change window."""
ASKED_TO_PAUSE = frozenset({Rollout.StopRequest.PAUSE.value, "kill_switch", "audit"})
"""Causes of a paused rollout that are no failure of the rollout itself."""
STOPPED_WITH_ALL = frozenset({"kill_switch", "audit"})
"""Causes of a paused journey that stop every campaign, too: the journey is resumed with the campaign."""


def draft_of(loaded: LoadedCampaign, member: CampaignMember) -> uuid.UUID:
    """Drafts the journey of the cluster's next hop, in the caller's transaction.

    Its author is the campaign's author. Raises as `draft_journey`, and Conflict `author_gone`, `cluster_gone`.
    """
    if member.cluster_id is None:
        raise Conflict("the registration of the cluster was removed", code="cluster_gone")
    recipe, row = loaded.recipe, loaded.row
    request = JourneyRequest(
        covers=recipe.covers,
        parameters=_with_cluster_name(recipe.parameters, member.cluster_name),
        soak_seconds=recipe.soak_seconds,
        ticket=row.ticket,
        note=f"campaign {row.name}",
        prior=_decisions_for(loaded, member),
    )
    return draft_journey(member.cluster_id, request, person=_author(loaded, member.cluster_id), by=WORKER)


def _with_cluster_name(parameters: Mapping[str, Mapping[str, Any]], name: str) -> dict[str, dict[str, Any]]:
    """The parameters with the cluster's name in place of CLUSTER."""
    return {
        action: {
            key: value.replace(CLUSTER, name) if isinstance(value, str) else value for key, value in values.items()
        }
        for action, values in parameters.items()
    }


def _decisions_for(loaded: LoadedCampaign, member: CampaignMember) -> PriorApproval:
    """The decisions that the approval of the campaign contains for this cluster: confirmed checks, and the plans that
    may be made without a preview.
    """
    recipe, row, preview = loaded.recipe, loaded.row, preview_of(member)
    actions = {hop.target_release: tuple(step.action for step in hop.steps if step.action) for hop in preview.hops}
    objects = destroyed_by(preview)
    return PriorApproval(
        source=f"campaign {row.name}",
        by=row.author_name,
        note=recipe.weighed,
        accepts=recipe.accepts,
        weighed={
            hop.target_release: WeighedChecks(hop.asked, hop.again, tuple(warning.check for warning in hop.warns))
            for hop in preview.hops
        },
        actions=actions if recipe.unseen else {},
        destroys={
            target_release: tuple(action for action in names if action in recipe.destroys)
            for target_release, names in actions.items()
        }
        if objects
        else {},
        objects=objects,
        cluster=f"{preview.uid} {preview.ca}",
        nodes=preview.owned,
    )


def differences_of(loaded: LoadedCampaign, member: CampaignMember, *, journey: Journey) -> tuple[str, ...]:
    """Codes of the reasons why the campaign's approval does not cover the previewed journey; empty if it does."""
    preview = preview_of(member)
    plan = msgspec.json.decode(bytes(journey.plan), type=JourneyPlan)
    nodes = max((node.count for outline in plan.shown.values() for node in outline.nodes), default=0)
    codes = list(differs(preview, target_release=journey.target_release, steps=plan.steps, nodes=nodes))
    cluster = member.cluster
    if cluster is None or (cluster.kube_system_uid, cluster.ca_digest) != (preview.uid, preview.ca):
        codes.append("other_cluster")
    began = loaded.row.started_at
    if began is None or timezone.now() - began >= COVER_LIFETIME:
        codes.append("approval_old")
    return tuple(codes)


def cover_journey(loaded: LoadedCampaign, member: CampaignMember, *, journey: uuid.UUID) -> Journey:
    """Requests approval of the journey and copies the campaign's approvals to it; the current policy may
    require more.
    """
    campaign_approvals = [
        CarriedApproval(
            approver_id=approval.approver_id, approver_name=approval.approver_name, step_up=approval.step_up
        )
        for approval in campaign_approvals_valid(loaded.row, loaded.clusters)
    ]
    with transaction.atomic():
        request_approval_of_journey(loaded, member, journey=journey)
        covered = copy_approvals_to_journey(journey, campaign_approvals, source=f"campaign {loaded.row.pk}", by=WORKER)
        cover_with_campaign(covered)
        return covered


def request_approval_of_journey(loaded: LoadedCampaign, member: CampaignMember, *, journey: uuid.UUID) -> Journey:
    """Requests people's approval of the journey itself."""
    return approvals.request_journey_approval(journey, _author(loaded, member.cluster_id), by=WORKER)


def start_journey_of(loaded: LoadedCampaign, journey: Journey) -> None:
    """Starts the journey with the rights of the person who started the campaign. Raises as `start_journey`."""
    row = loaded.row
    person = account(row.starter_id, journey.cluster_id, token=row.started_by_token)
    lifecycle.start_journey(journey.pk, person, digest=journey.digest, by=WORKER)


def hold_journeys(loaded: LoadedCampaign) -> None:
    """Locks the active journeys and their rollouts, before the first event of the transaction.

    Workers lock them before the head of the audit log, too, so that there is no deadlock.
    """
    journey_ids = sorted(
        member.journey_id for member in loaded.members if member.journey_id and member.state in AT_WORK
    )
    locked = list(
        Journey.objects.select_for_update().filter(pk__in=journey_ids).order_by("pk").values_list("pk", flat=True)
    )
    rollouts = Rollout.objects.filter(journey_part__step__journey_id__in=locked, state__in=ROLLOUT_HOLDS)
    list(Rollout.objects.select_for_update().filter(pk__in=rollouts.values("pk")).order_by("pk").values_list("pk"))


def pause_journeys(loaded: LoadedCampaign, *, by: Actor, except_member: int = 0) -> None:
    """Pauses the active journeys, and marks them to be resumed together with the campaign.

    The caller has checked the rights for every cluster, or the approved recipe says that all stop with one cluster
    (`except_member`).
    """
    for member in loaded.members:
        if member.journey_id is None or member.state not in AT_WORK or member.pk == except_member:
            continue
        if lifecycle.pause_if_running(member.journey_id, by=by):
            CampaignMember.objects.filter(pk=member.pk).update(paused_with=True)


def resume_journeys(loaded: LoadedCampaign, person: Person, *, by: Actor) -> None:
    """Resumes the journeys that were paused with the campaign, by the kill switch or by the audit log.

    A journey that has to wait for a change window or another rollout stays paused, and the worker tries it again.
    Raises Conflict with the name of the cluster whose journey cannot be resumed; then nothing is resumed.
    """
    for member in loaded.members:
        journey = member.journey
        if journey is None or journey.state != "paused" or member.state not in AT_WORK:
            continue
        if not (member.paused_with or journey.cause_code in STOPPED_WITH_ALL):
            continue
        try:
            waits = not resume_with(member, person, by=by)
        except Conflict as refused:
            raise Conflict(f"{member.cluster_name}: {refused.message}", code=refused.code) from None
        CampaignMember.objects.filter(pk=member.pk).update(paused_with=waits)


def resume_with(member: CampaignMember, person: Person, *, by: Actor, again: bool = True) -> bool:
    """Resumes the journey of one cluster; False if it has to wait.

    Raises PermissionDenied, Conflict. Budgets that are held for its pause are restored first, and then the journey
    resumes by itself: the campaign has nothing more to do, and a later pause counts as one by a person. `again` as in
    `resume_journey`.
    """
    try:
        with transaction.atomic():
            _refuse_stopped_rollout(_journey_of(member))
            lifecycle.resume_journey(_journey_of(member), person, by=by, again=again)
    except Conflict as refused:
        if refused.code not in PASSES:
            raise
        # "moved": the journey was resumed or ended meanwhile
        return refused.code == "moved"
    return True


def _refuse_stopped_rollout(journey_id: uuid.UUID) -> None:
    """Raises Conflict `rollout_paused` if its rollout has stopped by itself: a person has to decide about that
    first.
    """
    rollouts = Rollout.objects.filter(journey_part__step__journey_id=journey_id, state="paused")
    if rollouts.exclude(cause_code__in=sorted(ASKED_TO_PAUSE)).exists():
        raise Conflict("its rollout has stopped: resume or abort it there first", code="rollout_paused")


def withdraw_journeys(loaded: LoadedCampaign, person: Person, *, reason: str, by: Actor) -> None:
    """Withdraws the journeys that were not started. Raises PermissionDenied, Conflict."""
    for member in loaded.members:
        if member.journey is not None and member.journey.state in PLANNED:
            approvals.reject_journey(member.journey.pk, person, reason=reason, by=by)


def _journey_of(member: CampaignMember) -> uuid.UUID:
    if member.journey_id is None:
        raise Conflict("the cluster has no upgrade in progress", code="moved")
    return member.journey_id


def account(user_id: int | None, cluster_id: uuid.UUID, *, token: bool = False) -> Person:
    """The person of that account with current rights over the cluster. Raises Conflict `starter_gone` if the account is
    closed.
    """
    user = User.objects.filter(pk=user_id or 0, is_active=True).first()
    if user is None:
        raise Conflict("the account that started the campaign is closed", code="starter_gone")
    method: Method = "token" if token else "session"
    return Person(id=user.pk, name=user.get_username(), rights=rights_over(user, cluster_id), method=method)


def _author(loaded: LoadedCampaign, cluster_id: uuid.UUID | None) -> Person:
    user = User.objects.filter(pk=loaded.row.author_id or 0, is_active=True).first()
    if user is None or cluster_id is None:
        raise Conflict("the account that made the campaign is closed", code="author_gone")
    return Person(id=user.pk, name=user.get_username(), rights=rights_over(user, cluster_id))

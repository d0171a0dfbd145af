"""Starts, pauses, resumes and aborts campaigns, and expires those that were not started in time."""

import uuid
from typing import Any

from django.db import transaction
from django.utils import timezone

from migrations_app.access import Person, may_start, may_stop
from migrations_app.campaigns.campaign_preview import PREVIEWER_VERSION
from migrations_app.campaigns.states import UNSTARTED
from migrations_app.errors import Conflict
from migrations_app.models.campaign import Campaign, CampaignMember
from migrations_app.queries.campaigns.agreement import campaign_approvals_needed, campaign_approvals_valid
from migrations_app.use_cases.accounts.rights import person_over_clusters, refuse_person
from migrations_app.use_cases.audit.log import WORKER, Actor
from migrations_app.use_cases.campaigns import member_journeys
from migrations_app.use_cases.campaigns.approvals import (
    refuse_expired_campaign,
    refuse_other_version,
    refuse_unless_in_state,
)
from migrations_app.use_cases.campaigns.transitions import (
    CampaignEvent,
    LoadedCampaign,
    load_campaign,
    store_campaign,
)
from migrations_app.use_cases.journeys.lifecycle import starter_columns
from migrations_app.use_cases.rollouts.start_checks import refuse_changes

QUIET_CAMPAIGN: dict[str, Any] = {"cause_code": "", "cause": "", "wait_code": "", "needs_person": False}
MAX_EXPIRED_PER_SWEEP = 200


def start_campaign(
    campaign_id: uuid.UUID, person: Person, *, digest: str, by: Actor, version: int | None = None
) -> Campaign:
    """Starts an approved campaign. Digest, approvers' rights and policies are checked under the row's lock (A41).

    Raises PermissionDenied, Conflict: `digest_moved`, `approval_missing`, `kill_switch`, `audit_blocked`, `expired`,
    `moved`.
    """
    with transaction.atomic():
        loaded = load_campaign(campaign_id, lock=True)
        refuse_person(may_start(person_over_clusters(person, loaded.clusters)))
        if digest != loaded.row.digest:
            raise Conflict("the campaign has changed since it was shown", code="digest_moved")
        refuse_other_version(loaded, version)
        if loaded.row.state != "approved":
            raise Conflict(f"a campaign that is {loaded.row.state.replace('_', ' ')} cannot be started", code="moved")
        refuse_expired_campaign(loaded.row)
        if loaded.plan.previewer != PREVIEWER_VERSION:
            raise Conflict("the campaign was made by another release of karpdash; create a new one", code="expired")
        refuse_changes()
        refuse_unapproved(loaded, person)
        columns = {**QUIET_CAMPAIGN, **starter_columns(person), "started_at": timezone.now()}
        store_campaign(loaded, "running", event=CampaignEvent(verb="campaign.running", by=by), **columns)
    return loaded.row


def pause_campaign(campaign_id: uuid.UUID, person: Person, *, by: Actor, version: int | None = None) -> Campaign:
    """Pauses the campaign and its active journeys. Raises PermissionDenied, Conflict."""
    with transaction.atomic():
        loaded = load_campaign(campaign_id, lock=True)
        refuse_person(may_stop(person_over_clusters(person, loaded.clusters)))
        refuse_other_version(loaded, version)
        columns = {**QUIET_CAMPAIGN, "cause_code": "asked"}
        refuse_unless_in_state(loaded, "running")
        member_journeys.hold_journeys(loaded)
        store_campaign(loaded, "paused", event=CampaignEvent(verb="campaign.paused", by=by, code="asked"), **columns)
        member_journeys.pause_journeys(loaded, by=by)
    return loaded.row


def resume_campaign(campaign_id: uuid.UUID, person: Person, *, by: Actor, version: int | None = None) -> Campaign:
    """Resumes a paused campaign and the journeys that were paused with it, with the checks of a start (A10).

    Raises PermissionDenied, and Conflict: `member_stopped` while a cluster is stopped, the codes of a start, and those
    of a journey that cannot be resumed, with the name of its cluster. Then nothing is resumed.
    """
    with transaction.atomic():
        loaded = load_campaign(campaign_id, lock=True)
        refuse_person(may_start(person_over_clusters(person, loaded.clusters)))
        refuse_other_version(loaded, version)
        refuse_unless_in_state(loaded, "paused")
        stopped = [member.cluster_name for member in loaded.members if _still_stopped(member)]
        if stopped:
            raise Conflict(f"queue {', '.join(stopped[:5])} again or leave it out first", code="member_stopped")
        refuse_changes()
        refuse_unapproved(loaded, person)
        columns = {**QUIET_CAMPAIGN, **starter_columns(person)}
        member_journeys.hold_journeys(loaded)
        store_campaign(loaded, "running", event=CampaignEvent(verb="campaign.running", by=by), **columns)
        member_journeys.resume_journeys(loaded, person, by=by)
    return loaded.row


def abort_campaign(
    campaign_id: uuid.UUID, person: Person, *, reason: str, by: Actor, version: int | None = None
) -> Campaign:
    """Ends the campaign: journeys that were not started are withdrawn, active ones are paused for a person.

    Raises PermissionDenied, Conflict.
    """
    with transaction.atomic():
        loaded = load_campaign(campaign_id, lock=True)
        refuse_person(may_stop(person_over_clusters(person, loaded.clusters)))
        refuse_other_version(loaded, version)
        columns = {**QUIET_CAMPAIGN, "cause_code": "asked", "cause": reason[:2000], "finished_at": timezone.now()}
        member_journeys.hold_journeys(loaded)
        event = CampaignEvent(verb="campaign.aborted", by=by, code="asked", words=reason)
        store_campaign(loaded, "aborted", event=event, **columns)
        member_journeys.withdraw_journeys(loaded, person, reason="the campaign was ended", by=by)
        member_journeys.pause_journeys(loaded, by=by)
    return loaded.row


def expire_campaigns() -> int:
    """Expires campaigns that were not started in time; returns how many. A campaign that changed meanwhile is left
    alone.
    """
    old = Campaign.objects.filter(state__in=sorted(UNSTARTED), expires_at__lte=timezone.now()).order_by("expires_at")
    return sum(_expire(pk) for pk in old.values_list("pk", flat=True)[:MAX_EXPIRED_PER_SWEEP])


def halt_campaign(loaded: LoadedCampaign, code: str, *, words: str = "", about: str = "") -> None:
    """Pauses a running campaign because a person has to decide, and notifies people. `about` is the name of a
    cluster.
    """
    event = CampaignEvent(
        verb="campaign.paused", by=WORKER, code=code, words=words, about=about, tells="campaign.paused"
    )  # fmt: skip
    cause = ": ".join(text for text in (about, words) if text)
    columns = {"cause_code": code, "cause": cause[:2000], "wait_code": "", "needs_person": True}
    store_campaign(loaded, "paused", event=event, **columns)


def refuse_unapproved(loaded: LoadedCampaign, person: Person) -> None:
    """Raises Conflict `approval_missing` if there are fewer valid approvals than the current policies require."""
    needed = campaign_approvals_needed(loaded.row, loaded.clusters)
    approvals = campaign_approvals_valid(loaded.row, loaded.clusters)
    usable = [approval for approval in approvals if person.method != "token" or approval.approver_id != person.id]
    if len(usable) < needed:
        raise Conflict(f"{len(usable)} of {needed} approvals are valid", code="approval_missing")


def _still_stopped(member: CampaignMember) -> bool:
    return member.state == "stopped" and (
        member.journey is None or member.journey.state not in ("running", "succeeded")
    )


def _expire(campaign_id: uuid.UUID) -> bool:
    try:
        loaded = load_campaign(campaign_id)
        event = CampaignEvent(verb="campaign.expired", by=WORKER, code="expired")
        store_campaign(loaded, "expired", event=event, cause_code="expired", finished_at=timezone.now())
    except Conflict:
        return False
    return True

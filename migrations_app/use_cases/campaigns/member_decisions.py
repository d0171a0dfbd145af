"""Decisions of people in a campaign: the next wave, and stopped clusters."""

import uuid

from django.db import transaction
from django.utils import timezone

from migrations_app.access import Person, may_resolve, may_start
from migrations_app.errors import Conflict, InvalidInput
from migrations_app.journeys.states import ENDED
from migrations_app.models.campaign import Campaign, CampaignMember, CampaignWave
from migrations_app.models.journey import JourneyStepRow
from migrations_app.use_cases.accounts.rights import person_over_clusters, refuse_person
from migrations_app.use_cases.audit.log import Actor
from migrations_app.use_cases.campaigns import member_journeys
from migrations_app.use_cases.campaigns.approvals import refuse_other_version, refuse_unless_in_state
from migrations_app.use_cases.campaigns.lifecycle import resume_campaign
from migrations_app.use_cases.campaigns.transitions import (
    CampaignEvent,
    LoadedCampaign,
    load_campaign,
    store_campaign,
    store_member,
)
from migrations_app.use_cases.journeys import steps


def open_wave(
    campaign_id: uuid.UUID, person: Person, *, wave: int, note: str, by: Actor, version: int | None = None
) -> Campaign:
    """Records with a note that a person agrees to the next wave; the other gates of the wave still count.

    Raises PermissionDenied for a token, InvalidInput without a note, Conflict for another wave than the next one.
    """
    if not note.strip():
        raise InvalidInput("a reason is needed", where="note", code="reason_needed")
    with transaction.atomic():
        loaded = load_campaign(campaign_id, lock=True)
        refuse_person(may_resolve(person_over_clusters(person, loaded.clusters)))
        refuse_other_version(loaded, version)
        refuse_unless_in_state(loaded, "running")
        following = next((campaign_wave for campaign_wave in loaded.waves if campaign_wave.opened_at is None), None)
        if following is None or following.number != wave or following.agreed_at is not None:
            raise Conflict("this wave does not wait for a person's decision", code="moved")
        event = CampaignEvent(
            verb="campaign.wave_agreed", by=by, code="agreed", words=note, detail={"wave": wave + 1}
        )  # fmt: skip
        store_campaign(loaded, "running", event=event, wait_code="", needs_person=False)
        columns = {"agreed_by": person.name, "agreed_at": timezone.now(), "note": note.strip()[:2000]}
        CampaignWave.objects.filter(pk=following.pk).update(**columns)
    return loaded.row


def exclude_member(
    campaign_id: uuid.UUID, person: Person, *, member: int, reason: str, by: Actor, version: int | None = None
) -> Campaign:
    """Leaves out a waiting or stopped cluster, with a reason; a journey that was started stays as it is.

    Raises PermissionDenied, InvalidInput without a reason, Conflict.
    """
    if not reason.strip():
        raise InvalidInput("a reason is needed", where="reason", code="reason_needed")
    with transaction.atomic():
        loaded, row = _locked_member(campaign_id, person, member=member, version=version)
        if row.state not in ("waiting", "stopped", "asking"):
            raise Conflict(f"a cluster that is {row.state} cannot be left out", code="moved")
        columns = {
            "cause_code": "left_out",
            "cause": reason.strip()[:2000],
            "claims": False,
            "ended_at": timezone.now(),
        }
        event = CampaignEvent(verb="campaign.member_out", by=by, code="left_out", words=reason)
        alone = LoadedCampaign(loaded.row, loaded.waves, [row])
        member_journeys.hold_journeys(alone)
        store_member(loaded, row, then="out", event=event, **columns)
        member_journeys.withdraw_journeys(alone, person, reason=reason, by=by)
    return loaded.row


def requeue_member(
    campaign_id: uuid.UUID, person: Person, *, member: int, by: Actor, version: int | None = None, resume: bool = False
) -> Campaign:
    """Queues a stopped cluster again: the failed step of its journey is repeated or, if the journey has ended, the
    cluster waits for a new journey. `resume` resumes the paused campaign, too.

    Raises PermissionDenied, Conflict: `journey_open` if the journey has not ended and has no failed step, and the codes
    of `resume_campaign`; then nothing is changed.
    """
    with transaction.atomic():
        loaded, row = _locked_member(campaign_id, person, member=member, version=version)
        member_journeys.hold_journeys(loaded)
        if row.state != "stopped":
            raise Conflict("this cluster is not stopped", code="moved")
        quiet = {"cause_code": "", "cause": "", "ended_at": None}
        event = CampaignEvent(verb="campaign.member_again", by=by, code="retried")
        if row.journey is not None and row.journey.state not in ENDED:
            _retry_failed_step(row.journey.pk, person, by=by)
            store_member(loaded, row, then="running", event=event, **quiet)
        else:
            again = quiet | {"journey": None, "covered": False, "hops_left": row.hops_left + 1}
            store_member(loaded, row, then="waiting", event=event, **again)
        if resume and loaded.row.state == "paused":
            resume_campaign(campaign_id, person, by=by)
    return loaded.row


def _retry_failed_step(journey_id: uuid.UUID, person: Person, *, by: Actor) -> None:
    failed = JourneyStepRow.objects.filter(journey_id=journey_id, state="failed").first()
    if failed is None:
        raise Conflict("its journey has not ended: decide on the step there", code="journey_open")
    steps.retry(journey_id, person, step=failed.step, by=by)


def _locked_member(
    campaign_id: uuid.UUID, person: Person, *, member: int, version: int | None
) -> tuple[LoadedCampaign, CampaignMember]:
    """The locked campaign, and the row of one cluster in it. Raises NotFound, PermissionDenied, Conflict."""
    loaded = load_campaign(campaign_id, lock=True)
    row = loaded.member(member)
    refuse_person(may_start(person_over_clusters(person, loaded.clusters)))
    refuse_other_version(loaded, version)
    if loaded.row.state not in ("running", "paused"):
        raise Conflict(f"the campaign is {loaded.row.state.replace('_', ' ')}", code="moved")
    return loaded, row

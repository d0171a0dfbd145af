"""The moves of a worker for a campaign: each is one transaction with its audit event."""

import logging
import uuid
from dataclasses import dataclass, field

from django.db import transaction
from django.db.models import F
from django.utils import timezone

from migrations_app.campaigns.next_moves import (
    CampaignMove,
)
from migrations_app.errors import Conflict, InvalidInput, NotFound, PermissionDenied
from migrations_app.models.campaign import CampaignJourney, CampaignMember, CampaignWave
from migrations_app.use_cases.audit.log import WORKER
from migrations_app.use_cases.campaigns import member_journeys, transitions
from migrations_app.use_cases.campaigns.lifecycle import halt_campaign
from migrations_app.use_cases.campaigns.member_journeys import PASSES
from migrations_app.use_cases.campaigns.transitions import (
    CampaignEvent,
    LoadedCampaign,
    load_campaign,
    lock_campaign,
    store_campaign,
    store_member,
)

log = logging.getLogger(__name__)
STOPS_ALL = frozenset({"kill_switch", "audit_blocked", "starter_gone", "author_gone"})
"""Refusals that concern every cluster."""


@dataclass(slots=True)
class CampaignWorkToEnqueue:
    """The ids of journeys to enqueue for workers; `again`: the campaign itself can make another move at once."""

    journeys: list[uuid.UUID] = field(default_factory=list)
    again: bool = False


def make_campaign_move(loaded: LoadedCampaign, move: CampaignMove, *, to_enqueue: CampaignWorkToEnqueue) -> None:
    """Makes one move. Raises Conflict `moved` if the campaign changed meanwhile; the caller then reads it again."""
    if move.do in ("halt", "open", "complete", "wait"):
        _make_campaign_wide_move(loaded, move, to_enqueue=to_enqueue)
        return
    member = loaded.member(int(move.member))
    if move.do in ("prepare", "next_hop", "cover", "ask", "start", "resume"):
        try:
            _begin(loaded, member, move=move, to_enqueue=to_enqueue)
        except Conflict as refused:
            _handle_refusal(loaded, member, code=refused.code, words=refused.message)
        except PermissionDenied as refused:
            _handle_refusal(loaded, member, code="right_missing", words=refused.message)
        except (InvalidInput, NotFound) as wrong:
            _handle_refusal(loaded, member, code=wrong.code, words=str(wrong))
        return
    _store_member_move(loaded, member, move=move)
    to_enqueue.again |= move.do == "finish"


def _make_campaign_wide_move(loaded: LoadedCampaign, move: CampaignMove, *, to_enqueue: CampaignWorkToEnqueue) -> None:
    row = loaded.row
    if move.do == "halt":
        _pause_campaign(loaded, move.code, about=loaded.member(int(move.member)) if move.member else None)
    elif move.do == "open":
        event = CampaignEvent(verb="campaign.wave_opened", by=WORKER, detail={"wave": move.wave + 1})
        with transaction.atomic():
            store_campaign(loaded, "running", event=event, wait_code="", needs_person=False)
            CampaignWave.objects.filter(campaign=row, number=move.wave).update(opened_at=timezone.now())
        transitions.reached("after_open")
        to_enqueue.again = True
    elif move.do == "complete":
        _complete(loaded, code=move.code)
    elif (row.wait_code, row.needs_person) != (move.code, move.person):
        tells = "campaign.needs_person" if move.person else ""
        verb = "campaign.person_needed" if move.person else "campaign.waiting"
        event = CampaignEvent(verb=verb, by=WORKER, code=move.code, tells=tells, detail={"wave": move.wave + 1})
        store_campaign(loaded, "running", event=event, wait_code=move.code, needs_person=move.person)


def _complete(loaded: LoadedCampaign, *, code: str) -> None:
    """Ends the campaign: aborted with a code, if no cluster is done; else succeeded."""
    ended = {"finished_at": timezone.now(), "wait_code": "", "needs_person": False}
    if code:
        event = CampaignEvent(verb="campaign.aborted", by=WORKER, code=code, tells="campaign.completed")
        store_campaign(loaded, "aborted", event=event, cause_code=code, **ended)
        return
    event = CampaignEvent(verb="campaign.succeeded", by=WORKER, tells="campaign.completed")
    store_campaign(loaded, "succeeded", event=event, **ended)


def _pause_campaign(loaded: LoadedCampaign, code: str, *, words: str = "", about: CampaignMember | None = None) -> None:
    """Pauses the campaign and, if its recipe says so, the journeys of the other clusters, in one transaction."""
    stops_all = loaded.recipe.stop_all
    with transaction.atomic():
        lock_campaign(loaded)
        if stops_all:
            member_journeys.hold_journeys(loaded)
        halt_campaign(loaded, code, words=words, about=about.cluster_name if about else "")
        if stops_all:
            member_journeys.pause_journeys(loaded, by=WORKER, except_member=about.pk if about else 0)
    transitions.reached("after_halt")


def _begin(
    loaded: LoadedCampaign, member: CampaignMember, *, move: CampaignMove, to_enqueue: CampaignWorkToEnqueue
) -> None:
    """Drafts, covers, starts or resumes the journey of a cluster, or requests its approval."""
    row = member.journey
    if move.do in ("prepare", "next_hop"):
        to_enqueue.journeys.append(_draft_hop(loaded, member))
    elif row is not None and move.do in ("cover", "ask"):
        covered = move.do == "cover"
        with transaction.atomic():
            lock_campaign(loaded)
            ask = member_journeys.cover_journey if covered else member_journeys.request_approval_of_journey
            journey = ask(loaded, member, journey=row.pk)
            waits = journey.state == "awaiting_approval"
            code = (move.code or "approval_missing") if waits else ""
            verb = "campaign.member_covered" if covered else "campaign.member_asked"
            event = CampaignEvent(verb=verb, by=WORKER, code=code, detail={"journey": str(row.pk)})
            then = "asking" if waits or not covered else "preparing"
            store_member(loaded, member, then=then, event=event, covered=covered, cause_code=code)  # type: ignore[arg-type]  # one of the states
        transitions.reached("after_cover")
        to_enqueue.again = True
    elif row is not None and move.do == "resume":
        _resume(loaded, member, to_enqueue=to_enqueue)
    elif row is not None:
        with transaction.atomic():
            lock_campaign(loaded)
            member_journeys.start_journey_of(loaded, row)
            event = CampaignEvent(verb="campaign.member_started", by=WORKER, detail={"journey": str(row.pk)})
            store_member(loaded, member, then="running", event=event, cause_code="", cause="")
        transitions.reached("after_start")
        to_enqueue.journeys.append(row.pk)


def _resume(loaded: LoadedCampaign, member: CampaignMember, *, to_enqueue: CampaignWorkToEnqueue) -> None:
    """Resumes a journey that could not be resumed with its campaign because of a change window or another rollout."""
    row = loaded.row
    if member.cluster_id is None:
        raise Conflict("the registration of the cluster was removed", code="cluster_gone")
    with transaction.atomic():
        lock_campaign(loaded)
        person = member_journeys.account(row.starter_id, member.cluster_id, token=row.started_by_token)
        if member_journeys.resume_with(member, person, by=WORKER, again=False):
            event = CampaignEvent(verb="campaign.member_resumed", by=WORKER)
            store_member(loaded, member, then=member.state, event=event, paused_with=False)  # type: ignore[arg-type]  # one of the states
    if member.journey_id is not None and not member.paused_with:
        to_enqueue.journeys.append(member.journey_id)


def _handle_refusal(loaded: LoadedCampaign, member: CampaignMember, *, code: str, words: str) -> None:
    """Handles a journey that may not be drafted, approved or started now, by the code of the refusal."""
    if code in PASSES:
        log.info("not yet", extra={"campaign": str(loaded.row.pk), "cluster": member.cluster_name, "code": code})
        if code == "moved":
            raise Conflict("the campaign was changed meanwhile", code="moved")
        return
    again = load_campaign(loaded.row.pk)
    if code in STOPS_ALL:
        _pause_campaign(again, code, words=words)
        raise Conflict(words, code=code)
    stop_at_member(again, again.member(member.pk), code=code, words=words)
    raise Conflict(words, code=code)


def stop_at_member(loaded: LoadedCampaign, member: CampaignMember, *, code: str, words: str) -> None:
    """Stops the cluster and pauses the campaign, in one transaction."""
    with transaction.atomic():
        lock_campaign(loaded)
        if loaded.recipe.stop_all:
            member_journeys.hold_journeys(loaded)
        if member.state != "waiting":
            event = CampaignEvent(verb="campaign.member_stopped", by=WORKER, code=code, words=words)
            store_member(loaded, member, then="stopped", event=event, cause_code=code, cause=words[:2000])
            CampaignWave.objects.filter(campaign=loaded.row, number=member.wave).update(stops=F("stops") + 1)
        _pause_campaign(loaded, code, words=words, about=member)


def _store_member_move(loaded: LoadedCampaign, member: CampaignMember, *, move: CampaignMove) -> None:
    """Stores the new state of a cluster's journey."""
    quiet = {"cause_code": "", "cause": ""}
    match move.do:
        case "note_running":
            event = CampaignEvent(verb="campaign.member_running", by=WORKER, code=move.code)
            store_member(loaded, member, then="running", event=event, **quiet, paused_with=False)
        case "finish":
            event = CampaignEvent(verb="campaign.member_done", by=WORKER, code=move.code)
            store_member(loaded, member, then="done", event=event, **quiet, ended_at=timezone.now(), hops_left=0)
        case "drop":
            event = CampaignEvent(verb="campaign.member_out", by=WORKER, code=move.code)
            gone = {"cause_code": move.code, "claims": False, "ended_at": timezone.now()}
            store_member(loaded, member, then="out", event=event, **gone)
        case _:
            with transaction.atomic():
                event = CampaignEvent(verb="campaign.member_stopped", by=WORKER, code=move.code)
                cause = member.journey.cause if member.journey and member.journey.cause_code == move.code else ""
                store_member(loaded, member, then="stopped", event=event, cause_code=move.code, cause=cause)
                CampaignWave.objects.filter(campaign=loaded.row, number=member.wave).update(stops=F("stops") + 1)
            transitions.reached("after_stop")


def _draft_hop(loaded: LoadedCampaign, member: CampaignMember) -> uuid.UUID:
    """Drafts the journey of the cluster's next hop and returns its id. Raises as `draft_of`."""
    with transaction.atomic():
        lock_campaign(loaded)
        journey_id = member_journeys.draft_of(loaded, member)
        event = CampaignEvent(verb="campaign.member_begun", by=WORKER, detail={"journey": str(journey_id)})
        begun = {"journey_id": journey_id, "covered": False, "cause_code": "", "cause": ""}
        store_member(loaded, member, then="preparing", event=event, **begun, hops_left=max(0, member.hops_left - 1))
        CampaignJourney.objects.create(member=member, journey_id=journey_id)
    transitions.reached("after_prepare")
    return journey_id

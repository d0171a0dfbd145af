"""Makes progress on campaigns: what their journeys came to, what begins next, and what stops them.

A campaign sends nothing to a cluster and takes no lease: its journeys do. Every move is one transaction that holds only
while the campaign is as it was read, so that two workers at once do nothing twice.
"""

import logging
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from django.db import InterfaceError, OperationalError, connection, transaction
from django.db.models import F, Q
from django.utils import timezone

from migrations_app.actions import windows
from migrations_app.campaigns.next_moves import (
    CampaignMove,
    CampaignSeen,
    JourneySeen,
    MemberSeen,
    WaveSeen,
    next_moves,
)
from migrations_app.errors import Conflict, InvalidInput, NotFound, PermissionDenied
from migrations_app.journeys.states import HOLDING, PLANNED
from migrations_app.models.campaign import Campaign, CampaignJourney, CampaignMember, CampaignWave
from migrations_app.models.cluster import Cluster
from migrations_app.models.journey import Journey
from migrations_app.queries.campaigns.agreement import campaign_approvals_needed, campaign_approvals_valid
from migrations_app.queries.fleet.clusters import UNREACHABLE_AFTER
from migrations_app.queries.rollouts.policies import everything_stopped
from migrations_app.use_cases.audit import delivery_lag
from migrations_app.use_cases.audit.log import WORKER
from migrations_app.use_cases.campaigns import member_journeys, transitions
from migrations_app.use_cases.campaigns.lifecycle import halt_campaign
from migrations_app.use_cases.campaigns.preview import compose_campaign
from migrations_app.use_cases.campaigns.transitions import (
    CampaignEvent,
    LoadedCampaign,
    load_campaign,
    store_campaign,
    store_member,
)

log = logging.getLogger(__name__)
PASSES = frozenset({"busy", "closed", "journey_open", "moved"})
"""Refusals that pass by themselves: another rollout or journey of the cluster, a change window."""
PREVIEWED_AGAIN = timedelta(minutes=1)
"""After this time the messages of a draft are taken for lost, and sent again."""
STOPS_ALL = frozenset({"kill_switch", "audit_blocked", "starter_gone", "author_gone"})
"""Refusals that concern every cluster."""


@dataclass(slots=True)
class WokenByCampaign:
    """The ids of journeys that workers have to be woken for; `again`: the campaign can go on at once."""

    journeys: list[uuid.UUID] = field(default_factory=list)
    again: bool = False


def advance_campaign(campaign_id: uuid.UUID) -> WokenByCampaign:
    """Makes the moves that are due, and returns which workers have to be woken."""
    woken = WokenByCampaign()
    try:
        here = load_campaign(campaign_id)
        if here.row.state == "draft":
            compose_campaign(campaign_id)
        if here.row.state not in ("running", "paused"):
            return woken
        for move in next_moves(_seen(here), now=timezone.now()):
            _make(here, move, woken=woken)
    except NotFound:
        log.info("the campaign is gone", extra={"campaign": str(campaign_id)})
    except Conflict as moved:
        log.info("the campaign moved meanwhile", extra={"campaign": str(campaign_id), "code": moved.code})
        woken.again = moved.code == "moved"
    except (OperationalError, InterfaceError):
        log.exception("database failed", extra={"campaign": str(campaign_id)})
        connection.close_if_unusable_or_obsolete()
    return woken


def campaigns_to_look_at() -> list[uuid.UUID]:
    """Drafts and campaigns under way, longest untouched first: each is looked at with every sweep."""
    waited = timezone.now() - PREVIEWED_AGAIN
    rows = Campaign.objects.filter(Q(state__in=("running", "paused")) | Q(state="draft", made_at__lte=waited))
    return list(rows.order_by("changed_at").values_list("pk", flat=True)[:100])


def campaign_of(journey_id: uuid.UUID) -> uuid.UUID | None:
    """The campaign under way that the journey is part of; None if there is none."""
    parts = CampaignMember.objects.filter(journey_id=journey_id, campaign__state__in=("running", "paused"))
    return parts.values_list("campaign_id", flat=True).first()


def _seen(here: LoadedCampaign) -> CampaignSeen:
    """What the decision rests on, as it is stored now."""
    joined = here.joined
    clusters = _clusters([one.cluster_id for one in joined if one.cluster_id])
    waiting = [one.cluster_id for one in joined if one.cluster_id and one.state == "waiting"]
    held = set(
        Journey.objects.filter(cluster_id__in=waiting, state__in=sorted(PLANNED | HOLDING)).values_list(
            "cluster_id", flat=True
        )
    )
    recipe = here.recipe
    return CampaignSeen(
        state=here.row.state,  # type: ignore[arg-type]  # the column's choices are the states
        recipe=recipe,
        members=tuple(_member_seen(here, one, clusters, held=one.cluster_id in held) for one in joined),
        waves=tuple(
            WaveSeen(opened=one.opened_at is not None, agreed=one.agreed_at is not None, stops=one.stops)
            for one in here.waves
        ),
        halts=_halts(here) if here.row.state == "running" else "",
        window=windows.any_open(recipe.windows, timezone.now()),
    )


def _clusters(ids: list[uuid.UUID]) -> Mapping[uuid.UUID, tuple[int, str, datetime | None]]:
    """By cluster: failures in a row, and the release and time of its newest scan."""
    rows = Cluster.objects.filter(pk__in=ids)
    columns = ("pk", "failures", "latest__karpenter_version", "latest__scanned_at")
    return {pk: (failures, release or "", at) for pk, failures, release, at in rows.values_list(*columns)}


def _member_seen(
    here: LoadedCampaign, one: CampaignMember, clusters: Mapping[uuid.UUID, tuple[int, str, datetime | None]], *,
    held: bool,
) -> MemberSeen:  # fmt: skip
    known = clusters.get(one.cluster_id) if one.cluster_id else None
    failures, release, scanned = known or (0, "", None)
    lost = ""
    if one.state in ("preparing", "asking", "running", "stopped") and failures >= UNREACHABLE_AFTER:
        lost = "unreachable"
    reverted = one.ended_at is not None and scanned is not None and scanned > one.ended_at and release != one.lands
    if reverted and release and one.state in ("done", "stopped"):
        lost = "reverted"
    return MemberSeen(
        id=str(one.pk),
        wave=one.wave,
        state=one.state,  # type: ignore[arg-type]  # the column's choices are the states
        region=one.region,
        environment=one.environment,
        journey=_journey_seen(here, one),
        left=one.hops_left,
        ended_at=one.ended_at,
        lost=lost,
        reached=bool(release) and release == one.lands,
        gone=known is None,
        held=held,
    )


def _journey_seen(here: LoadedCampaign, one: CampaignMember) -> JourneySeen | None:
    made = one.journey
    if made is None:
        return None
    compared = one.state == "preparing" and made.state == "previewed"
    return JourneySeen(
        state=made.state,
        cause_code=made.cause_code,
        wait_code=made.wait_code,
        differs=member_journeys.differences_of(here, one, made) if compared else (),
    )


def _halts(here: LoadedCampaign) -> str:
    """The code of what stops the whole campaign now; empty if nothing does."""
    if everything_stopped():
        return "kill_switch"
    if delivery_lag.why_blocked():
        return "audit"
    held = len(campaign_approvals_valid(here.row, here.clusters))
    return "approval_missing" if held < campaign_approvals_needed(here.row, here.clusters) else ""


def _make(here: LoadedCampaign, move: CampaignMove, *, woken: WokenByCampaign) -> None:
    """One move. Raises Conflict `moved` if somebody else changed the campaign; then all is read again."""
    if move.do in ("halt", "open", "complete", "wait"):
        _of_campaign(here, move, woken=woken)
        return
    member = here.member(int(move.member))
    if move.do in ("prepare", "next_hop", "cover", "ask", "start"):
        try:
            _begin(here, member, move=move, woken=woken)
        except Conflict as refused:
            _refused(here, member, code=refused.code, words=refused.message)
        except PermissionDenied as refused:
            _refused(here, member, code="right_missing", words=refused.message)
        except (InvalidInput, NotFound) as wrong:
            _refused(here, member, code=wrong.code, words=str(wrong))
        return
    _note(here, member, move=move)
    woken.again |= move.do == "finish"


def _of_campaign(here: LoadedCampaign, move: CampaignMove, *, woken: WokenByCampaign) -> None:
    row = here.row
    if move.do == "halt":
        about = here.member(int(move.member)).cluster_name if move.member else ""
        halt_campaign(here, move.code, words=about)
        if here.recipe.stop_all:
            _pause_others(here)
    elif move.do == "open":
        event = CampaignEvent(verb="campaign.wave_opened", by=WORKER, detail={"wave": move.wave + 1})
        with transaction.atomic():
            store_campaign(here, "running", event=event, wait_code="", needs_person=False)
            CampaignWave.objects.filter(campaign=row, number=move.wave).update(opened_at=timezone.now())
        woken.again = True
    elif move.do == "complete":
        event = CampaignEvent(verb="campaign.succeeded", by=WORKER, tells="campaign.completed")
        store_campaign(here, "succeeded", event=event, finished_at=timezone.now(), wait_code="", needs_person=False)
    elif (row.wait_code, row.needs_person) != (move.code, move.person):
        tells = "campaign.needs_person" if move.person else ""
        verb = "campaign.person_needed" if move.person else "campaign.waiting"
        event = CampaignEvent(verb=verb, by=WORKER, code=move.code, tells=tells, detail={"wave": move.wave + 1})
        store_campaign(here, "running", event=event, wait_code=move.code, needs_person=move.person)


def _pause_others(here: LoadedCampaign) -> None:
    for member in here.members:
        if member.cluster_id is None or member.journey is None:
            continue
        try:
            person = member_journeys.account(here.row.starter_id, member.cluster_id)
        except Conflict:
            return
        member_journeys.pause_journeys(LoadedCampaign(here.row, here.waves, [member]), person, by=WORKER)


def _begin(here: LoadedCampaign, member: CampaignMember, *, move: CampaignMove, woken: WokenByCampaign) -> None:
    """Drafts, covers, asks for or starts the journey of a cluster."""
    row = member.journey
    if move.do in ("prepare", "next_hop"):
        woken.journeys.append(_draft_hop(here, member))
    elif row is not None and move.do in ("cover", "ask"):
        covered = move.do == "cover"
        with transaction.atomic():
            ask = member_journeys.cover_journey if covered else member_journeys.ask_journey_of
            asked = ask(here, member, row.pk)
            waits = asked.state == "awaiting_approval"
            code = (move.code or "approval_missing") if waits else ""
            verb = "campaign.member_covered" if covered else "campaign.member_asked"
            event = CampaignEvent(verb=verb, by=WORKER, code=code, detail={"journey": str(row.pk)})
            then = "asking" if waits or not covered else "preparing"
            store_member(here, member, then, event=event, covered=covered, cause_code=code)  # type: ignore[arg-type]  # one of the states
        transitions.reached("after_cover")
        woken.again = True
    elif row is not None:
        with transaction.atomic():
            member_journeys.start_journey_of(here, row)
            event = CampaignEvent(verb="campaign.member_started", by=WORKER, detail={"journey": str(row.pk)})
            store_member(here, member, "running", event=event, cause_code="", cause="")
        transitions.reached("after_start")
        woken.journeys.append(row.pk)


def _refused(here: LoadedCampaign, member: CampaignMember, *, code: str, words: str) -> None:
    """What follows when a journey may not be drafted, approved or started now."""
    if code in PASSES:
        log.info("not yet", extra={"campaign": str(here.row.pk), "cluster": member.cluster_name, "code": code})
        if code == "moved":
            raise Conflict("the campaign was changed meanwhile", code="moved")
        return
    again = load_campaign(here.row.pk)
    if code in STOPS_ALL:
        halt_campaign(again, code, words=words)
        raise Conflict(words, code=code)
    halt_at(again, again.member(member.pk), code=code, words=words)
    raise Conflict(words, code=code)


def halt_at(here: LoadedCampaign, member: CampaignMember, *, code: str, words: str) -> None:
    """Stops the cluster and with it the campaign, in one transaction."""
    with transaction.atomic():
        if member.state == "waiting":
            halt_campaign(here, code, words=f"{member.cluster_name}: {words}")
            return
        event = CampaignEvent(verb="campaign.member_stopped", by=WORKER, code=code, words=words)
        store_member(here, member, "stopped", event=event, cause_code=code, cause=words[:2000])
        CampaignWave.objects.filter(campaign=here.row, number=member.wave).update(stops=F("stops") + 1)
        halt_campaign(here, code, words=f"{member.cluster_name}: {words}")


def _note(here: LoadedCampaign, member: CampaignMember, *, move: CampaignMove) -> None:
    """Notes what became of the journey of a cluster."""
    quiet = {"cause_code": "", "cause": ""}
    match move.do:
        case "note_running":
            event = CampaignEvent(verb="campaign.member_running", by=WORKER, code=move.code)
            store_member(here, member, "running", event=event, **quiet)
        case "finish":
            event = CampaignEvent(verb="campaign.member_done", by=WORKER, code=move.code)
            store_member(here, member, "done", event=event, **quiet, ended_at=timezone.now(), hops_left=0)
        case "drop":
            event = CampaignEvent(verb="campaign.member_out", by=WORKER, code=move.code)
            gone = {"cause_code": move.code, "claims": False, "ended_at": timezone.now()}
            store_member(here, member, "out", event=event, **gone)
        case _:
            with transaction.atomic():
                event = CampaignEvent(verb="campaign.member_stopped", by=WORKER, code=move.code)
                store_member(here, member, "stopped", event=event, cause_code=move.code)
                CampaignWave.objects.filter(campaign=here.row, number=member.wave).update(stops=F("stops") + 1)


def _draft_hop(here: LoadedCampaign, member: CampaignMember) -> uuid.UUID:
    """Drafts the journey of the next hop of the cluster and returns it. Raises as `draft_of`."""
    with transaction.atomic():
        made = member_journeys.draft_of(here, member)
        event = CampaignEvent(verb="campaign.member_begun", by=WORKER, detail={"journey": str(made)})
        begun = {"journey_id": made, "covered": False, "cause_code": "", "cause": ""}
        store_member(here, member, "preparing", event=event, **begun, hops_left=max(0, member.hops_left - 1))
        CampaignJourney.objects.create(member=member, journey_id=made)
    transitions.reached("after_prepare")
    return made

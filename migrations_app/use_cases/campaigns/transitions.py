"""Every change of a campaign or of its members: compare-and-set, audit event and outbox row in one transaction.

No other code changes a state. `migrations_app/campaigns/states.py` decides which state may follow which.
"""

import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import msgspec
from django.db import transaction
from django.utils import timezone

from migrations_app.campaigns.campaign_preview import CampaignPlan, MemberPreview
from migrations_app.campaigns.recipe import Recipe
from migrations_app.campaigns.states import CAMPAIGN_TRANSITIONS, MEMBER_TRANSITIONS, CampaignState, MemberState
from migrations_app.errors import Conflict, NotFound
from migrations_app.models.campaign import Campaign, CampaignMember, CampaignWave
from migrations_app.models.rollout import Outbox
from migrations_app.use_cases.audit.log import Actor, Event, record

CRASH_POINTS = (
    "before_store",
    "after_store",
    "before_member",
    "after_member",
    "after_prepare",
    "after_cover",
    "after_start",
    "after_open",
    "after_stop",
    "after_halt",
)


def _nothing(_name: str) -> None:
    return


reached: Callable[[str], None] = _nothing
"""Called with the name of the point that was reached; a test process replaces it to crash there."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CampaignEvent:
    """An event for the audit log: its verb, its actor, a stable code, and text for the page.

    `tells` is the topic of a notification, empty for none. `about` is the name of a cluster for the audit log;
    notifications do not have it, because their recipients may not see that cluster (T11).
    """

    verb: str
    by: Actor
    code: str = ""
    words: str = ""
    about: str = ""
    tells: str = ""
    detail: Mapping[str, Any] = field(default_factory=dict)


@dataclass(slots=True)
class LoadedCampaign:
    """A campaign with its waves and members as read; `row.version` guards the campaign and its waves."""

    row: Campaign
    waves: list[CampaignWave]
    members: list[CampaignMember]

    @property
    def recipe(self) -> Recipe:
        return recipe_of(self.row)

    @property
    def plan(self) -> CampaignPlan:
        return msgspec.json.decode(bytes(self.row.plan), type=CampaignPlan)

    @property
    def participants(self) -> list[CampaignMember]:
        """The members that passed the preview, including those left out later."""
        return [campaign_member for campaign_member in self.members if campaign_member.target_release]

    @property
    def clusters(self) -> list[uuid.UUID]:
        """The ids of the clusters that are part of the campaign and still registered."""
        return [
            campaign_member.cluster_id
            for campaign_member in self.participants
            if campaign_member.cluster_id and campaign_member.state != "out"
        ]

    def member(self, member_id: int) -> CampaignMember:
        """The member with that id. Raises NotFound."""
        campaign_member = next(
            (campaign_member for campaign_member in self.members if campaign_member.pk == member_id), None
        )
        if campaign_member is None:
            raise NotFound("the campaign has no such cluster")
        return campaign_member


def recipe_of(row: Campaign) -> Recipe:
    """The recipe of the campaign."""
    return msgspec.convert(row.recipe, type=Recipe)


def preview_of(member: CampaignMember) -> MemberPreview:
    """The preview of the cluster."""
    return msgspec.convert(member.shown, type=MemberPreview)


def load_campaign(campaign_id: uuid.UUID, *, lock: bool = False) -> LoadedCampaign:
    """The campaign with its clusters. Raises NotFound. `lock` holds the row until the transaction ends."""
    rows = Campaign.objects.select_for_update() if lock else Campaign.objects
    row = rows.filter(pk=campaign_id).first()
    if row is None:
        raise NotFound("no such campaign")
    members = CampaignMember.objects.filter(campaign=row).select_related("journey").defer("journey__plan")
    return LoadedCampaign(
        row, list(CampaignWave.objects.filter(campaign=row).order_by("number")), list(members.order_by("wave", "place"))
    )


def store_campaign(loaded: LoadedCampaign, then: CampaignState, *, event: CampaignEvent, **columns: Any) -> None:  # noqa: ANN401 - columns
    """Stores a state and columns with the event.

    Raises Conflict `moved` if the campaign changed since it was read, or the change is not allowed.
    """
    row, before = loaded.row, loaded.row.state
    if then != before and then not in CAMPAIGN_TRANSITIONS[before]:  # type: ignore[index]  # the column's choices are the states
        raise Conflict(f"a campaign that is {_state_text(before)} cannot become {_state_text(then)}", code="moved")
    reached("before_store")
    changed = {"state": then, "version": row.version + 1, "changed_at": timezone.now(), **columns}
    with transaction.atomic():
        if not Campaign.objects.filter(pk=row.pk, state=before, version=row.version).update(**changed):
            raise Conflict("the campaign was changed meanwhile", code="moved")
        _record(row, event, detail={"from": before, "to": then})
        if then not in ("draft", "previewed") and not CAMPAIGN_TRANSITIONS[then]:
            CampaignMember.objects.filter(campaign=row, claims=True).update(claims=False)
    for name, value in changed.items():
        setattr(row, name, value)
    reached("after_store")


def store_member(
    loaded: LoadedCampaign, member: CampaignMember, *, then: MemberState, event: CampaignEvent, **columns: Any  # noqa: ANN401 - columns
) -> None:  # fmt: skip
    """Stores the state of one cluster with the event, if the campaign is unchanged since it was read.

    Raises Conflict `moved` if the campaign or the member changed since, or the change is not allowed.
    """
    before = member.state
    if then != before and then not in MEMBER_TRANSITIONS[before]:  # type: ignore[index]  # the column's choices are the states
        raise Conflict(f"a cluster that is {before} cannot become {then}", code="moved")
    reached("before_member")
    now = timezone.now()
    changed = {"state": then, "version": member.version + 1, "changed_at": now, **columns}
    with transaction.atomic():
        lock_campaign(loaded)
        rows = CampaignMember.objects.filter(pk=member.pk, state=before, version=member.version)
        if not rows.update(**changed):
            raise Conflict("the campaign was changed meanwhile", code="moved")
        detail = {"cluster": member.cluster_name, "from": before, "to": then}
        _record(loaded.row, event, detail=detail, cluster=str(member.cluster_id or ""))
    for name, value in changed.items():
        setattr(member, name, value)
    reached("after_member")


def note_campaign(loaded: LoadedCampaign, event: CampaignEvent) -> None:
    """Records an event of the campaign that changes no state."""
    with transaction.atomic():
        _record(loaded.row, event, detail={"state": loaded.row.state})


def lock_campaign(loaded: LoadedCampaign) -> None:
    """Locks the row of the campaign until the transaction ends, so that no pause happens at the same time.

    Lock order, as everywhere: the campaign, then its journeys, their rollouts, and the head of the audit log. Raises
    Conflict `moved` if the campaign changed since it was read.
    """
    same = Campaign.objects.filter(pk=loaded.row.pk, state=loaded.row.state, version=loaded.row.version)
    if not same.update(changed_at=timezone.now()):
        raise Conflict("the campaign was changed meanwhile", code="moved")


def campaign_name(row: Campaign) -> str:
    """The title of the campaign in the audit log and notifications."""
    return f"Campaign {row.name}"


def _record(row: Campaign, event: CampaignEvent, *, detail: Mapping[str, Any], cluster: str = "") -> None:
    full_detail = {**detail, **event.detail} | ({"why": event.words} if event.words else {})
    full_detail |= {"cluster": event.about} if event.about else {}
    record(
        Event(
            verb=event.verb,
            actor=event.by,
            object=campaign_name(row),
            outcome=event.code or str(detail.get("to", "")),
            cluster_id=cluster,
            plan_digest=row.digest,
            correlation=str(row.pk),
            detail=full_detail,
        )
    )
    if event.tells:
        body = {"campaign": str(row.pk), "cluster": cluster, "subject": row.name, "title": campaign_name(row)}
        Outbox.objects.create(topic=event.tells, body=body | {"code": event.code, "why": event.words[:300]})


def _state_text(state: str) -> str:
    return state.replace("_", " ")

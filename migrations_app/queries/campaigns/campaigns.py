"""Campaigns for pages and the API: lists, the board of waves, and the preview of each cluster.

Clusters of a campaign that the caller may not see are counted and never named (T11).
"""

import uuid
from collections import Counter
from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any

import msgspec
from django.db.models import Count, Q, QuerySet
from django.utils import timezone

from migrations_app.campaigns.burn_up import burn_up
from migrations_app.campaigns.campaign_preview import MemberPreview
from migrations_app.campaigns.forecast import CampaignForecast
from migrations_app.campaigns.recipe import Recipe
from migrations_app.campaigns.states import OVER_STATES, UNDER_WAY, UNSTARTED
from migrations_app.errors import NotFound
from migrations_app.journeys.states import OVER
from migrations_app.models.campaign import Campaign, CampaignApproval, CampaignMember
from migrations_app.models.journey import JourneyStepRow
from migrations_app.queries import pagination
from migrations_app.queries.campaigns.agreement import campaign_approvals_needed, campaign_approvals_valid
from migrations_app.queries.campaigns.values import CampaignApprovalRow, CampaignBoard, CampaignRow, MemberRow, WaveRow
from migrations_app.queries.ordering import SortColumn, order_of, orders, sorted_page
from migrations_app.queries.pagination import Page
from migrations_app.queries.rows import from_row
from migrations_app.queries.visibility import sees_all, visible, visible_campaigns

PAGE_SIZE = 50
BOARD_PAGE_SIZE = 50
"""Number of clusters on one page of a board."""
MAX_WAITING = 100
MAX_STOPPED = 20
CAMPAIGN_GROUPS: dict[str, frozenset[str]] = {
    "planned": frozenset(UNSTARTED),
    "under_way": frozenset(UNDER_WAY),
    "ended": frozenset(OVER_STATES),
}
"""Groups of states that a list can be filtered by, besides single states."""
CAMPAIGN_ORDERS = orders(
    {
        "made_at": SortColumn("made_at", datetime),
        "changed_at": SortColumn("changed_at", datetime),
        "name": SortColumn("name"),
        "state": SortColumn("state"),
    },
    SortColumn("made_at", datetime, descending=True),
    SortColumn("pk", uuid.UUID, descending=True),
)


def campaign_page(
    state: str = "", *, after: str = "", limit: int = PAGE_SIZE, ordering: str = "-made_at"
) -> Page[CampaignRow]:
    """One page, in one of CAMPAIGN_ORDERS. `state` is a state or one of CAMPAIGN_GROUPS.

    Raises InvalidInput for a bad cursor.
    """
    rows = _rows()
    if state:
        rows = rows.filter(state__in=sorted(CAMPAIGN_GROUPS.get(state, {state})))
    return sorted_page(rows, order_of(CAMPAIGN_ORDERS, ordering), after=after, limit=limit, row=_row_of)


def campaign_row(campaign_id: uuid.UUID) -> CampaignRow:
    """One campaign without its clusters. Raises NotFound."""
    return _row_of(_found(campaign_id))


def campaign_inbox(person_id: int) -> tuple[CampaignRow, ...]:
    """Campaigns that wait for this person's approval, oldest first."""
    waiting = _rows().filter(state="awaiting_approval").exclude(author_id=person_id)
    approved_ids = CampaignApproval.objects.filter(approver_id=person_id, taken_back_at=None).values("campaign_id")
    return tuple(_row_of(row) for row in waiting.exclude(pk__in=approved_ids).order_by("made_at")[:MAX_WAITING])


def campaign_board(
    campaign_id: uuid.UUID,
    *,
    now: datetime | None = None,
    after: str = "",
    limit: int = BOARD_PAGE_SIZE,
    state: str = "",
) -> CampaignBoard:
    """One campaign with a page of its clusters, those that joined first, by wave.

    The number of queries is fixed. `state` selects clusters in that state. Raises NotFound, InvalidInput for a bad
    cursor.
    """
    row = _found(campaign_id)
    members = CampaignMember.objects.filter(campaign_id=campaign_id)
    every = list(members.values_list("cluster_id", "wave", "state", "target_release", "ended_at"))
    seen = members.filter(visible())
    clusters = tuple(pk for pk, _, standing, target_release, _ in every if pk and target_release and standing != "out")
    lines, following = _lines(seen.filter(state=state) if state else seen, after=after, limit=limit)
    ended = [at for _, _, standing, _, at in every if standing == "done" and at]
    total = sum(1 for _, _, standing, target_release, _ in every if target_release and standing != "out")
    return CampaignBoard(
        row=_row_of(row),
        recipe=msgspec.convert(row.recipe, type=Recipe),
        nonce=row.nonce,
        needed=campaign_approvals_needed(row, clusters),
        approvals=_approvals(row, clusters),
        waves=_waves(row, every),
        members=lines,
        next_cursor=following,
        stopped=_lines(seen.filter(state="stopped"), after="", limit=MAX_STOPPED)[0],
        hidden=len(every) - seen.count(),
        forecast=msgspec.convert(row.forecast, type=CampaignForecast),
        curve=burn_up(began=row.started_at, ended=ended, total=total, now=row.finished_at or now or timezone.now()),
        clusters=clusters,
    )


def member_page(
    campaign_id: uuid.UUID, *, after: str = "", limit: int = BOARD_PAGE_SIZE, state: str = ""
) -> Page[MemberRow]:
    """One page of the clusters of a campaign. Raises NotFound, InvalidInput for a bad cursor."""
    _found(campaign_id)
    seen = CampaignMember.objects.filter(visible(), campaign_id=campaign_id)
    lines, following = _lines(seen.filter(state=state) if state else seen, after=after, limit=limit)
    return Page(lines, following)


def with_failed_step(lines: Iterable[MemberRow]) -> frozenset[uuid.UUID]:
    """The journeys of these clusters that have a failed step, which can be retried."""
    journeys = [line.journey for line in lines if line.journey]
    failed = JourneyStepRow.objects.filter(journey_id__in=journeys, state="failed").values_list("journey_id", flat=True)
    return frozenset(failed) if journeys else frozenset()


def windows_of_campaigns() -> tuple[tuple[CampaignRow, Recipe], ...]:
    """Every campaign that has not ended, with its recipe: for the calendar."""
    rows = _rows().filter(state__in=sorted(UNSTARTED | UNDER_WAY)).order_by("made_at")[:PAGE_SIZE]
    return tuple((_row_of(row), msgspec.convert(row.recipe, type=Recipe)) for row in rows)


def _found(campaign_id: uuid.UUID) -> Campaign:
    campaign = _rows().filter(pk=campaign_id).first()
    if campaign is None:
        raise NotFound("no such campaign")
    return campaign


def _rows() -> QuerySet[Campaign]:
    joined = Q(members__target_release__gt="") & ~Q(members__state="out")
    rows = visible_campaigns().defer("plan")
    return rows.annotate(
        total=Count("members", filter=joined),
        over=Count("members", filter=Q(members__state="done")),
        member_count=Count("members"),
        visible_count=Count("members", filter=visible("members__cluster_id")),
    )


BY_PEOPLE = ("asked", "withdrawn", "rejected", "approval_missing")
"""Cause codes whose text a person wrote; the text of other causes may name the cluster that stopped."""


def _row_of(row: Any) -> CampaignRow:  # noqa: ANN401 - with the annotations of `_rows`
    cause_visible = row.cause_code in BY_PEOPLE or row.visible_count == row.member_count or sees_all()
    cause = row.cause if cause_visible else ""
    return from_row(
        CampaignRow, row, author=row.author_name, started_by=row.started_by_name, done=row.over, cause=cause
    )  # fmt: skip


def _approvals(row: Campaign, clusters: Iterable[uuid.UUID]) -> tuple[CampaignApprovalRow, ...]:
    valid = {approval.pk for approval in campaign_approvals_valid(row, tuple(clusters))}
    return tuple(
        CampaignApprovalRow(
            by=approval.approver_name, at=approval.at, reason=approval.reason, counts=approval.pk in valid
        )
        for approval in row.approvals.all()
    )


def _waves(row: Campaign, every: Iterable[tuple[Any, ...]]) -> tuple[WaveRow, ...]:
    counts: dict[int, Counter[str]] = {}
    for _, wave, standing, target_release, _ in every:
        if target_release:
            counts.setdefault(wave, Counter())[standing] += 1
    return tuple(
        from_row(
            WaveRow,
            campaign_wave,
            number=campaign_wave.number + 1,
            total=sum(counts.get(campaign_wave.number, Counter()).values()),
            counts=dict(counts.get(campaign_wave.number, {})),
        )
        for campaign_wave in row.waves.all()
    )


_MEMBER = (
    "cluster_id", "cluster_name", "environment", "region", "wave", "place", "state", "cause_code", "cause",
    "target_release", "hops_left", "shown", "ended_at",
)  # fmt: skip
_JOURNEY = ("journey__state", "journey__wait_code", "journey__needs_person")


def _lines(rows: QuerySet[CampaignMember], *, after: str, limit: int) -> tuple[tuple[MemberRow, ...], str]:
    """One page ordered by wave and place, with clusters that are out at the end."""
    keys = pagination.keys_of(after, (int,))
    start = int(keys[0]) if keys else 0
    ordered = rows.annotate(left=Q(state="out")).select_related("journey").only(*_MEMBER, *_JOURNEY)
    withs = list(ordered.order_by("left", "wave", "place", "pk")[start : start + limit + 1])
    members = withs[:limit]
    steps = _steps([member.journey_id for member in members if member.journey_id])
    following = pagination.encode((start + limit,)) if len(withs) > limit else ""
    return tuple(_line(member, steps) for member in members), following


def _steps(journeys: list[uuid.UUID]) -> Mapping[uuid.UUID, tuple[int, int]]:
    """By journey: the number of steps that are done or skipped, and of all steps."""
    over = Count("pk", filter=Q(state__in=sorted(OVER)))
    rows = JourneyStepRow.objects.filter(journey_id__in=journeys).order_by().values_list("journey_id")
    return {pk: (done, total) for pk, done, total in rows.annotate(done=over, total=Count("pk"))}


def _line(member: CampaignMember, steps: Mapping[uuid.UUID, tuple[int, int]]) -> MemberRow:
    preview, journey = _preview(member.shown), member.journey
    done, total = steps.get(member.journey_id, (0, 0)) if member.journey_id else (0, 0)
    return from_row(
        MemberRow,
        member,
        id=member.pk,
        cluster=member.cluster_id,
        name=member.cluster_name,
        wave=member.wave + 1,
        release=preview.release,
        hops=len(preview.hops),
        nodes=preview.nodes,
        minutes=preview.minutes,
        journey=member.journey_id,
        journey_state=journey.state if journey else "",
        wait_code=journey.wait_code if journey else "",
        needs_person=bool(journey and journey.needs_person),
        steps_done=done,
        steps=total,
    )


def _preview(stored: Any) -> MemberPreview:  # noqa: ANN401 - the JSON of the column
    return msgspec.convert(stored, type=MemberPreview) if stored else MemberPreview(cluster="", name="")

"""The pages of campaigns: the list, the form for a new one, the board with its live part, the calendar and the
receipt.
"""

import hashlib
import uuid
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.views.decorators.http import require_safe

from migrations_app.actions.registry import find
from migrations_app.campaigns.recipe import PERSON_GATES, Recipe, Selection
from migrations_app.campaigns.states import CAMPAIGN_STATES, MEMBER_STATES
from migrations_app.errors import InvalidInput, KarpdashError
from migrations_app.journeys.deletions import FORECAST
from migrations_app.journeys.plan import COVERABLE, FORM_COVERS
from migrations_app.karpenter.hops import HOPS
from migrations_app.queries.campaigns.approval_scope import SHOWN_IN, covered_by_approval
from migrations_app.queries.campaigns.campaigns import (
    CAMPAIGN_GROUPS,
    campaign_board,
    campaign_inbox,
    campaign_page,
    windows_of_campaigns,
)
from migrations_app.queries.campaigns.values import CampaignBoard
from migrations_app.queries.fleet.groups import offered_groups
from migrations_app.use_cases.accounts.rights import person_over_clusters
from migrations_app.use_cases.campaigns.requests import MAX_CLUSTERS
from migrations_app.web.access import OPERATE, person_of, require_right
from migrations_app.web.campaigns import presenter
from migrations_app.web.campaigns.pictures import burn_up_chart, window_days
from migrations_app.web.campaigns.receipt import campaign_receipt
from migrations_app.web.campaigns.recipe_form import sizes_text
from migrations_app.web.double_submit import form_key

MAX_GROUPS_OFFERED, LONGEST_NAME = 500, 120


@require_right()
@require_safe
def campaigns(request: HttpRequest) -> HttpResponse:
    """Every campaign, newest first, with those that wait for the user's approval on top."""
    requested = request.GET.get("state", "")
    state = requested if requested in CAMPAIGN_GROUPS or requested in CAMPAIGN_STATES else ""
    cursor = request.GET.get("cursor", "")
    try:
        page = campaign_page(state, after=cursor)
    except InvalidInput:  # an invalid cursor: start with the first page
        page = campaign_page(state)
    may_approve = request.user.has_perm("migrations_app.approve_rollout")
    waiting = campaign_inbox(int(request.user.pk or 0)) if may_approve else ()
    context = {"section": "rollouts", "page": page, "state": state, "cursor": cursor, "waiting": waiting}
    return render(request, "campaign/list.html", context)


@require_right(*OPERATE)
@require_safe
def new(request: HttpRequest) -> HttpResponse:
    """The form of a new campaign."""
    return recipe_page(request)


def recipe_page(request: HttpRequest, *, refused: KarpdashError | None = None, status: int = 200) -> HttpResponse:
    """The form for a new campaign; with `refused`, the submitted values and why they were refused."""
    plain = Recipe(selection=Selection())
    named, chosen = request.GET.get("q", "").strip()[:LONGEST_NAME], request.POST.getlist("groups")
    context = {
        "section": "rollouts",
        "offered": offered_groups(containing=named, kept=chosen, limit=MAX_GROUPS_OFFERED),
        "named": named,
        "chosen": chosen,
        "hops": HOPS,
        "limits": COVERABLE,
        "covers": request.POST.get("covers", FORM_COVERS),
        "gates": PERSON_GATES,
        "destroying": [
            (action, str(getattr(find(action), "title", action)), action in request.POST.getlist("destroys"))
            for action in FORECAST
        ],
        "plain": plain,
        "plain_waves": sizes_text(plain.waves),
        "form_key": form_key(),
        "refused": refused,
        "submitted": request.POST,
    }
    return render(request, "campaign/new.html", context, status=status)


@require_right()
@require_safe
def campaign(request: HttpRequest, campaign_id: uuid.UUID) -> HttpResponse:
    """The board of the campaign."""
    return page_of_campaign(request, campaign_id)


def page_of_campaign(
    request: HttpRequest, campaign_id: uuid.UUID, *, refused: KarpdashError | None = None, status: int = 200
) -> HttpResponse:
    """The page of a campaign. With `refused`, the refusal is shown above the current state (R33)."""
    board = _board(request, campaign_id)
    person = person_over_clusters(person_of(request), board.clusters)
    forms = presenter.campaign_forms(board, person)
    context = _live(request, board, forms=forms) | {
        "section": "rollouts",
        "next_wave": presenter.wave_to_open(board),
        "typed": presenter.must_type_name(board),
        "held": presenter.approval_count(board),
        "signs_in_again": presenter.signs_in_again(board, person),
        "covered": covered_by_approval(campaign_id) if board.row.state in SHOWN_IN else None,
        "polled": board.row.state in presenter.POLLED,
        "refused": refused,
        "accepted_before": request.POST.getlist("accepted"),
    }
    return render(request, "campaign/page.html", context, status=status)


@require_right()
@require_safe
def live(request: HttpRequest, campaign_id: uuid.UUID) -> HttpResponse:
    """The board alone, polled every two seconds; 304 while it has not changed."""
    board = _board(request, campaign_id)
    members = [
        (member.id, member.state, member.journey_state, member.wait_code, member.steps_done) for member in board.members
    ]
    waves = [(wave.number, wave.counts, wave.opened_at) for wave in board.waves]
    text = f"{board.row.version} {board.row.done} {members} {waves}"
    tag = f'"{hashlib.sha256(text.encode()).hexdigest()[:40]}"'
    if request.headers.get("If-None-Match", "").removeprefix("W/") == tag:  # weak once the answer was compressed
        answer = HttpResponse(status=304)
    else:
        person = person_over_clusters(person_of(request), board.clusters)
        answer = render(
            request, "campaign/_live.html", _live(request, board, forms=presenter.campaign_forms(board, person))
        )
    answer["ETag"] = tag
    answer["X-Rollout-Version"] = str(board.row.version)
    return answer


@require_right()
@require_safe
def receipt(_request: HttpRequest, campaign_id: uuid.UUID) -> HttpResponse:
    """The receipt for the change ticket as Markdown."""
    board = campaign_board(campaign_id, limit=MAX_CLUSTERS)
    answer = HttpResponse(campaign_receipt(board, board.members), content_type="text/markdown; charset=utf-8")
    answer["Content-Disposition"] = f'attachment; filename="campaign-{campaign_id}.md"'
    return answer


@require_right()
@require_safe
def calendar(request: HttpRequest) -> HttpResponse:
    """The change windows of the next two weeks of all campaigns that have not ended."""
    now = timezone.now()
    lines = [(row, window_days(recipe.windows, now=now)) for row, recipe in windows_of_campaigns()]
    days = window_days((), now=now)
    return render(request, "campaign/calendar.html", {"section": "rollouts", "lines": lines, "days": days, "now": now})


def _board(request: HttpRequest, campaign_id: uuid.UUID) -> CampaignBoard:
    requested = request.GET.get("state", "")
    state = requested if requested in MEMBER_STATES else ""
    try:
        return campaign_board(campaign_id, after=request.GET.get("cursor", ""), state=state)
    except InvalidInput:  # an invalid cursor: start with the first page
        return campaign_board(campaign_id, state=state)


def _live(request: HttpRequest, board: CampaignBoard, *, forms: presenter.CampaignForms) -> dict[str, Any]:
    now = timezone.now()
    return {
        "board": board,
        "row": board.row,
        "may": forms,
        "again": presenter.retryable_members(board),
        "chart": burn_up_chart(board.curve, now=board.row.finished_at or now),
        "cursor": request.GET.get("cursor", ""),
        "page": board,
        "sizes": sizes_text(board.recipe.waves),
        "form_key": form_key(),
        "now": now,
    }

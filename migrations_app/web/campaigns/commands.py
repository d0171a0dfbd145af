"""Form views that change a campaign. Every form sends the version, and where needed the digest, that the user saw."""

import uuid
from collections.abc import Callable
from functools import partial
from typing import Any

from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_POST

from migrations_app.errors import InvalidInput, NotFound
from migrations_app.tasks import enqueue_campaign, enqueue_campaign_previews
from migrations_app.texts import text as _
from migrations_app.use_cases.audit.log import actor
from migrations_app.use_cases.campaigns import approvals, lifecycle, member_decisions
from migrations_app.use_cases.campaigns.drafts import draft_campaign
from migrations_app.use_cases.rollouts.approvals import ApprovalRequest
from migrations_app.web.access import APPROVE, OPERATE, STOP, person_of, require_right
from migrations_app.web.campaigns.pages import page_of_campaign, recipe_page
from migrations_app.web.campaigns.recipe_form import request_of
from migrations_app.web.command_forms import number_in, refused_on, text_in, version_in
from migrations_app.web.double_submit import require_confirmed


@require_right(*OPERATE)
@require_POST
@refused_on(recipe_page)
def create(request: HttpRequest) -> HttpResponse:
    """Drafts a campaign; workers preview its clusters."""
    campaign_id = draft_campaign(request_of(request.POST), person=person_of(request), by=actor())
    transaction.on_commit(partial(enqueue_campaign_previews, campaign_id))
    return redirect("campaign", campaign_id)


@require_right(*OPERATE)
@require_POST
@refused_on(page_of_campaign)
def request_approval(request: HttpRequest, campaign_id: uuid.UUID) -> HttpResponse:
    """Requests approval of the preview."""
    return _apply_change(request, campaign_id, change=approvals.request_campaign_approval)


@require_right(*APPROVE)
@require_POST
@refused_on(page_of_campaign)
def approve(request: HttpRequest, campaign_id: uuid.UUID) -> HttpResponse:
    """Approves the digest in the form."""
    form = request.POST
    approval = ApprovalRequest(
        digest=form.get("digest", ""),
        nonce=form.get("nonce", ""),
        accepted=tuple(form.getlist("accepted")),
        reason=text_in(request, "reason"),
        typed=form.get("typed", ""),
    )
    approvals.approve_campaign(campaign_id, person_of(request), approval_request=approval, by=actor())
    return redirect("campaign", campaign_id)


@require_right(*APPROVE)
@require_POST
@refused_on(page_of_campaign)
def withdraw_approval(request: HttpRequest, campaign_id: uuid.UUID) -> HttpResponse:
    """Withdraws the user's own approval."""
    approvals.withdraw_approval(campaign_id, person_of(request), reason=text_in(request, "reason"), by=actor())
    return redirect("campaign", campaign_id)


@require_right(*STOP)
@require_POST
@refused_on(page_of_campaign)
def reject(request: HttpRequest, campaign_id: uuid.UUID) -> HttpResponse:
    """Rejects the campaign, or withdraws a preview."""
    return _apply_change(
        request, campaign_id, change=partial(approvals.reject_campaign, reason=text_in(request, "reason"))
    )


@require_right(*OPERATE)
@require_POST
@refused_on(page_of_campaign)
def start(request: HttpRequest, campaign_id: uuid.UUID) -> HttpResponse:
    """Starts an approved campaign, once it is confirmed."""
    require_confirmed(request)
    digest = request.POST.get("digest", "")
    return _apply_change(request, campaign_id, change=partial(lifecycle.start_campaign, digest=digest))


@require_right(*STOP)
@require_POST
@refused_on(page_of_campaign)
def pause(request: HttpRequest, campaign_id: uuid.UUID) -> HttpResponse:
    """Pauses the campaign and its journeys."""
    return _apply_change(request, campaign_id, change=lifecycle.pause_campaign)


@require_right(*OPERATE)
@require_POST
@refused_on(page_of_campaign)
def resume(request: HttpRequest, campaign_id: uuid.UUID) -> HttpResponse:
    """Resumes the campaign and the journeys that were paused with it."""
    return _apply_change(request, campaign_id, change=lifecycle.resume_campaign)


@require_right(*STOP)
@require_POST
@refused_on(page_of_campaign)
def abort(request: HttpRequest, campaign_id: uuid.UUID) -> HttpResponse:
    """Ends the campaign where it is."""
    return _apply_change(
        request, campaign_id, change=partial(lifecycle.abort_campaign, reason=text_in(request, "reason"))
    )


@require_right(*OPERATE)
@require_POST
@refused_on(page_of_campaign)
def open_wave(request: HttpRequest, campaign_id: uuid.UUID) -> HttpResponse:
    """Records that a person lets the next wave begin."""
    wave = number_in(request, "wave") - 1
    return _apply_change(
        request, campaign_id, change=partial(member_decisions.open_wave, wave=wave, note=text_in(request, "note"))
    )


@require_right(*OPERATE)
@require_POST
@refused_on(page_of_campaign)
def exclude_member(request: HttpRequest, campaign_id: uuid.UUID) -> HttpResponse:
    """Leaves a cluster out of the campaign, with a reason."""
    reason = text_in(request, "reason")
    return _of_member(request, campaign_id, change=partial(member_decisions.exclude_member, reason=reason))


@require_right(*OPERATE)
@require_POST
@refused_on(page_of_campaign)
def requeue_member(request: HttpRequest, campaign_id: uuid.UUID) -> HttpResponse:
    """Queues a stopped cluster again, and resumes the campaign if the form says so."""
    resume = request.POST.get("resume") == "1"
    return _of_member(request, campaign_id, change=partial(member_decisions.requeue_member, resume=resume))


def _of_member(request: HttpRequest, campaign_id: uuid.UUID, *, change: Callable[..., Any]) -> HttpResponse:
    member = number_in(request, "member")
    try:
        return _apply_change(request, campaign_id, change=partial(change, member=member))
    except NotFound:
        raise InvalidInput(_("the campaign has no such cluster"), where="member", code="unknown_member") from None


def _apply_change(request: HttpRequest, campaign_id: uuid.UUID, *, change: Callable[..., Any]) -> HttpResponse:
    """Makes the change at the version that the user saw, and enqueues work for a worker after the commit."""
    change(campaign_id, person_of(request), by=actor(), version=version_in(request))
    transaction.on_commit(partial(enqueue_campaign, campaign_id))
    return redirect("campaign", campaign_id)

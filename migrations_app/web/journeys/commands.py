"""Form views that change a journey. Every form sends the version, and where needed the digest, that the user saw."""

import uuid
from collections.abc import Callable
from functools import partial
from typing import Any

from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_POST

from migrations_app.journeys.compose import SOAK_SECONDS
from migrations_app.journeys.plan import FORM_COVERS
from migrations_app.tasks import enqueue_journey
from migrations_app.texts import text as _
from migrations_app.use_cases.audit.log import actor
from migrations_app.use_cases.journeys import approvals, holds, lifecycle, step_rollback, steps
from migrations_app.use_cases.journeys.drafts import LONGEST_SOAK, JourneyRequest, draft_journey
from migrations_app.use_cases.rollouts.approvals import ApprovalRequest
from migrations_app.web.access import APPROVE, OPERATE, STOP, person_of, require_right
from migrations_app.web.command_forms import NumberField, number_within, refused_on, text_in, version_in
from migrations_app.web.double_submit import require_confirmed
from migrations_app.web.journeys.pages import page_of_journey, planning_page

MINUTES = NumberField(_("Minutes that the new release runs before the work after it"), most=LONGEST_SOAK // 60)


@require_right(*OPERATE)
@require_POST
@refused_on(planning_page)
def plan(request: HttpRequest, cluster_id: uuid.UUID) -> HttpResponse:
    """Drafts the journey of the cluster's next upgrade."""
    form = request.POST
    source = form.get("source", "").strip()
    journey_request = JourneyRequest(
        covers=form.get("covers", FORM_COVERS),
        parameters={"upgrade_crds": {"source": source}} if source else {},
        soak_seconds=60 * number_within(form, "minutes", field=MINUTES, otherwise=SOAK_SECONDS // 60),
        ticket=form.get("ticket", "").strip(),
        note=form.get("note", "").strip(),
    )
    journey_id = draft_journey(cluster_id, journey_request, person=person_of(request), by=actor())
    transaction.on_commit(partial(enqueue_journey, journey_id))
    return redirect("journey", journey_id)


@require_right(*OPERATE)
@require_POST
@refused_on(page_of_journey)
def request_approval(request: HttpRequest, journey_id: uuid.UUID) -> HttpResponse:
    """Requests approval of the preview."""
    return _apply_change(request, journey_id, change=approvals.request_journey_approval)


@require_right(*APPROVE)
@require_POST
@refused_on(page_of_journey)
def approve(request: HttpRequest, journey_id: uuid.UUID) -> HttpResponse:
    """Approves the digest in the form."""
    form = request.POST
    approval = ApprovalRequest(
        digest=form.get("digest", ""),
        nonce=form.get("nonce", ""),
        reason=text_in(request, "reason"),
        typed=form.get("typed", ""),
    )
    approvals.approve_journey(journey_id, person_of(request), approval_request=approval, by=actor())
    return redirect("journey", journey_id)


@require_right(*STOP)
@require_POST
@refused_on(page_of_journey)
def reject(request: HttpRequest, journey_id: uuid.UUID) -> HttpResponse:
    """Rejects the journey, or withdraws a preview."""
    return _apply_change(
        request, journey_id, change=partial(approvals.reject_journey, reason=text_in(request, "reason"))
    )


@require_right(*OPERATE)
@require_POST
@refused_on(page_of_journey)
def start(request: HttpRequest, journey_id: uuid.UUID) -> HttpResponse:
    """Starts an approved journey, once it is confirmed."""
    require_confirmed(request)
    digest = request.POST.get("digest", "")
    return _apply_change(request, journey_id, change=partial(lifecycle.start_journey, digest=digest))


@require_right(*STOP)
@require_POST
@refused_on(page_of_journey)
def pause(request: HttpRequest, journey_id: uuid.UUID) -> HttpResponse:
    """Pauses the journey and its rollout."""
    hold = request.POST.get("hold_disruption") == "on"
    return _apply_change(request, journey_id, change=partial(lifecycle.pause_journey, hold_disruption=hold))


@require_right(*OPERATE)
@require_POST
@refused_on(page_of_journey)
def disruption(request: HttpRequest, journey_id: uuid.UUID) -> HttpResponse:
    """Holds Karpenter's own disruption while the journey is paused, or restores the budgets."""
    asked_for = request.POST.get("asked_for", "")
    return _apply_change(request, journey_id, change=partial(holds.change_hold, asked_for=asked_for))


@require_right(*OPERATE)
@require_POST
@refused_on(page_of_journey)
def resume(request: HttpRequest, journey_id: uuid.UUID) -> HttpResponse:
    """Resumes the journey and its rollout."""
    return _apply_change(request, journey_id, change=lifecycle.resume_journey)


@require_right(*STOP)
@require_POST
@refused_on(page_of_journey)
def abort(request: HttpRequest, journey_id: uuid.UUID) -> HttpResponse:
    """Ends the journey where it is."""
    return _apply_change(
        request, journey_id, change=partial(lifecycle.abort_journey, reason=text_in(request, "reason"))
    )


@require_right(*OPERATE)
@require_POST
@refused_on(page_of_journey)
def tick(request: HttpRequest, journey_id: uuid.UUID) -> HttpResponse:
    """Confirms the current step."""
    return _of_step(request, journey_id, change=partial(steps.confirm_step, note=text_in(request, "note")))


@require_right(*OPERATE)
@require_POST
@refused_on(page_of_journey)
def skip(request: HttpRequest, journey_id: uuid.UUID) -> HttpResponse:
    """Skips a step with a reason."""
    return _of_step(request, journey_id, change=partial(steps.skip, reason=text_in(request, "reason")))


@require_right(*OPERATE)
@require_POST
@refused_on(page_of_journey)
def retry(request: HttpRequest, journey_id: uuid.UUID) -> HttpResponse:
    """Retries a failed step."""
    return _of_step(request, journey_id, change=steps.retry)


@require_right(*OPERATE)
@require_POST
@refused_on(page_of_journey)
def take_back(request: HttpRequest, journey_id: uuid.UUID) -> HttpResponse:
    """Rolls the journey back to a step."""
    return _of_step(
        request, journey_id, change=partial(step_rollback.begin_rollback, reason=text_in(request, "reason"))
    )


@require_right(*OPERATE)
@require_POST
@refused_on(page_of_journey)
def accept(request: HttpRequest, journey_id: uuid.UUID) -> HttpResponse:
    """Accepts the plan of the current step."""
    digest = request.POST.get("digest", "")
    return _of_step(request, journey_id, change=partial(steps.accept_plan, digest=digest))


def _of_step(request: HttpRequest, journey_id: uuid.UUID, *, change: Callable[..., Any]) -> HttpResponse:
    return _apply_change(request, journey_id, change=partial(change, step=request.POST.get("step", "")))


def _apply_change(request: HttpRequest, journey_id: uuid.UUID, *, change: Callable[..., Any]) -> HttpResponse:
    """Makes the change at the version that the user saw, and enqueues work for a worker after the commit."""
    change(journey_id, person_of(request), by=actor(), version=version_in(request))
    transaction.on_commit(partial(enqueue_journey, journey_id))
    return redirect("journey", journey_id)

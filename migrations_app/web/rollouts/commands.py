"""Form views that change a rollout. Every form sends the version, and where needed the digest, that the user saw."""

import uuid
from collections.abc import Callable
from functools import partial

from django.contrib import messages
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_POST

from migrations_app.access import Person
from migrations_app.rehearsals.play import Failure
from migrations_app.tasks import advance_rollout, enqueue_rehearsal, enqueue_rollout, prepare_rollout
from migrations_app.texts import text as _
from migrations_app.use_cases.audit.log import actor
from migrations_app.use_cases.rehearsal_runs.queue import SCENARIOS, request_rehearsal
from migrations_app.use_cases.rollouts import approvals, drafts, lifecycle
from migrations_app.use_cases.rollouts.approvals import ApprovalRequest
from migrations_app.web.access import APPROVE, OPERATE, STOP, person_of, require_right
from migrations_app.web.command_forms import MAX_TEXT_LENGTH, refused_on, text_in, version_in
from migrations_app.web.double_submit import require_confirmed
from migrations_app.web.rollouts.page import rollout_page


@require_right(*OPERATE)
@require_POST
@refused_on(rollout_page)
def request_approval(request: HttpRequest, rollout_id: uuid.UUID) -> HttpResponse:
    """Requests approval of the preview, which cannot change after that."""
    typed = request.POST.get("typed", "")
    row = approvals.request_approval(
        rollout_id, person_of(request), by=actor(), version=version_in(request), typed=typed
    )
    if row.state == "approved":
        messages.success(request, _("No approval is asked for a plan of this risk; it may be started."))
    return redirect("rollout", rollout_id)


@require_right(*APPROVE)
@require_POST
@refused_on(rollout_page)
def approve(request: HttpRequest, rollout_id: uuid.UUID) -> HttpResponse:
    """Approves the digest in the form."""
    row = approvals.approve(rollout_id, person_of(request), approval_request=_approval(request), by=actor())
    done = row.state == "approved"
    messages.success(
        request, _("Approved; it may be started.") if done else _("Your approval is given; others are missing.")
    )
    return redirect("rollout", rollout_id)


@require_right("break_glass")
@require_POST
@refused_on(rollout_page)
def approve_alone(request: HttpRequest, rollout_id: uuid.UUID) -> HttpResponse:
    """Approves without a second person, in an emergency."""
    approvals.break_glass(rollout_id, person_of(request), approval_request=_approval(request), by=actor())
    messages.warning(request, _("Approved by you alone. Every approver is told, and it stays marked."))
    return redirect("rollout", rollout_id)


@require_right(*OPERATE)
@require_POST
@refused_on(rollout_page)
def rehearse(request: HttpRequest, rollout_id: uuid.UUID) -> HttpResponse:
    """Requests a rehearsal of the plan and enqueues it after the commit. Nothing in the cluster is changed."""
    chosen = request.POST.getlist("failures")
    zone = request.POST.get("zone", "").strip()[:60]
    failures = [
        Failure(scenario, zone if scenario == "full_zone" else "") for scenario in SCENARIOS if scenario in chosen
    ]
    rehearsal_id = request_rehearsal(rollout_id, person_of(request), failures=failures, by=actor())
    transaction.on_commit(partial(enqueue_rehearsal, rehearsal_id))
    return redirect("rollout", rollout_id)


@require_right(*STOP)
@require_POST
@refused_on(rollout_page)
def reject(request: HttpRequest, rollout_id: uuid.UUID) -> HttpResponse:
    """Rejects the plan, or withdraws a preview."""
    approvals.reject(
        rollout_id, person_of(request), reason=text_in(request, "reason"), by=actor(), version=version_in(request)
    )
    return redirect("rollout", rollout_id)


@require_right(*OPERATE)
@require_POST
@refused_on(rollout_page)
def start(request: HttpRequest, rollout_id: uuid.UUID) -> HttpResponse:
    """Starts the rollout, once it is confirmed, and enqueues it after the commit."""
    require_confirmed(request)
    digest = request.POST.get("digest", "")
    lifecycle.start(rollout_id, person_of(request), digest=digest, by=actor(), version=version_in(request))
    transaction.on_commit(partial(enqueue_rollout, rollout_id, advance_rollout))
    return redirect("rollout", rollout_id)


@require_right(*STOP)
@require_POST
@refused_on(rollout_page)
def pause(request: HttpRequest, rollout_id: uuid.UUID) -> HttpResponse:
    """Pauses after the current request."""
    return _stopped(request, rollout_id, stop=lifecycle.pause)


@require_right(*STOP)
@require_POST
@refused_on(rollout_page)
def abort(request: HttpRequest, rollout_id: uuid.UUID) -> HttpResponse:
    """Aborts after the current request."""
    return _stopped(request, rollout_id, stop=lifecycle.abort)


@require_right(*OPERATE)
@require_POST
@refused_on(rollout_page)
def resume(request: HttpRequest, rollout_id: uuid.UUID) -> HttpResponse:
    """Resumes the rollout, with all checks of a start."""
    lifecycle.resume(rollout_id, person_of(request), by=actor(), version=version_in(request))
    transaction.on_commit(partial(enqueue_rollout, rollout_id, advance_rollout))
    return redirect("rollout", rollout_id)


@require_right(*OPERATE)
@require_POST
@refused_on(rollout_page)
def settle(request: HttpRequest, rollout_id: uuid.UUID) -> HttpResponse:
    """Resolves a rollout that needs attention."""
    then = request.POST.get("then", "")
    lifecycle.resolve_by_person(
        rollout_id,
        person_of(request),
        then=then,
        reason=text_in(request, "reason"),
        by=actor(),
        version=version_in(request),
    )
    return redirect("rollout", rollout_id)


@require_right(*OPERATE)
@require_POST
@refused_on(rollout_page)
def skip_node(request: HttpRequest, rollout_id: uuid.UUID) -> HttpResponse:
    """Skips the node of a step that was not sent yet."""
    step, person = request.POST.get("step", ""), person_of(request)
    lifecycle.skip_node(
        rollout_id, person, step=step, reason=text_in(request, "reason"), by=actor(), version=version_in(request)
    )
    transaction.on_commit(partial(enqueue_rollout, rollout_id, advance_rollout))
    return redirect("rollout", rollout_id)


@require_right(*OPERATE)
@require_POST
@refused_on(rollout_page)
def roll_back(request: HttpRequest, rollout_id: uuid.UUID) -> HttpResponse:
    """Creates a rollback rollout, which has its own preview and approval."""
    rollback_id = drafts.roll_back(rollout_id, person_of(request), by=actor(), version=version_in(request))
    transaction.on_commit(partial(enqueue_rollout, rollback_id, prepare_rollout))
    return redirect("rollout", rollback_id)


def _stopped(request: HttpRequest, rollout_id: uuid.UUID, *, stop: Callable[..., None]) -> HttpResponse:
    person: Person = person_of(request)
    stop(rollout_id, person, by=actor(), version=version_in(request))
    return redirect("rollout", rollout_id)


def _approval(request: HttpRequest) -> ApprovalRequest:
    form = request.POST
    return ApprovalRequest(
        digest=form.get("digest", ""),
        nonce=form.get("nonce", ""),
        accepted=tuple(form.getlist("accepted"))[:MAX_TEXT_LENGTH],
        reason=text_in(request, "reason"),
        typed=form.get("typed", ""),
    )

"""The pages of one journey with its live part, of a cluster's open journey, and of all journeys."""

import hashlib
import uuid
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.views.decorators.http import require_safe

from migrations_app.errors import InvalidInput, KarpdashError
from migrations_app.journeys.compose import SOAK_SECONDS
from migrations_app.journeys.plan import COVERABLE, FORM_COVERS
from migrations_app.journeys.states import JOURNEY_STATES
from migrations_app.queries.journeys.journeys import (
    JOURNEY_GROUPS,
    JourneyDetail,
    JourneyFilters,
    JourneyRow,
    current_journey,
    journey_detail,
    journey_inbox,
    journey_page,
)
from migrations_app.queries.journeys.rollback import rollback_of
from migrations_app.queries.pagination import Page
from migrations_app.readiness.action_offers import READ_ONLY
from migrations_app.web.access import person_of, require_right
from migrations_app.web.clusters.readiness import about
from migrations_app.web.double_submit import FIELD, form_key
from migrations_app.web.journeys import presenter


@require_right()
@require_safe
def journeys(request: HttpRequest) -> HttpResponse:
    """Every journey, newest first, with those that wait for the user's approval on top."""
    requested = request.GET.get("state", "")
    state = requested if requested in JOURNEY_GROUPS or requested in JOURNEY_STATES else ""
    may_approve = request.user.has_perm("migrations_app.approve_rollout")
    context = {
        "section": "rollouts",
        "page": _page(request, JourneyFilters(state=state)),
        "state": state,
        "cursor": request.GET.get("cursor", ""),
        "waiting": journey_inbox(int(request.user.pk or 0)) if may_approve else (),
    }
    return render(request, "journey/list.html", context)


@require_right()
@require_safe
def of_cluster(request: HttpRequest, cluster_id: uuid.UUID) -> HttpResponse:
    """The cluster's open journey; if there is none, the form that plans one."""
    open_one = current_journey(cluster_id)
    if open_one is not None:
        return redirect("journey", open_one.id)
    return planning_page(request, cluster_id)


def planning_page(
    request: HttpRequest, cluster_id: uuid.UUID, *, refused: KarpdashError | None = None, status: int = 200
) -> HttpResponse:
    """The form that plans the next upgrade, and the earlier journeys of the cluster."""
    context = about(request, cluster_id, tab="cluster-rollouts")
    context |= {
        "page": _page(request, JourneyFilters(cluster=cluster_id)),
        "cursor": request.GET.get("cursor", ""),
        "limits": COVERABLE,
        "covers": request.POST.get("covers", FORM_COVERS),
        "minutes": SOAK_SECONDS // 60,
        "submitted": request.POST,
        "read_only": context["head"].source in READ_ONLY,
        "form_key": form_key(),
        "refused": refused,
    }
    return render(request, "journey/cluster.html", context, status=status)


@require_right()
@require_safe
def journey(request: HttpRequest, journey_id: uuid.UUID) -> HttpResponse:
    """The page for the journey's current state."""
    return page_of_journey(request, journey_id)


def page_of_journey(
    request: HttpRequest, journey_id: uuid.UUID, *, refused: KarpdashError | None = None, status: int = 200
) -> HttpResponse:
    """The page. With `refused`, the refusal is shown above the current state (R33)."""
    detail, person = journey_detail(journey_id), person_of(request)
    forms = presenter.forms_of(detail, person)
    chosen = presenter.rollback_target(detail, _step_to_roll_back_to(request), forms=forms)
    step_forms = presenter.step_forms(detail, person)
    offered = any(why is not None for why in (*forms.values(), *step_forms.values()))
    context = _live(detail) | {
        "section": "rollouts",
        "may": forms,
        "step_may": step_forms,
        "acts": offered or detail.approvals,
        "may_scan": presenter.waits_for_scan(detail) and request.user.has_perm("migrations_app.add_scan"),
        "typed": presenter.must_type_name(detail),
        "sign_in_again": forms["approve"] is not None and detail.risk == "destructive",
        "polled": presenter.is_polled(detail),
        "back_to": chosen,
        "steps_to_undo": rollback_of(journey_id, to=chosen.definition.id) if chosen else (),
        "form_key": form_key(),
        "refused": refused,
    }
    return render(request, "journey/page.html", context, status=status)


@require_right()
@require_safe
def live(request: HttpRequest, journey_id: uuid.UUID) -> HttpResponse:
    """The list of steps, polled every two seconds; 304 while it has not changed."""
    detail = journey_detail(journey_id)
    work = [(step.state, step.work.state if step.work else "") for step in detail.steps]
    version_text = f"{detail.row.version} {work} {detail.disruption_hold}"
    tag = f'"{hashlib.sha256(version_text.encode()).hexdigest()[:40]}"'
    if request.headers.get("If-None-Match", "").removeprefix("W/") == tag:  # weak once the answer was compressed
        answer = HttpResponse(status=304)
    else:
        answer = render(request, "journey/_live.html", _live(detail))
    answer["ETag"] = tag
    answer["X-Rollout-Version"] = str(detail.row.version)
    return answer


def _step_to_roll_back_to(request: HttpRequest) -> str:
    """Returns the step in the refused form of a rollback, so that the page shows that form again; else the one in the
    URL.
    """
    if request.POST.get(FIELD, "").endswith("-take-back"):
        return request.POST.get("step", "")
    return request.GET.get("back", "")


def _live(detail: JourneyDetail) -> dict[str, Any]:
    return {
        "detail": detail,
        "row": detail.row,
        "next_step": presenter.shown_step(detail),
        "now": timezone.now(),
    }


def _page(request: HttpRequest, filters: JourneyFilters) -> Page[JourneyRow]:
    try:
        return journey_page(filters, after=request.GET.get("cursor", ""))
    except InvalidInput:  # an invalid cursor: start with the first page
        return journey_page(filters)

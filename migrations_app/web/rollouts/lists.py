"""Lists of rollouts: of the fleet, of one cluster, and those that wait for the user's approval."""

import uuid
from collections.abc import Mapping
from datetime import timedelta
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.views.decorators.http import require_safe

from migrations_app.actions.states import STATES
from migrations_app.errors import InvalidInput
from migrations_app.queries.pagination import Page
from migrations_app.queries.rollouts.policies import policy_row
from migrations_app.queries.rollouts.rollouts import (
    GROUPS,
    RolloutFilters,
    RolloutRow,
    counts_by_group,
    holder_of,
    inbox,
    rollout_page,
    rollouts_approved_alone,
)
from migrations_app.readiness.action_order import ActionPath, action_path
from migrations_app.web.access import require_right
from migrations_app.web.clusters.readiness import about, offered

EMERGENCY_NOTICE_PERIOD = timedelta(days=7)
"""For how long approvers see emergency approvals."""


@require_right()
@require_safe
def rollouts(request: HttpRequest) -> HttpResponse:
    """Every rollout, newest first, with those that wait for the user's approval on top."""
    state = _state(request)
    page = _page(request, RolloutFilters(state=state, impossible=False))
    may_approve = request.user.has_perm("migrations_app.approve_rollout")
    context = {
        "section": "rollouts",
        "page": page,
        "state": state,
        "cursor": request.GET.get("cursor", ""),
        "counts": counts_by_group(impossible=False),
        "waiting": inbox(int(request.user.pk or 0)) if may_approve else (),
        "alone": rollouts_approved_alone(timezone.now() - EMERGENCY_NOTICE_PERIOD) if may_approve else (),
    }
    return render(request, "rollout/list.html", context)


@require_right("approve_rollout", "administer_policy")
@require_safe
def waiting(request: HttpRequest) -> HttpResponse:
    """The rollouts that wait for the user's approval."""
    context = {
        "section": "rollouts",
        "waiting": inbox(int(request.user.pk or 0)),
        "alone": rollouts_approved_alone(timezone.now() - EMERGENCY_NOTICE_PERIOD),
    }
    return render(request, "rollout/inbox.html", context)


@require_right()
@require_safe
def of_cluster(request: HttpRequest, cluster_id: uuid.UUID) -> HttpResponse:
    """One cluster's rollouts, its available actions, and the approvals that they need."""
    context = about(request, cluster_id, tab="cluster-rollouts")
    state, prior = _state(request), context["prior"]
    context |= {
        "page": _page(request, RolloutFilters(cluster=cluster_id, state=state, impossible=False)),
        "state": state,
        "cursor": request.GET.get("cursor", ""),
        "counts": counts_by_group(cluster_id, impossible=False),
        "holder": (holder := holder_of(cluster_id)),
        "is_held": holder is not None or (prior is not None and prior.holds),
        "policy": policy_row(cluster_id),
        "actions": _actions(request, context),
    }
    return render(request, "rollout/cluster.html", context)


def _actions(request: HttpRequest, context: Mapping[str, Any]) -> ActionPath:
    """Returns the actions of the chosen upgrade in their order; if nothing was judged for it, those of every one."""
    head, report, hop, task = context["head"], context["report"], context["hop"], context["next"]
    every_offer = offered(request, head, report=report)
    if not hop.findings:
        return action_path(every_offer)
    at_hop = offered(request, head, report=report, findings=hop.findings)
    return action_path(
        at_hop,
        findings=hop.findings,
        release=hop.release,
        later=every_offer,
        next_check=(task.check or ("" if task.upgrades else None)) if task else None,
    )


def _page(request: HttpRequest, filters: RolloutFilters) -> Page[RolloutRow]:
    try:
        return rollout_page(filters, after=request.GET.get("cursor", ""))
    except InvalidInput:  # an invalid cursor: start with the first page
        return rollout_page(filters)


def _state(request: HttpRequest) -> str:
    requested = request.GET.get("state", "")
    return requested if requested in GROUPS or requested in STATES else ""

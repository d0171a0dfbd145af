"""Begins a plan: which objects, with what words; a worker works it out."""

import uuid
from functools import partial

from django.db import transaction
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.views.decorators.http import require_http_methods

from migrations_app.actions.base import Action
from migrations_app.actions.registry import find
from migrations_app.errors import BadInput, Conflict, Denied, KarpdashError
from migrations_app.flow.acting import actor
from migrations_app.flow.draft import ROLL_BACK, Wanted, draft
from migrations_app.queries.cluster import ClusterHead, cluster_head
from migrations_app.queries.policies import policy_row
from migrations_app.queries.rollouts import holder_of
from migrations_app.tasks import prepare_rollout, wake_rollout
from migrations_app.web.access import OPERATE, page
from migrations_app.web.once import form_key, once
from migrations_app.web.persons import person_of
from migrations_app.web.rollout import refusal_status
from migrations_app.web.rollout_choices import choices, known_objects, read_choices


@page(*OPERATE)
@require_http_methods(["GET", "HEAD", "POST"])
def new(request: HttpRequest, cluster_id: uuid.UUID) -> HttpResponse:
    """The choices of one action; a POST makes the draft."""
    head = cluster_head(cluster_id, now=timezone.now())
    action = find(request.GET.get("action", ""))
    if action is None or action.id == ROLL_BACK:
        raise Http404("no such action")
    if request.method != "POST":
        return _form(request, head, action=action)
    try:
        return once(partial(_drafted, head=head, action=action))(request)  # type: ignore[return-value]  # a redirect
    except (BadInput, Conflict, Denied) as refused:
        return _form(request, head, action=action, refused=refused)


def _drafted(request: HttpRequest, /, *, head: ClusterHead, action: Action) -> HttpResponse:
    wanted = Wanted(
        action=action.id,
        parameters=read_choices(action, request.POST),
        ticket=request.POST.get("ticket", "").strip(),
        note=request.POST.get("note", "").strip(),
    )
    made = draft(head.id, wanted, by=actor(), person=person_of(request))
    transaction.on_commit(partial(wake_rollout, made, prepare_rollout))
    return redirect("rollout", made)


def _form(
    request: HttpRequest, head: ClusterHead, *, action: Action, refused: KarpdashError | None = None
) -> HttpResponse:
    problems = {refused.where: refused.message} if refused else {}
    named = {one.name for one in action.parameters}
    given = request.POST if request.method == "POST" else None
    known = known_objects(head.id, head.snapshot.id if head.snapshot else None)
    context = {
        "section": "rollouts",
        "head": head,
        "action": action,
        "choices": choices(action, known=known, given=given, problems=problems),
        "refused": refused if refused and refused.where not in named else None,
        "said": request.POST,
        "policy": policy_row(head.id),
        "holder": holder_of(head.id),
        "form_key": form_key(),
    }
    status = refusal_status(refused) if refused else 200
    return render(request, "rollout/new.html", context, status=status)

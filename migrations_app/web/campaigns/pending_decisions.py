"""The page of everything in a campaign that waits for a person, with one form for all decisions."""

import uuid
from functools import partial
from typing import Any

from django.contrib import messages
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_POST, require_safe

from migrations_app.access import Person, may_resolve, may_start
from migrations_app.errors import KarpdashError
from migrations_app.queries.campaigns.campaigns import campaign_row
from migrations_app.queries.campaigns.pending_decisions import waiting_in, work_in
from migrations_app.tasks import enqueue_campaign, enqueue_journey
from migrations_app.texts import text as _
from migrations_app.use_cases.audit.log import actor
from migrations_app.use_cases.campaigns.bulk_decisions import DecisionOutcome, TogetherRequest, decide_together
from migrations_app.web.access import STOP, person_of, require_right
from migrations_app.web.command_forms import refused_on, text_in
from migrations_app.web.double_submit import form_key

ACCEPTED = "accepted-"
"""Prefix of a form field, before the id of a rollout: the steps that are accepted one by one."""


@require_right()
@require_safe
def waiting(request: HttpRequest, campaign_id: uuid.UUID) -> HttpResponse:
    """Lists what waits for people: plans to approve, plans that differ, steps to confirm."""
    return _page(request, campaign_id)


def _refusal(outcome: DecisionOutcome) -> str:
    sentence = _("{cluster}, {title}: not decided: {why}.")
    return sentence.format(cluster=outcome.cluster or outcome.key[:60], title=outcome.title, why=outcome.why)


def _page(
    request: HttpRequest, campaign_id: uuid.UUID, *, refused: KarpdashError | None = None, status: int = 200
) -> HttpResponse:
    row, decisions, form = campaign_row(campaign_id), waiting_in(campaign_id), request.POST
    chosen = form.getlist("decision") if refused else [decision.key for decision in decisions]
    context: dict[str, Any] = {
        "section": "rollouts",
        "row": row,
        "every": decisions,
        "work": work_in(campaign_id, decided_here={decision.journey for decision in decisions}),
        "plans": [decision for decision in decisions if decision.kind == "plan"],
        "others": [decision for decision in decisions if decision.kind != "plan"],
        "may": _may(person_of(request)),
        "refused": refused,
        "submitted": form,
        "chosen": chosen,
        "submitted_form": "plans" if "typed" in form else "others",
        "form_key": form_key(),
        "other_key": form_key(),
    }
    return render(request, "campaign/waiting.html", context, status=status)


def _may(person: Person) -> dict[str, bool]:
    """Returns which of the two forms this account may use at all; the use case checks each plan and step again."""
    return {
        "plans": "approve" in person.rights,
        "others": may_resolve(person) is None or may_start(person) is None,
    }


@require_right(*STOP)
@require_POST
@refused_on(_page)
def decide(request: HttpRequest, campaign_id: uuid.UUID) -> HttpResponse:
    """Decides on everything that is chosen in the form."""
    form = request.POST
    prefix = len(ACCEPTED)
    decision = TogetherRequest(
        keys=tuple(form.getlist("decision")),
        note=text_in(request, "note"),
        typed=form.get("typed", ""),
        accepted={name[prefix:]: tuple(form.getlist(name)) for name in form if name.startswith(ACCEPTED)},
    )
    outcomes = decide_together(campaign_id, person_of(request), request=decision, by=actor())
    transaction.on_commit(partial(enqueue_campaign, campaign_id))
    for outcome in outcomes:
        if outcome.code:
            messages.warning(request, _refusal(outcome))
        elif outcome.journey is not None:
            transaction.on_commit(partial(enqueue_journey, outcome.journey))
    done = sum(not outcome.code for outcome in outcomes)
    messages.success(request, _("{done} of {count} decided.").format(done=done, count=len(outcomes)))
    return redirect("campaign-waiting", campaign_id)

"""plans: ask for one, read it, ask for its approval. Nobody approves over the API."""

import uuid
from functools import partial
from typing import NoReturn

from django.db import transaction
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.reverse import reverse

from migrations_app.api import entity_tags
from migrations_app.api.described import KEY_NEEDED, described
from migrations_app.api.endpoint import Endpoint, asked, given
from migrations_app.api.fields import Strict, Text
from migrations_app.api.refusals import Problem
from migrations_app.api.replayed import guarded, keyed
from migrations_app.api.rights import READ, Need
from migrations_app.api.rollout_shapes import PlanWhole, asking, plan_answer
from migrations_app.flow import approve
from migrations_app.flow.acting import actor
from migrations_app.flow.draft import Wanted, draft
from migrations_app.queries.rollout_detail import rollout_detail
from migrations_app.queries.rollouts import rollout_row
from migrations_app.tasks import prepare_rollout, wake_rollout

PLAN = Need("plan", "operate_rollout")


class NewPlan(Strict):
    """What is to be done, on which cluster, with which choices of the action."""

    cluster = serializers.UUIDField()
    action = Text(max_length=60)
    parameters = serializers.DictField(required=False, default=dict)
    ticket = Text(required=False, allow_blank=True, max_length=200, default="")
    note = Text(required=False, allow_blank=True, max_length=2000, default="")


class Asking(Strict):
    """`typed`: the cluster's name, for actions that want it typed."""

    typed = Text(required=False, allow_blank=True, max_length=200, default="", trim_whitespace=False)


class Approving(Strict):
    """Nothing of this is taken: people approve in the browser."""


class Plans(Endpoint):
    """Plans are made here; they are listed as rollouts."""

    needs = {"POST": PLAN}

    @described(
        "POST", id="plans_create", tag="plans", named=True, body=NewPlan, answers={202: PlanWhole}, more=[KEY_NEEDED]
    )
    @keyed
    def post(self, request: Request) -> Response:
        """Stores a draft; a worker takes a fresh look at the cluster and works the plan out. Nothing is changed."""
        said = given(request, NewPlan)
        wanted = Wanted(action=said["action"], parameters=said["parameters"], ticket=said["ticket"], note=said["note"])
        made = draft(said["cluster"], wanted, by=actor(), person=asking(request))
        transaction.on_commit(partial(wake_rollout, made, prepare_rollout))
        answer = plan_answer(rollout_detail(made), status=202)
        answer["Location"] = reverse("api-plan", kwargs={"id": made}, request=request)
        return answer


class Plan(Endpoint):
    """One plan."""

    needs = {"GET": READ}

    @described("GET", id="plans_read", tag="plans", named=True, answers={200: PlanWhole})
    def get(self, request: Request, id: uuid.UUID) -> Response:  # noqa: A002 - the name in the address
        """The plan with every request it would send; a draft that came to nothing is `expired`, with the cause."""
        asked(request, Strict)
        return plan_answer(rollout_detail(id))


class PlanAsk(Endpoint):
    """Asking for approval."""

    needs = {"POST": PLAN}

    @described("POST", id="plans_ask", tag="plans", named=True, body=Asking, answers={200: PlanWhole}, guarded=True)
    @guarded
    def post(self, request: Request, id: uuid.UUID) -> Response:  # noqa: A002 - the name in the address
        """Freezes the preview and asks for approval; a plan that the policy asks nobody about is approved at once."""
        said = given(request, Asking)
        row = rollout_row(id)
        entity_tags.require_match(request, entity_tags.of_version(row.version))
        approve.ask(id, asking(request), by=actor(), version=row.version, typed=said["typed"])
        return plan_answer(rollout_detail(id))


class PlanApprove(Endpoint):
    """Approving is for people in the browser (A42)."""

    needs = {"POST": READ}

    @described("POST", id="plans_approve", tag="plans", named=True, body=Approving, answers={204: None})
    def post(self, request: Request, id: uuid.UUID) -> NoReturn:  # noqa: A002, ARG002 - the name in the address
        """Always refused with `person_needed`: a plan is approved by a person, in the browser."""
        row = rollout_row(id)
        raise Problem("person_needed", f"open /rollouts/{row.id}/ in the browser")

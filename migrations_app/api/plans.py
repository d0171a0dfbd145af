"""Serializers of plans, rollouts and policies, for answers.

Resource plans: request one, read it, ask for its approval. Plans cannot be approved over the API.
"""

import uuid
from functools import partial
from typing import Any, NoReturn

import msgspec
from django.db import transaction
from django.utils import timezone
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.reverse import reverse

from migrations_app.api.framework import etags
from migrations_app.api.framework.answers import StructSerializer
from migrations_app.api.framework.callers import caller_of
from migrations_app.api.framework.fields import OutputText, StrictSerializer, Text
from migrations_app.api.framework.idempotency import key_and_etag_required, key_required
from migrations_app.api.framework.operations import KEY_NEEDED, Operation
from migrations_app.api.framework.permissions import READ, EndpointPermission
from migrations_app.api.framework.problem_codes import Problem
from migrations_app.api.framework.views import Endpoint, body_params, query_params
from migrations_app.errors import Conflict
from migrations_app.queries.clusters.detail import cluster_head
from migrations_app.queries.rollouts.detail import (
    ApprovalRow,
    Export,
    JournalLine,
    RolloutDetail,
    SkippedNode,
    rollout_detail,
)
from migrations_app.queries.rollouts.policies import has_no_action_workers
from migrations_app.queries.rollouts.rollouts import RolloutRow, rollout_row
from migrations_app.readiness.action_offers import reason_disabled
from migrations_app.tasks import enqueue_rollout, prepare_rollout
from migrations_app.use_cases.audit.log import actor
from migrations_app.use_cases.rollouts import approvals
from migrations_app.use_cases.rollouts.drafts import RolloutRequest, draft

WHOLE = serializers.IntegerField


class RolloutLineSerializer(StructSerializer):
    """A rollout with its plan. `alone`: approved by one person in an emergency."""

    struct = RolloutRow
    leave_out = (
        "environment",
        "author_id",
    )
    published_as = {"stop_request": "wish"}


class AgreedSerializer(StructSerializer):
    """One person's approval."""

    struct = ApprovalRow
    leave_out = ("step_up",)


class KeptSerializer(StructSerializer):
    """A backup of an object; `proven_at` is when the backup was read again and found equal."""

    struct = Export


class PlanWholeSerializer(RolloutLineSerializer):
    """A rollout with the content of its plan; `plan` is null until a worker has made it."""

    parameters = serializers.DictField()
    plan = serializers.DictField(
        allow_null=True, help_text="Steps, limits, forecast and identity: everything that the digest covers."
    )
    doubts = serializers.DictField(child=OutputText(), help_text="By step: the risk that an approver accepts, and why.")
    needed = WHOLE(help_text="Approvals that the policy asks for now.")
    agreed = AgreedSerializer(many=True)
    exports = KeptSerializer(many=True)


class StepStateSerializer(serializers.Serializer[Any]):
    """A step with its state."""

    id = OutputText()
    title = OutputText()
    risk = OutputText()
    standing = OutputText(help_text="todo, sent, unknown, applied, noop, refused, changed_by_other, done or skipped.")


class SkippedNodeSerializer(StructSerializer):
    """A node that a person skipped; it is unchanged."""

    struct = SkippedNode


class RolloutWholeSerializer(RolloutLineSerializer):
    """A rollout with its steps and the last numbers; `picture.taken_at` is their time."""

    needed = WHOLE()
    agreed = AgreedSerializer(many=True)
    done = WHOLE()
    steps = StepStateSerializer(many=True)
    skipped_nodes = SkippedNodeSerializer(many=True)
    picture = serializers.DictField(allow_null=True)


class JournalLineSerializer(StructSerializer):
    """One request, or one gate that was passed. An empty outcome: sent, without an answer yet."""

    struct = JournalLine


class EventsSerializer(serializers.Serializer[Any]):
    """The newest lines of the journal, oldest first, with the state of the rollout."""

    state = OutputText()
    version = WHOLE()
    wish = OutputText()
    picture = serializers.DictField(allow_null=True)
    results = JournalLineSerializer(many=True)


def plan_answer(detail: RolloutDetail, *, status: int = 200) -> Response:
    """Returns the plan with its ETag."""
    values = {
        **line_of(detail),
        "parameters": detail.parameters,
        "plan": msgspec.to_builtins(detail.plan) if detail.plan else None,
        "doubts": {line.step.id: line.doubt for line in detail.steps if line.doubt},
        "needed": detail.needed,
        "agreed": detail.approvals,
        "exports": detail.exports,
    }
    return _tagged(PlanWholeSerializer(values), detail, status=status)


def rollout_answer(detail: RolloutDetail, *, status: int = 200) -> Response:
    """Returns the rollout with its ETag."""
    values = {
        **line_of(detail),
        "needed": detail.needed,
        "agreed": detail.approvals,
        "done": detail.done,
        "steps": [
            {"id": step.step.id, "title": step.step.title, "risk": step.step.risk, "standing": step.standing}
            for step in detail.steps
        ],
        "skipped_nodes": detail.skipped_nodes,
        "picture": msgspec.to_builtins(detail.picture) if detail.picture else None,
    }
    return _tagged(RolloutWholeSerializer(values), detail, status=status)


def line_of(detail: RolloutDetail) -> dict[str, Any]:
    """Returns the columns of the list."""
    return RolloutLineSerializer().to_representation(detail.row)


def _tagged(shape: serializers.Serializer[Any], detail: RolloutDetail, *, status: int) -> Response:
    answer = Response(shape.data, status=status)
    answer["ETag"] = etags.of_version(detail.row.version)
    return answer


PLAN = EndpointPermission("plan", "operate_rollout")


class NewPlanSerializer(StrictSerializer):
    """The action, the cluster, and the choices of the action."""

    cluster = serializers.UUIDField()
    action = Text(max_length=60)
    parameters = serializers.DictField(required=False, default=dict)
    ticket = Text(required=False, allow_blank=True, max_length=200, default="")
    note = Text(required=False, allow_blank=True, max_length=2000, default="")


class AskingSerializer(StrictSerializer):
    """`typed`: the cluster's name, for actions that require it."""

    typed = Text(required=False, allow_blank=True, max_length=200, default="", trim_whitespace=False)


class ApprovingSerializer(StrictSerializer):
    """The fields of an approval, which is always refused here: people approve in the browser."""


class PlansView(Endpoint):
    """Plans are created here and listed as rollouts."""

    needs = {"POST": PLAN}
    operations = {
        "POST": Operation(
            id="plans_create",
            body=NewPlanSerializer,
            answer=PlanWholeSerializer,
            status=202,
            named=True,
            more=[KEY_NEEDED],
        ),
    }

    @key_required
    def post(self, request: Request) -> Response:
        """Stores a draft; a worker reads the cluster and makes the plan. Nothing is changed."""
        body = body_params(request, NewPlanSerializer)
        rollout_request = RolloutRequest(
            action=body["action"], parameters=body["parameters"], ticket=body["ticket"], note=body["note"]
        )
        head = cluster_head(body["cluster"], now=timezone.now())
        if refusal := reason_disabled(
            may_prepare=True, source=head.source, has_no_action_workers=has_no_action_workers()
        ):
            raise Conflict(refusal, code="read_only")
        rollout_id = draft(body["cluster"], rollout_request, by=actor(), person=caller_of(request))
        transaction.on_commit(partial(enqueue_rollout, rollout_id, prepare_rollout))
        answer = plan_answer(rollout_detail(rollout_id), status=202)
        answer["Location"] = reverse("api-plan", kwargs={"id": rollout_id}, request=request)
        return answer


class PlanView(Endpoint):
    """One plan."""

    needs = {"GET": READ}
    operations = {
        "GET": Operation("plans_read", answer=PlanWholeSerializer),
    }

    def get(self, request: Request, id: uuid.UUID) -> Response:  # noqa: A002 - the name in the address
        """The plan with every request that it would send. A draft without a plan is `expired`, with the cause."""
        query_params(request, StrictSerializer)
        return plan_answer(rollout_detail(id))


class PlanApprovalRequestView(Endpoint):
    """Requesting approval."""

    needs = {"POST": PLAN}
    operations = {
        "POST": Operation("plans_ask", body=AskingSerializer, answer=PlanWholeSerializer, guarded=True),
    }

    @key_and_etag_required
    def post(self, request: Request, id: uuid.UUID) -> Response:  # noqa: A002 - the name in the address
        """Freezes the preview and requests approval. If the policy requires none, the plan is approved at once."""
        body = body_params(request, AskingSerializer)
        row = rollout_row(id)
        etags.require_match(request, etags.of_version(row.version))
        approvals.request_approval(id, caller_of(request), by=actor(), version=row.version, typed=body["typed"])
        return plan_answer(rollout_detail(id))


class PlanApproveView(Endpoint):
    """Approving; only people can, in the browser (A42)."""

    needs = {"POST": READ}
    operations = {
        "POST": Operation("plans_approve", body=ApprovingSerializer),
    }

    def post(self, request: Request, id: uuid.UUID) -> NoReturn:  # noqa: A002, ARG002 - the name in the address
        """Always refused with `person_needed`: a plan is approved by a person, in the browser."""
        row = rollout_row(id)
        raise Problem("person_needed", f"open /rollouts/{row.id}/ in the browser")

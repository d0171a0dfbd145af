"""Resource journeys: plan the next hop of a cluster, follow it, start and stop it, and act on its current step."""

import uuid
from collections.abc import Callable
from functools import partial
from typing import Any, NoReturn

from django.db import transaction
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.reverse import reverse

from migrations_app.api.framework import etags
from migrations_app.api.framework.callers import caller_of
from migrations_app.api.framework.fields import StrictSerializer
from migrations_app.api.framework.idempotency import key_and_etag_required, key_required
from migrations_app.api.framework.operations import KEY_NEEDED, Operation, page_of
from migrations_app.api.framework.permissions import READ
from migrations_app.api.framework.problem_codes import Problem
from migrations_app.api.framework.views import Endpoint, body_params, cursor_of, page_answer, query_params
from migrations_app.api.journeys.serializers import (
    JourneyHoldSerializer,
    JourneyLineSerializer,
    JourneyPauseSerializer,
    JourneyQuerySerializer,
    JourneyReasonSerializer,
    JourneyStartSerializer,
    JourneyWholeSerializer,
    NewJourneySerializer,
    RollbackPreviewSerializer,
    RollbackQuerySerializer,
    StepAcceptSerializer,
    StepNameSerializer,
    StepSkipSerializer,
    StepTickSerializer,
    journey_answer,
)
from migrations_app.api.plans import PLAN, ApprovingSerializer
from migrations_app.api.rollouts import ACT, STOP, NothingSerializer
from migrations_app.queries.journeys.journeys import JourneyFilters, journey_detail, journey_page, journey_row
from migrations_app.queries.journeys.rollback import rollback_of
from migrations_app.tasks import enqueue_journey
from migrations_app.use_cases.audit.log import actor
from migrations_app.use_cases.journeys import approvals, lifecycle, steps
from migrations_app.use_cases.journeys.drafts import JourneyRequest, draft_journey
from migrations_app.use_cases.journeys.holds import change_hold
from migrations_app.use_cases.journeys.step_rollback import begin_rollback


def _acting(name: str, body: Any) -> dict[str, Operation]:  # noqa: ANN401 - a serializer class
    """Returns the operation of an endpoint that changes a journey."""
    return {"POST": Operation(name, body=body, answer=JourneyWholeSerializer, status=202, guarded=True)}


class JourneysView(Endpoint):
    """All journeys."""

    needs = {"GET": READ, "POST": PLAN}
    operations = {
        "GET": Operation(
            id="journeys_list",
            query=JourneyQuerySerializer,
            answer=page_of("Journey", JourneyLineSerializer),
            named=True,
        ),
        "POST": Operation(
            id="journeys_create",
            body=NewJourneySerializer,
            answer=JourneyWholeSerializer,
            status=202,
            named=True,
            more=[KEY_NEEDED],
        ),
    }

    def get(self, request: Request) -> Response:
        """Journeys, newest first by default."""
        query = query_params(request, JourneyQuerySerializer)
        filters = JourneyFilters(cluster=query.get("cluster"), state=query.get("state", ""))
        page = journey_page(filters, after=cursor_of(request, query), limit=query["limit"], ordering=query["ordering"])
        return page_answer(request, page, shape=JourneyLineSerializer)

    @key_required
    def post(self, request: Request) -> Response:
        """Stores a draft; workers scan the cluster, list the steps and make the plans that can be made now. Nothing is
        changed."""
        body = body_params(request, NewJourneySerializer)
        cluster = body.pop("cluster")
        journey_id = draft_journey(cluster, JourneyRequest(**body), person=caller_of(request), by=actor())
        transaction.on_commit(partial(enqueue_journey, journey_id))
        answer = journey_answer(journey_detail(journey_id), status=202)
        answer["Location"] = reverse("api-journey", kwargs={"id": journey_id}, request=request)
        return answer


class JourneyView(Endpoint):
    """One journey."""

    needs = {"GET": READ}
    operations = {"GET": Operation("journeys_read", answer=JourneyWholeSerializer)}

    def get(self, request: Request, id: uuid.UUID) -> Response:  # noqa: A002 - the name in the address
        """The journey with its steps in order, each with its state and the evidence for it."""
        query_params(request, StrictSerializer)
        return journey_answer(journey_detail(id))


class JourneyApprovalRequestView(Endpoint):
    """Requesting approval."""

    needs = {"POST": PLAN}
    operations = _acting("journeys_ask", NothingSerializer)

    @key_and_etag_required
    def post(self, request: Request, id: uuid.UUID) -> Response:  # noqa: A002 - the name in the address
        """Requests approval of the previewed journey. If the policy requires no approval, it is approved at once."""
        body_params(request, NothingSerializer)
        return _apply_change(request, id, change=approvals.request_journey_approval)


class JourneyApproveView(Endpoint):
    """Approving; only people can, in the browser (A42)."""

    needs = {"POST": READ}
    operations = {"POST": Operation("journeys_approve", body=ApprovingSerializer)}

    def post(self, request: Request, id: uuid.UUID) -> NoReturn:  # noqa: A002, ARG002 - the name in the address
        """Always refused with `person_needed`: a journey is approved by a person, in the browser."""
        row = journey_row(id)
        raise Problem("person_needed", f"open /journeys/{row.id}/ in the browser")


class JourneyStartView(Endpoint):
    """Starting."""

    needs = {"POST": ACT}
    operations = _acting("journeys_start", JourneyStartSerializer)

    @key_and_etag_required
    def post(self, request: Request, id: uuid.UUID) -> Response:  # noqa: A002 - the name in the address
        """Starts an approved journey, once. From then on it holds the cluster."""
        body = body_params(request, JourneyStartSerializer)
        return _apply_change(request, id, change=partial(lifecycle.start_journey, digest=body["digest"]))


class JourneyPauseView(Endpoint):
    """Pausing."""

    needs = {"POST": STOP}
    operations = _acting("journeys_pause", JourneyPauseSerializer)

    @key_and_etag_required
    def post(self, request: Request, id: uuid.UUID) -> Response:  # noqa: A002 - the name in the address
        """Pauses the journey, and its rollout after the current request. Also holds Karpenter's own disruption, if that
        is requested.
        """
        body = body_params(request, JourneyPauseSerializer)
        hold = body["hold_disruption"]
        return _apply_change(request, id, change=partial(lifecycle.pause_journey, hold_disruption=hold))


class JourneyHoldView(Endpoint):
    """Holding Karpenter's own disruption for a pause."""

    needs = {"POST": ACT}
    operations = _acting("journeys_disruption", JourneyHoldSerializer)

    @key_and_etag_required
    def post(self, request: Request, id: uuid.UUID) -> Response:  # noqa: A002 - the name in the address
        """Holds Karpenter's own disruption while the journey is paused, or restores the former budgets."""
        body = body_params(request, JourneyHoldSerializer)
        return _apply_change(request, id, change=partial(change_hold, asked_for=body["asked_for"]))


class JourneyResumeView(Endpoint):
    """Resuming."""

    needs = {"POST": ACT}
    operations = _acting("journeys_resume", NothingSerializer)

    @key_and_etag_required
    def post(self, request: Request, id: uuid.UUID) -> Response:  # noqa: A002 - the name in the address
        """Resumes a paused journey and its rollout, with all checks of a start."""
        body_params(request, NothingSerializer)
        return _apply_change(request, id, change=lifecycle.resume_journey)


class JourneyAbortView(Endpoint):
    """Aborting."""

    needs = {"POST": STOP}
    operations = _acting("journeys_abort", JourneyReasonSerializer)

    @key_and_etag_required
    def post(self, request: Request, id: uuid.UUID) -> Response:  # noqa: A002 - the name in the address
        """Ends the journey, and its rollout after the current request. Steps that are done are not undone."""
        body = body_params(request, JourneyReasonSerializer)
        return _apply_change(request, id, change=partial(lifecycle.abort_journey, reason=body["reason"]))


class JourneyTickView(Endpoint):
    """Confirming a step."""

    needs = {"POST": ACT}
    operations = _acting("journeys_tick", StepTickSerializer)

    @key_and_etag_required
    def post(self, request: Request, id: uuid.UUID) -> Response:  # noqa: A002 - the name in the address
        """Confirms a step that no scan can prove. For tokens always refused with `person_needed`."""
        body = body_params(request, StepTickSerializer)
        return _apply_change(request, id, change=partial(steps.confirm_step, step=body["step"], note=body["note"]))


class JourneySkipView(Endpoint):
    """Skipping a step."""

    needs = {"POST": ACT}
    operations = _acting("journeys_skip", StepSkipSerializer)

    @key_and_etag_required
    def post(self, request: Request, id: uuid.UUID) -> Response:  # noqa: A002 - the name in the address
        """Skips a step, with a reason. Refused for a step that protects the cluster."""
        body = body_params(request, StepSkipSerializer)
        return _apply_change(request, id, change=partial(steps.skip, step=body["step"], reason=body["reason"]))


class JourneyRetryView(Endpoint):
    """Doing a step again."""

    needs = {"POST": ACT}
    operations = _acting("journeys_retry", StepNameSerializer)

    @key_and_etag_required
    def post(self, request: Request, id: uuid.UUID) -> Response:  # noqa: A002 - the name in the address
        """Retries a failed step, or plans a step again whose plan was not accepted, and resumes the journey."""
        body = body_params(request, StepNameSerializer)
        return _apply_change(request, id, change=partial(steps.retry, step=body["step"]))


class JourneyAcceptView(Endpoint):
    """Accepting the plan of a step."""

    needs = {"POST": ACT}
    operations = _acting("journeys_accept", StepAcceptSerializer)

    @key_and_etag_required
    def post(self, request: Request, id: uuid.UUID) -> Response:  # noqa: A002 - the name in the address
        """Accepts a plan that differs from the one that was shown, or was not shown. People then approve this plan on
        its own.
        """
        body = body_params(request, StepAcceptSerializer)
        return _apply_change(request, id, change=partial(steps.accept_plan, step=body["step"], digest=body["digest"]))


class JourneyRollbackView(Endpoint):
    """Preview of a rollback."""

    needs = {"GET": READ}
    operations = {
        "GET": Operation(
            "journeys_way_back", query=RollbackQuerySerializer, answer=RollbackPreviewSerializer(many=True), named=True
        ),
    }

    def get(self, request: Request, id: uuid.UUID) -> Response:  # noqa: A002 - the name in the address
        """How each step would be undone, from the last one back to that step. Nothing is changed."""
        query = query_params(request, RollbackQuerySerializer)
        journey_row(id)
        return Response(RollbackPreviewSerializer(rollback_of(id, to=query["to"]), many=True).data)


class JourneyTakeBackView(Endpoint):
    """Rolling back to a step."""

    needs = {"POST": ACT}
    operations = _acting("journeys_take_back", StepSkipSerializer)

    @key_and_etag_required
    def post(self, request: Request, id: uuid.UUID) -> Response:  # noqa: A002 - the name in the address
        """Undoes the steps, from the last one back to that step. The rollback of each step has a plan and an approval
        of its own.
        """
        body = body_params(request, StepSkipSerializer)
        return _apply_change(request, id, change=partial(begin_rollback, step=body["step"], reason=body["reason"]))


def _apply_change(request: Request, journey_id: uuid.UUID, *, change: Callable[..., Any]) -> Response:
    """Makes the change at the version that the client has read, enqueues work for a worker, and answers with the
    journey.
    """
    version = journey_row(journey_id).version
    etags.require_match(request, etags.of_version(version))
    change(journey_id, caller_of(request), by=actor(), version=version)
    transaction.on_commit(partial(enqueue_journey, journey_id))
    return journey_answer(journey_detail(journey_id), status=202)

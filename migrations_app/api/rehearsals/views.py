"""Resource rehearsals: play a plan on a twin of its cluster before it is approved, and read the result."""

import uuid
from functools import partial

from django.db import transaction
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.reverse import reverse

from migrations_app.api.framework.callers import caller_of
from migrations_app.api.framework.idempotency import key_required
from migrations_app.api.framework.operations import KEY_NEEDED, Operation
from migrations_app.api.framework.permissions import READ
from migrations_app.api.framework.views import Endpoint, body_params, query_params
from migrations_app.api.plans import PLAN
from migrations_app.api.rehearsals.serializers import (
    NewRehearsalSerializer,
    RehearsalListSerializer,
    RehearsalQuerySerializer,
    RehearsalSerializer,
    failures_of,
    rehearsal_body,
)
from migrations_app.queries.rehearsals.rehearsals import MAX_LISTED, rehearsals_of
from migrations_app.tasks import enqueue_rehearsal
from migrations_app.use_cases.audit.log import actor
from migrations_app.use_cases.rehearsal_runs.queue import request_rehearsal


class PlanRehearsalsView(Endpoint):
    """Rehearsals of one plan."""

    needs = {"GET": READ, "POST": PLAN}
    operations = {
        "GET": Operation("plans_rehearsals_list", query=RehearsalQuerySerializer, answer=RehearsalListSerializer),
        "POST": Operation(
            id="plans_rehearsals_create",
            body=NewRehearsalSerializer,
            answer=RehearsalSerializer,
            status=202,
            more=[KEY_NEEDED],
        ),
    }

    def get(self, request: Request, id: uuid.UUID) -> Response:  # noqa: A002 - the name in the address
        """The newest rehearsals with their results, newest first. A rehearsal that is not `current` is of a former
        plan.
        """
        query = query_params(request, RehearsalQuerySerializer)
        return Response({"results": [rehearsal_body(row) for row in rehearsals_of(id, limit=query["limit"])]})

    @key_required
    def post(self, request: Request, id: uuid.UUID) -> Response:  # noqa: A002 - the name in the address
        """Enqueues a rehearsal, or returns the one in progress. The cluster is read, never changed."""
        body = body_params(request, NewRehearsalSerializer)
        rehearsal_id = request_rehearsal(
            id,
            caller_of(request),
            failures=failures_of(body["failures"]),
            seed=body["seed"],
            by=actor(),
        )
        transaction.on_commit(partial(enqueue_rehearsal, rehearsal_id))
        row = next(rehearsal for rehearsal in rehearsals_of(id, limit=MAX_LISTED) if rehearsal.id == rehearsal_id)
        answer = Response(rehearsal_body(row), status=202)
        answer["Location"] = reverse("api-plan-rehearsals", kwargs={"id": id}, request=request)
        return answer

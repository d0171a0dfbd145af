"""Resource rollouts: follow, start, stop and roll back rollouts; read their journal and their backups."""

import uuid
from collections.abc import Callable
from functools import partial
from typing import Any

import msgspec
from django.db import transaction
from django.http import HttpResponse
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiResponse
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.reverse import reverse

from migrations_app.actions.states import STATES
from migrations_app.api.framework import etags
from migrations_app.api.framework.callers import caller_of
from migrations_app.api.framework.fields import PagedSerializer, StrictSerializer, Text, ordering
from migrations_app.api.framework.idempotency import key_and_etag_required
from migrations_app.api.framework.operations import IF_NONE_MATCH, Operation, page_of
from migrations_app.api.framework.permissions import READ, EndpointPermission
from migrations_app.api.framework.views import Endpoint, body_params, cursor_of, page_answer, query_params
from migrations_app.api.plans import (
    EventsSerializer,
    PlanWholeSerializer,
    RolloutLineSerializer,
    RolloutWholeSerializer,
    plan_answer,
    rollout_answer,
)
from migrations_app.errors import NotFound
from migrations_app.queries.rollouts.detail import MAX_LINES, journal_of, picture_of, rollout_detail
from migrations_app.queries.rollouts.rollouts import GROUPS, ROLLOUT_ORDERS, RolloutFilters, rollout_page, rollout_row
from migrations_app.tasks import advance_rollout, enqueue_rollout, prepare_rollout
from migrations_app.use_cases.audit.log import actor
from migrations_app.use_cases.rollouts import lifecycle
from migrations_app.use_cases.rollouts.backups import exports_yaml
from migrations_app.use_cases.rollouts.drafts import roll_back

ACT = EndpointPermission("act", "operate_rollout")
STOP = EndpointPermission("act", "operate_rollout", ("approve_rollout", "administer_policy"))
"""Accounts that may start or approve may also stop; the use case requires either right."""
YAML = "application/yaml"


class RolloutQuerySerializer(PagedSerializer):
    cluster = serializers.UUIDField(required=False)
    state = serializers.ChoiceField(required=False, choices=(*STATES, *GROUPS), help_text="A state or a group.")
    action = serializers.CharField(required=False, max_length=60)
    ordering = ordering(ROLLOUT_ORDERS, default="-made_at")


class EventsQuerySerializer(StrictSerializer):
    limit = serializers.IntegerField(required=False, min_value=1, max_value=MAX_LINES, default=MAX_LINES)


class StartingSerializer(StrictSerializer):
    """The digest of the plan as it was read."""

    digest = Text(max_length=64)


class NothingSerializer(StrictSerializer):
    """The body is empty."""


class RolloutsView(Endpoint):
    """All rollouts with their plans."""

    needs = {"GET": READ}
    operations = {
        "GET": Operation(
            id="rollouts_list",
            query=RolloutQuerySerializer,
            answer=page_of("Rollout", RolloutLineSerializer),
            named=True,
        ),
    }

    def get(self, request: Request) -> Response:
        """Rollouts, newest first by default."""
        query = query_params(request, RolloutQuerySerializer)
        filters = RolloutFilters(
            cluster=query.get("cluster"), state=query.get("state", ""), action=query.get("action", "")
        )
        page = rollout_page(filters, after=cursor_of(request, query), limit=query["limit"], ordering=query["ordering"])
        return page_answer(request, page, shape=RolloutLineSerializer)


class RolloutView(Endpoint):
    """One rollout."""

    needs = {"GET": READ}
    operations = {
        "GET": Operation("rollouts_read", answer=RolloutWholeSerializer),
    }

    def get(self, request: Request, id: uuid.UUID) -> Response:  # noqa: A002 - the name in the address
        """The rollout with its steps and the last numbers."""
        query_params(request, StrictSerializer)
        return rollout_answer(rollout_detail(id))


class RolloutStartView(Endpoint):
    """Starting."""

    needs = {"POST": ACT}
    operations = {
        "POST": Operation(
            id="rollouts_start", body=StartingSerializer, answer=RolloutWholeSerializer, status=202, guarded=True
        ),
    }

    @key_and_etag_required
    def post(self, request: Request, id: uuid.UUID) -> Response:  # noqa: A002 - the name in the address
        """Starts an approved plan, once. If a token starts it, approvals of the token's owner do not count."""
        body = body_params(request, StartingSerializer)
        version = _matched_version(request, id)
        lifecycle.start(id, caller_of(request), digest=body["digest"], by=actor(), version=version)
        return _wake_and_answer(id)


class RolloutPauseView(Endpoint):
    """Pausing."""

    needs = {"POST": STOP}
    operations = {
        "POST": Operation(
            "rollouts_pause", body=NothingSerializer, answer=RolloutWholeSerializer, status=202, guarded=True
        ),
    }

    @key_and_etag_required
    def post(self, request: Request, id: uuid.UUID) -> Response:  # noqa: A002 - the name in the address
        """Pauses the rollout after the current request."""
        return _stopped(request, id, stop=lifecycle.pause)


class RolloutAbortView(Endpoint):
    """Aborting."""

    needs = {"POST": STOP}
    operations = {
        "POST": Operation(
            "rollouts_abort", body=NothingSerializer, answer=RolloutWholeSerializer, status=202, guarded=True
        ),
    }

    @key_and_etag_required
    def post(self, request: Request, id: uuid.UUID) -> Response:  # noqa: A002 - the name in the address
        """Ends the rollout after the current request."""
        return _stopped(request, id, stop=lifecycle.abort)


class RolloutResumeView(Endpoint):
    """Resuming."""

    needs = {"POST": ACT}
    operations = {
        "POST": Operation(
            id="rollouts_resume", body=NothingSerializer, answer=RolloutWholeSerializer, status=202, guarded=True
        ),
    }

    @key_and_etag_required
    def post(self, request: Request, id: uuid.UUID) -> Response:  # noqa: A002 - the name in the address
        """Resumes a paused rollout, with all checks of a start."""
        body_params(request, NothingSerializer)
        lifecycle.resume(id, caller_of(request), by=actor(), version=_matched_version(request, id))
        return _wake_and_answer(id)


class SkippingSerializer(StrictSerializer):
    """The step of the node, and the reason for skipping it."""

    step = Text(max_length=8)
    reason = Text(max_length=2000)


class RolloutSkipNodeView(Endpoint):
    """Skipping a node."""

    needs = {"POST": ACT}
    operations = {
        "POST": Operation(
            id="rollouts_skip_node", body=SkippingSerializer, answer=RolloutWholeSerializer, status=202, guarded=True
        ),
    }

    @key_and_etag_required
    def post(self, request: Request, id: uuid.UUID) -> Response:  # noqa: A002 - the name in the address
        """Skips the node of a step that was not sent yet. The node is shown as skipped, never as done."""
        body, version = body_params(request, SkippingSerializer), _matched_version(request, id)
        lifecycle.skip_node(
            id, caller_of(request), step=body["step"], reason=body["reason"], by=actor(), version=version
        )
        return _wake_and_answer(id)


class RolloutRollBackView(Endpoint):
    """Rolling back."""

    needs = {"POST": EndpointPermission("plan", "operate_rollout")}
    operations = {
        "POST": Operation(
            id="rollouts_roll_back", body=NothingSerializer, answer=PlanWholeSerializer, status=202, guarded=True
        ),
    }

    @key_and_etag_required
    def post(self, request: Request, id: uuid.UUID) -> Response:  # noqa: A002 - the name in the address
        """Creates the plan that rolls the rollout back, with a preview and an approval of its own."""
        body_params(request, NothingSerializer)
        rollout_id = roll_back(id, caller_of(request), by=actor(), version=_matched_version(request, id))
        transaction.on_commit(partial(enqueue_rollout, rollout_id, prepare_rollout))
        answer = plan_answer(rollout_detail(rollout_id), status=202)
        answer["Location"] = reverse("api-plan", kwargs={"id": rollout_id}, request=request)
        return answer


class RolloutEventsView(Endpoint):
    """The journal."""

    needs = {"GET": READ}
    operations = {
        "GET": Operation(
            id="rollouts_events",
            query=EventsQuerySerializer,
            answer={200: EventsSerializer, 304: OpenApiResponse(description="Nothing has changed")},
            more=[IF_NONE_MATCH],
        ),
    }

    def get(self, request: Request, id: uuid.UUID) -> Response:  # noqa: A002 - the name in the address
        """The requests that were sent, with their outcomes. With If-None-Match the answer is 304 if nothing has
        changed.
        """
        query = query_params(request, EventsQuerySerializer)
        row, picture = rollout_row(id), picture_of(id)
        fields = {"state": row.state, "version": row.version, "wish": row.stop_request}
        fields |= {"picture": msgspec.to_builtins(picture) if picture else None}
        body = EventsSerializer({**fields, "results": journal_of(id, limit=query["limit"])}).data
        tag = etags.of_bytes(msgspec.json.encode(body))
        answer = Response(status=304) if etags.unchanged(request, tag) else Response(body)
        answer["ETag"] = tag
        return answer


class RolloutExportsView(Endpoint):
    """The backups of a rollout."""

    needs = {"GET": EndpointPermission("plan", "operate_rollout")}
    operations = {
        "GET": Operation("rollouts_exports", answer={(200, YAML): OpenApiTypes.STR}),
    }

    def get(self, request: Request, id: uuid.UUID) -> HttpResponse:  # noqa: A002 - the name in the address
        """The backups as one stream of YAML that can be applied again; objects with secrets are left out."""
        query_params(request, StrictSerializer)
        text = exports_yaml(id)
        if not text:
            raise NotFound("nothing was exported")
        return HttpResponse(text, content_type=f"{YAML}; charset=utf-8")


def _matched_version(request: Request, rollout_id: uuid.UUID) -> int:
    """Returns the version that the client has read. Raises Problem."""
    version = rollout_row(rollout_id).version
    etags.require_match(request, etags.of_version(version))
    return version


def _stopped(request: Request, rollout_id: uuid.UUID, *, stop: Callable[..., Any]) -> Response:
    body_params(request, NothingSerializer)
    stop(rollout_id, caller_of(request), by=actor(), version=_matched_version(request, rollout_id))
    return rollout_answer(rollout_detail(rollout_id), status=202)


def _wake_and_answer(rollout_id: uuid.UUID) -> Response:
    transaction.on_commit(partial(enqueue_rollout, rollout_id, advance_rollout))
    return rollout_answer(rollout_detail(rollout_id), status=202)

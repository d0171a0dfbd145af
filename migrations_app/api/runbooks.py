"""clusters/{id}/plan: the runbook of a cluster, for programs as JSON and for tickets as Markdown."""

import uuid

import msgspec
from django.http import HttpResponse
from django.utils.http import http_date
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiResponse
from rest_framework import serializers
from rest_framework.exceptions import ErrorDetail, ValidationError
from rest_framework.request import Request

from migrations_app.api import entity_tags
from migrations_app.api.described import IF_NONE_MATCH, described
from migrations_app.api.endpoint import Endpoint, asked
from migrations_app.api.fields import Strict
from migrations_app.api.rights import READ
from migrations_app.queries.runbooks import newest_runbook
from migrations_app.readiness.outputs import plan_markdown
from migrations_app.readiness.published import published_plan
from migrations_app.readiness.runbook import Runbook

RUNBOOK = {"$ref": "#/components/schemas/Runbook"}
JSON, MARKDOWN = "application/json", "text/markdown"
_KINDS = {"json": JSON, "markdown": MARKDOWN}


class PlanQuery(Strict):
    format = serializers.ChoiceField(
        required=False, choices=tuple(_KINDS), help_text="Without it the Accept header decides; JSON where it does not."
    )
    hop = serializers.CharField(required=False, max_length=20, help_text="Only that hop of the path, such as 0.33+.")


class ClusterPlan(Endpoint):
    """The plan of one cluster."""

    needs = {"GET": READ}

    @described(
        "GET",
        id="cluster_plan_read",
        tag="clusters",
        named=True,
        query=PlanQuery,
        more=[IF_NONE_MATCH],
        answers={
            (200, JSON): RUNBOOK,
            (200, MARKDOWN): OpenApiTypes.STR,
            304: OpenApiResponse(description="Nothing has changed"),
        },
    )
    def get(self, request: Request, id: uuid.UUID) -> HttpResponse:  # noqa: A002 - the name in the address
        """The path and its work, as `karpdash plan` prints it, of the newest snapshot, whose time is in Last-Modified.

        Every hop with its stages, what is still open at each, the commands, the way back and what cannot be undone.
        """
        query = asked(request, PlanQuery)
        newest = newest_runbook(id)
        plan = _of_hop(newest.plan, query["hop"]) if "hop" in query else newest.plan
        kind = _KINDS.get(query.get("format", "")) or _accepted(request)
        body = plan_markdown.render(plan).encode() if kind == MARKDOWN else msgspec.json.encode(published_plan(plan))
        tag = entity_tags.of_bytes(body)
        same = entity_tags.unchanged(request, tag)
        answer = HttpResponse(status=304) if same else HttpResponse(body, content_type=f"{kind}; charset=utf-8")
        answer["ETag"] = tag
        answer["Last-Modified"] = http_date(newest.scanned_at.timestamp())
        answer["Cache-Control"] = "private, no-cache"
        answer["Vary"] = "Accept, Authorization, Cookie"
        return answer


def _accepted(request: Request) -> str:
    """Markdown for who asks for it and not for JSON."""
    given = request.headers.get("Accept", "")
    return MARKDOWN if MARKDOWN in given and JSON not in given else JSON


def _of_hop(plan: Runbook, hop: str) -> Runbook:
    kept = tuple(one for one in plan.hops if one.lands.hop == hop)
    if not kept:
        raise ValidationError({"hop": [ErrorDetail("Not a hop of the path.", code="unknown_hop")]})
    return msgspec.structs.replace(plan, hops=kept)

"""Endpoint clusters/{id}/plan: the runbook of a cluster, as JSON for programs and as Markdown for tickets."""

import uuid

import msgspec
from django.http import HttpResponse
from django.utils.http import http_date
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiResponse
from rest_framework import serializers
from rest_framework.exceptions import ErrorDetail, ValidationError
from rest_framework.request import Request

from migrations_app.api.framework import etags
from migrations_app.api.framework.fields import PlannedSerializer
from migrations_app.api.framework.operations import IF_NONE_MATCH, Operation
from migrations_app.api.framework.permissions import READ
from migrations_app.api.framework.preferred_tool import ToolQuerySerializer, tool_asked
from migrations_app.api.framework.views import Endpoint, query_params
from migrations_app.queries.clusters.reports import newest_runbook
from migrations_app.readiness.outputs import runbook_markdown, runbook_table
from migrations_app.readiness.outputs.preferred_tool import plan_by_tool
from migrations_app.readiness.published_fields import published_plan, typed_plan
from migrations_app.readiness.runbook.runbook import Runbook

RUNBOOK = {"$ref": "#/components/schemas/Runbook"}
JSON, MARKDOWN, TABLE = "application/json", "text/markdown", "text/plain"
TYPED = "application/vnd.karpdash.plan-v2+json"
"""Version 2 of the JSON; its schema is docs/schema/plan-v2.json."""
_KINDS = {"json": JSON, "markdown": MARKDOWN, "table": TABLE}


class PlanQuerySerializer(PlannedSerializer, ToolQuerySerializer):
    format = serializers.ChoiceField(
        required=False,
        choices=tuple(_KINDS),
        help_text="The default follows the Accept header, and is JSON without one.",
    )
    schema = serializers.ChoiceField(
        required=False, choices=("1", "2"), default="1", help_text="Version of the JSON; version 2 has typed changes."
    )
    hop = serializers.CharField(required=False, max_length=20, help_text="Only that hop of the path, such as 0.33+.")


class ClusterPlanView(Endpoint):
    """The runbook of one cluster."""

    needs = {"GET": READ}
    operations = {
        "GET": Operation(
            id="cluster_plan_read",
            query=PlanQuerySerializer,
            answer={
                (200, JSON): RUNBOOK,
                (200, TYPED): {"type": "object"},
                (200, MARKDOWN): OpenApiTypes.STR,
                (200, TABLE): OpenApiTypes.STR,
                304: OpenApiResponse(description="Nothing has changed"),
            },
            more=[IF_NONE_MATCH],
        ),
    }

    def get(self, request: Request, id: uuid.UUID) -> HttpResponse:  # noqa: A002 - the name in the address
        """The runbook as `karpdash plan` prints it, from the newest snapshot, whose time is in Last-Modified.

        Every hop with its stages, open findings, commands, the rollback and what cannot be undone. The commands are
        those of the preferred tool, if it can make the fix.
        """
        query = query_params(request, PlanQuerySerializer)
        newest = newest_runbook(id, kubernetes=query.get("kubernetes", ""))
        plan = _of_hop(newest.plan, query["hop"]) if "hop" in query else newest.plan
        plan = plan_by_tool(plan, tool_asked(request, query))
        kind = _KINDS.get(query.get("format", "")) or _accepted_format(request)
        kind = TYPED if (kind, query["schema"]) == (JSON, "2") else kind
        body = _document(plan, kind)
        tag = etags.of_bytes(body)
        is_unchanged = etags.unchanged(request, tag)
        answer = HttpResponse(status=304) if is_unchanged else HttpResponse(body, content_type=f"{kind}; charset=utf-8")
        answer["ETag"] = tag
        answer["Last-Modified"] = http_date(newest.scanned_at.timestamp())
        answer["Cache-Control"] = "private, no-cache"
        answer["Vary"] = "Accept, Authorization, Cookie"
        return answer


def _document(plan: Runbook, kind: str) -> bytes:
    if kind in (JSON, TYPED):
        return msgspec.json.encode(published_plan(plan) if kind == JSON else typed_plan(plan))
    text = runbook_markdown.render(plan) if kind == MARKDOWN else runbook_table.render(plan)
    return text.encode()


def _accepted_format(request: Request) -> str:
    """Returns Markdown if the client accepts it and does not accept JSON."""
    header = request.headers.get("Accept", "")
    return MARKDOWN if MARKDOWN in header and JSON not in header else JSON


def _of_hop(plan: Runbook, hop: str) -> Runbook:
    hops = tuple(runbook_hop for runbook_hop in plan.hops if runbook_hop.path_hop.name == hop)
    if not hops:
        raise ValidationError({"hop": [ErrorDetail("Not a hop of the path.", code="unknown_hop")]})
    return msgspec.structs.replace(plan, hops=hops)

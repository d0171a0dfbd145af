"""Endpoint clusters/{id}/actions: which actions can be planned on a cluster, and why others cannot; as on
its pages.

Endpoint clusters/{id}/plan: the runbook of a cluster, as JSON for programs and as Markdown for tickets.

Endpoint clusters/{id}/values: the values of its Helm releases, before and after each hop.
"""

import uuid
from typing import Any

import msgspec
from django.http import HttpResponse
from django.utils import timezone
from django.utils.http import http_date
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiResponse
from rest_framework import serializers
from rest_framework.exceptions import ErrorDetail, ValidationError
from rest_framework.request import Request
from rest_framework.response import Response

from migrations_app.actions.registry import find
from migrations_app.api.framework import etags
from migrations_app.api.framework.answers import StructSerializer
from migrations_app.api.framework.fields import OutputText, PlannedSerializer, StrictSerializer
from migrations_app.api.framework.operations import IF_NONE_MATCH, Operation
from migrations_app.api.framework.permissions import READ
from migrations_app.api.framework.preferred_tool import ToolQuerySerializer, tool_asked
from migrations_app.api.framework.views import Endpoint, query_params
from migrations_app.api.plans import PLAN
from migrations_app.conversion.chart_values.side_by_side import ValueRow
from migrations_app.queries.clusters.detail import cluster_head, report_of
from migrations_app.queries.clusters.reports import newest_runbook
from migrations_app.queries.rollouts.policies import (
    UPGRADE_DELIVERY,
    controller_upgrades_allowed,
    has_no_action_workers,
)
from migrations_app.readiness.action_offers import Offer, offers, parameter_schema, reason_disabled
from migrations_app.readiness.outputs import runbook_markdown, runbook_table
from migrations_app.readiness.outputs.preferred_tool import plan_by_tool
from migrations_app.readiness.published_fields import published_plan, typed_plan
from migrations_app.readiness.runbook.chart_values import ChartHop
from migrations_app.readiness.runbook.runbook import Runbook
from migrations_app.use_cases.accounts.tokens import TokenUse


class ActionOfferSerializer(StructSerializer):
    """One action. `why` says what is missing if it is not enabled; `checks` are the failing checks that it resolves."""

    struct = Offer

    risk = OutputText()
    parameters = serializers.DictField(help_text="A JSON Schema of the `parameters` of `POST /plans`.")


class ActionOffersSerializer(serializers.Serializer[Any]):
    """`snapshot` is the snapshot that the actions are based on; null for a cluster that was never scanned."""

    snapshot = serializers.UUIDField(allow_null=True)
    results = ActionOfferSerializer(many=True)


class ClusterActionsView(Endpoint):
    """The actions of one cluster."""

    needs = {"GET": READ}
    operations = {
        "GET": Operation("cluster_actions_list", answer=ActionOffersSerializer),
    }

    def get(self, request: Request, id: uuid.UUID) -> Response:  # noqa: A002 - the name in the address
        """All actions, first those that resolve a failing check. `POST /plans` with the `action_id` creates a plan."""
        query_params(request, StrictSerializer)
        head = cluster_head(id, now=timezone.now())
        report = report_of(head.snapshot.id) if head.snapshot else None
        refusal = reason_disabled(
            may_prepare=_may_prepare(request), source=head.source, has_no_action_workers=has_no_action_workers()
        )
        by_delivery = controller_upgrades_allowed(id, action=UPGRADE_DELIVERY)
        action_offers = offers(report, held=refusal, by_helm=controller_upgrades_allowed(id), by_delivery=by_delivery)
        rows = [msgspec.to_builtins(offer) | {"parameters": _parameters(offer.action_id)} for offer in action_offers]
        return Response(ActionOffersSerializer({"snapshot": head.snapshot and head.snapshot.id, "results": rows}).data)


def _parameters(action_id: str) -> dict[str, Any]:
    action = find(action_id)
    return parameter_schema(action) if action else {}


def _may_prepare(request: Request) -> bool:
    use = request.auth
    scoped = not isinstance(use, TokenUse) or PLAN.scope in use.scopes
    return scoped and bool(request.user.has_perm(f"migrations_app.{PLAN.right}"))


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


class ValueRowSerializer(StructSerializer):
    """One value of a chart. `old` and `new` are JSON as text, empty if the value is not set; secrets are left out."""

    struct = ValueRow


class ChartHopSerializer(StructSerializer):
    """The values of one Helm release at one hop. `unread` says why they are not known, or why they do not change."""

    struct = ChartHop
    published_as = {"target_release": "lands"}


class ChartHopsSerializer(serializers.Serializer[Any]):
    """In the order of the hops; the old values of a hop are the new ones of the previous hop."""

    results = ChartHopSerializer(many=True)


class ClusterValuesView(Endpoint):
    """The values of the charts of one cluster."""

    needs = {"GET": READ}
    operations = {
        "GET": Operation("cluster_values_list", query=PlannedSerializer, answer=ChartHopsSerializer),
    }

    def get(self, request: Request, id: uuid.UUID) -> Response:  # noqa: A002 - the name in the address
        """Each Helm release at each hop of the newest snapshot's plan: every key with its old and new value and the
        reason.
        """
        query = query_params(request, PlannedSerializer)
        plan = newest_runbook(id, kubernetes=query.get("kubernetes", "")).plan
        charts = [chart for hop in plan.hops for chart in hop.charts]
        return Response(ChartHopsSerializer({"results": charts}).data)


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
    hops = tuple(runbook_hop for runbook_hop in plan.hops if runbook_hop.target.hop == hop)
    if not hops:
        raise ValidationError({"hop": [ErrorDetail("Not a hop of the path.", code="unknown_hop")]})
    return msgspec.structs.replace(plan, hops=hops)

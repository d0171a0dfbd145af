"""Endpoint clusters/{id}/values: the values of its Helm releases, before and after each hop."""

import uuid
from typing import Any

from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from migrations_app.api.framework.answers import StructSerializer
from migrations_app.api.framework.fields import PlannedSerializer
from migrations_app.api.framework.operations import Operation
from migrations_app.api.framework.permissions import READ
from migrations_app.api.framework.views import Endpoint, query_params
from migrations_app.conversion.chart_values.side_by_side import ValueRow
from migrations_app.queries.clusters.reports import newest_runbook
from migrations_app.readiness.runbook.chart_values import ChartHop


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

"""Endpoint fleet/summary: the numbers above the fleet page."""

from typing import Any

from django.utils import timezone
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from migrations_app.api.clusters.views import NarrowedSerializer, fleet_filters
from migrations_app.api.framework.fields import OutputText
from migrations_app.api.framework.operations import Operation
from migrations_app.api.framework.permissions import READ
from migrations_app.api.framework.views import Endpoint, query_params
from migrations_app.queries.fleet.clusters import FleetFilters, fleet_page


class FleetSummarySerializer(serializers.Serializer[Any]):
    """`buckets` counts clusters by what they wait for; `legacy_exact` is false if `legacy` is a lower bound."""

    clusters = serializers.IntegerField()
    stages = serializers.DictField(child=serializers.IntegerField())
    buckets = serializers.DictField(child=serializers.IntegerField())
    legacy = serializers.IntegerField()
    legacy_exact = serializers.BooleanField()
    environments = serializers.ListField(child=OutputText())


class SummaryView(Endpoint):
    """The fleet in numbers."""

    needs = {"GET": READ}
    operations = {
        "GET": Operation("fleet_summary", query=NarrowedSerializer, answer=FleetSummarySerializer),
    }

    def get(self, request: Request) -> Response:
        """Numbers of clusters by stage and by what they wait for, and of legacy objects that are left."""
        query = query_params(request, NarrowedSerializer)
        page = fleet_page(FleetFilters(**fleet_filters(query)), now=timezone.now(), limit=1)
        totals = page.totals
        return Response(
            FleetSummarySerializer(
                {
                    "clusters": totals.clusters,
                    "stages": totals.stages,
                    "buckets": totals.buckets,
                    "legacy": totals.legacy,
                    "legacy_exact": totals.legacy_exact,
                    "environments": page.environments,
                }
            ).data
        )

"""fleet/summary: the numbers above the fleet page."""

from typing import Any

from django.utils import timezone
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from migrations_app.api.clusters import Narrowed, narrowed
from migrations_app.api.described import described
from migrations_app.api.endpoint import Endpoint, asked
from migrations_app.api.fields import Told
from migrations_app.api.rights import READ
from migrations_app.queries.fleet import FleetAsk, fleet_page


class FleetSummary(serializers.Serializer[Any]):
    """`buckets` counts clusters by what they wait for; `legacy_exact` is false where `legacy` is a lower bound."""

    clusters = serializers.IntegerField()
    stages = serializers.DictField(child=serializers.IntegerField())
    buckets = serializers.DictField(child=serializers.IntegerField())
    legacy = serializers.IntegerField()
    legacy_exact = serializers.BooleanField()
    environments = serializers.ListField(child=Told())


class Summary(Endpoint):
    """The fleet in numbers."""

    needs = {"GET": READ}

    @described("GET", id="fleet_summary", tag="fleet", query=Narrowed, answers={200: FleetSummary})
    def get(self, request: Request) -> Response:
        """Clusters by stage and by what they wait for, and how much legacy is left."""
        query = asked(request, Narrowed)
        page = fleet_page(FleetAsk(**narrowed(query)), now=timezone.now(), limit=1)
        told = page.totals
        return Response(
            FleetSummary(
                {
                    "clusters": told.clusters,
                    "stages": told.stages,
                    "buckets": told.buckets,
                    "legacy": told.legacy,
                    "legacy_exact": told.legacy_exact,
                    "environments": page.environments,
                }
            ).data
        )

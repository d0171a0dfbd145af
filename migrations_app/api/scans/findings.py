"""Resource findings: the answers of checks on all clusters."""

from typing import get_args

from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from migrations_app.api.framework.answers import StructSerializer
from migrations_app.api.framework.fields import CheckId, HopName, PagedSerializer, ordering
from migrations_app.api.framework.operations import Operation, page_of
from migrations_app.api.framework.permissions import READ
from migrations_app.api.framework.views import Endpoint, cursor_of, page_answer, query_params
from migrations_app.checks.base import PHASES, Severity, Status
from migrations_app.queries.scans.findings import FINDING_ORDERS, FindingFilters, FindingLine, finding_page
from migrations_app.readiness.evaluate import LEFT_BEHIND_HOP

FILTERS = ("check", "status", "severity", "hop", "phase", "ordering")


class FindingLineSerializer(StructSerializer):
    """One answer of one check in the latest snapshot of a cluster."""

    struct = FindingLine


class FindingQuerySerializer(PagedSerializer):
    cluster = serializers.UUIDField(required=False)
    check = CheckId()
    status = serializers.ChoiceField(required=False, choices=get_args(Status))
    severity = serializers.ChoiceField(required=False, choices=get_args(Severity))
    hop = HopName(more=(LEFT_BEHIND_HOP,), help_text="Such as 0.33+.")
    phase = serializers.ChoiceField(required=False, choices=PHASES)
    ordering = ordering(FINDING_ORDERS, default="cluster_name")


class FindingsView(Endpoint):
    """Findings of the latest snapshots."""

    needs = {"GET": READ}
    operations = {
        "GET": Operation(
            id="findings_list",
            query=FindingQuerySerializer,
            answer=page_of("Finding", FindingLineSerializer),
            named=True,
        ),
    }

    def get(self, request: Request) -> Response:
        """Findings, by default by cluster and in the order of its report."""
        query = query_params(request, FindingQuerySerializer)
        filters = FindingFilters(cluster=query.get("cluster"), **{name: query.get(name, "") for name in FILTERS})
        page = finding_page(filters, after=cursor_of(request, query), limit=query["limit"])
        return page_answer(request, page, shape=FindingLineSerializer)

"""findings: the answers of checks across the fleet."""

from typing import Any, get_args

from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from migrations_app.api.described import described, page_of
from migrations_app.api.endpoint import Endpoint, asked, cursor_of, page_answer
from migrations_app.api.fields import Paged, Told
from migrations_app.api.rights import READ
from migrations_app.checks.values import PHASES, Severity, Status
from migrations_app.queries.findings import FindingAsk, finding_page

FILTERS = ("check", "status", "severity", "hop", "phase")


class FindingLine(serializers.Serializer[Any]):
    """One answer of one check in the latest snapshot of a cluster."""

    cluster = serializers.UUIDField()
    cluster_name = Told()
    snapshot = serializers.UUIDField()
    check = Told()
    hop = Told()
    phase = Told()
    status = Told()
    severity = Told()
    summary = Told()
    evidence_total = serializers.IntegerField()
    evidence_exact = serializers.BooleanField(
        allow_null=True, help_text="False: there are at least that many. Null: not told by an older release."
    )


class FindingQuery(Paged):
    cluster = serializers.UUIDField(required=False)
    check = serializers.CharField(required=False, max_length=80)
    status = serializers.ChoiceField(required=False, choices=get_args(Status))
    severity = serializers.ChoiceField(required=False, choices=get_args(Severity))
    hop = serializers.CharField(required=False, max_length=10, help_text="Such as 0.33+.")
    phase = serializers.ChoiceField(required=False, choices=PHASES)


class Findings(Endpoint):
    """Findings of the latest snapshots."""

    needs = {"GET": READ}

    @described(
        "GET", id="findings_list", tag="findings", query=FindingQuery, answers={200: page_of("Finding", FindingLine)}
    )
    def get(self, request: Request) -> Response:
        """Findings by cluster, in the order of each report."""
        query = asked(request, FindingQuery)
        ask = FindingAsk(cluster=query.get("cluster"), **{name: query.get(name, "") for name in FILTERS})
        page = finding_page(ask, after=cursor_of(request, query), limit=query["limit"])
        return page_answer(request, page, shape=FindingLine)

"""Resource snapshots: the stored results of scans, whole or as lists."""

import uuid
from collections.abc import Callable
from typing import Any, get_args

import msgspec
from django.http import HttpResponse
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiResponse
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from migrations_app.api.framework import etags
from migrations_app.api.framework.answers import StructSerializer
from migrations_app.api.framework.fields import (
    CheckId,
    HopName,
    OutputText,
    PagedSerializer,
    PlannedSerializer,
    ordering,
)
from migrations_app.api.framework.operations import IF_NONE_MATCH, Operation, page_of
from migrations_app.api.framework.permissions import READ
from migrations_app.api.framework.preferred_tool import ToolQuerySerializer, tool_asked
from migrations_app.api.framework.views import Endpoint, cursor_of, page_answer, query_params
from migrations_app.checks.base import Evidence, Remedy, Severity, Status
from migrations_app.queries.clusters.detail import report_of
from migrations_app.queries.scans.snapshot_findings import FindingDetail, SnapshotFindingFilters, snapshot_finding_page
from migrations_app.queries.scans.snapshots import SNAPSHOT_ORDERS, SnapshotLine, node_page, snapshot_page
from migrations_app.readiness.evaluate import LEFT_BEHIND_HOP
from migrations_app.readiness.outputs import csv_table, junit, markdown, sarif, table
from migrations_app.readiness.outputs.preferred_tool import report_by_tool
from migrations_app.readiness.published_fields import published
from migrations_app.readiness.report import OWNERS, Report

FORMS: dict[str, tuple[str, Callable[[Report], str]]] = {
    "csv": ("text/csv", csv_table.render),
    "junit": ("application/xml", junit.render),
    "markdown": ("text/markdown", markdown.render),
    "sarif": ("application/sarif+json", sarif.render),
    "table": ("text/plain; charset=utf-8", table.render),
}
"""Media type and renderer of each form."""

REPORT = {"$ref": "#/components/schemas/Report"}
SARIF = "application/sarif+json"
MAX_AGE = "private, max-age=60"
"""Seconds. Findings never change, but waivers and the right to read them may, so answers are cached shortly."""


class SnapshotLineSerializer(StructSerializer):
    """The numbers of one snapshot, with its cluster."""

    struct = SnapshotLine
    leave_out = ("digest",)


class SnapshotQuerySerializer(PagedSerializer):
    cluster = serializers.UUIDField(required=False)
    complete = serializers.ChoiceField(required=False, choices=("true", "false"))
    ordering = ordering(SNAPSHOT_ORDERS, default="-scanned_at")


class NodeQuerySerializer(PagedSerializer):
    owner = serializers.ChoiceField(required=False, choices=OWNERS)
    q = serializers.CharField(required=False, max_length=200, help_text="Part of a node's or pool's name.")


class NodeRowSerializer(serializers.Serializer[Any]):
    """One node with its owner; `told_by` names the fields that show the owner, `anomalies` inconsistencies."""

    name = OutputText()
    owner = OutputText()
    pool = OutputText()
    claim = OutputText()
    told_by = serializers.ListField(child=OutputText())
    anomalies = serializers.ListField(child=OutputText())
    capacity = OutputText()
    instance_type = OutputText()
    zone = OutputText()
    can_drift = serializers.BooleanField(allow_null=True)


class SnapshotsView(Endpoint):
    """Snapshots of all clusters."""

    needs = {"GET": READ}
    operations = {
        "GET": Operation(
            id="snapshots_list",
            query=SnapshotQuerySerializer,
            answer=page_of("Snapshot", SnapshotLineSerializer),
            named=True,
        ),
    }

    def get(self, request: Request) -> Response:
        """Snapshots, newest first by default."""
        query = query_params(request, SnapshotQuerySerializer)
        complete = {"true": True, "false": False}.get(query.get("complete", ""))
        page = snapshot_page(
            cluster=query.get("cluster"),
            complete=complete,
            after=cursor_of(request, query),
            limit=query["limit"],
            ordering=query["ordering"],
        )
        return page_answer(request, page, shape=SnapshotLineSerializer)


class SnapshotView(Endpoint):
    """One snapshot in full."""

    needs = {"GET": READ}
    operations = {
        "GET": Operation(
            id="snapshots_read",
            query=PlannedSerializer,
            answer={(200, "application/json"): REPORT, 304: OpenApiResponse(description="Nothing has changed")},
            more=[IF_NONE_MATCH],
        ),
    }

    def get(self, request: Request, id: uuid.UUID) -> HttpResponse:  # noqa: A002 - the name in the address
        """The report, as `karpdash scan -o json` prints it, with the current waivers. The findings of a snapshot never
        change; the ETag is of the bytes.
        """
        query = query_params(request, PlannedSerializer)
        report = report_of(id, kubernetes=query.get("kubernetes", ""))
        return _cached_answer(request, msgspec.json.encode(published(report)), kind="application/json")


class FindingEvidenceSerializer(StructSerializer):
    """One piece of evidence of a finding: an object, the field, the value that was read and the one that is wanted."""

    struct = Evidence
    leave_out = ("data",)


class FindingRemedySerializer(StructSerializer):
    """One way to fix the finding: the text for a tool, or an action of karpdash."""

    struct = Remedy
    leave_out = ("change",)


class FindingDetailSerializer(StructSerializer):
    """One finding with its evidence, its remedies, and the time since when the check has given this answer."""

    struct = FindingDetail


class SnapshotFindingQuerySerializer(PagedSerializer, ToolQuerySerializer):
    check = CheckId()
    status = serializers.ChoiceField(required=False, choices=get_args(Status))
    severity = serializers.ChoiceField(required=False, choices=get_args(Severity))
    hop = HopName(more=(LEFT_BEHIND_HOP,), help_text="Such as 0.33+.")


class SnapshotFindingsView(Endpoint):
    """The findings of one snapshot."""

    needs = {"GET": READ}
    operations = {
        "GET": Operation(
            id="snapshot_findings_list",
            query=SnapshotFindingQuerySerializer,
            answer=page_of("SnapshotFinding", FindingDetailSerializer),
        ),
    }

    def get(self, request: Request, id: uuid.UUID) -> Response:  # noqa: A002 - the name in the address
        """Findings in full, in the order of the report, with the current waivers, the fixes of the preferred tool
        first.
        """
        query = query_params(request, SnapshotFindingQuerySerializer)
        filters = SnapshotFindingFilters(
            **{name: query.get(name, "") for name in ("check", "status", "severity", "hop")}
        )
        after, tool = cursor_of(request, query), tool_asked(request, query)
        page = snapshot_finding_page(id, filters, after=after, limit=query["limit"], tool=tool)
        return page_answer(request, page, shape=FindingDetailSerializer)


class SnapshotSarifView(Endpoint):
    """One snapshot for tools that read SARIF."""

    needs = {"GET": READ}
    operations = {
        "GET": Operation(
            id="snapshots_sarif",
            query=PlannedSerializer,
            answer={(200, SARIF): {"type": "object"}, 304: OpenApiResponse(description="Nothing has changed")},
            more=[IF_NONE_MATCH],
        ),
    }

    def get(self, request: Request, id: uuid.UUID) -> HttpResponse:  # noqa: A002 - the name in the address
        """The report as SARIF 2.1.0. A waived finding is a suppressed result, with the waiver's reason as
        justification.
        """
        query = query_params(request, PlannedSerializer)
        report = report_of(id, kubernetes=query.get("kubernetes", ""))
        return _cached_answer(request, sarif.render(report).encode(), kind=SARIF)


class SnapshotExportQuerySerializer(PlannedSerializer, ToolQuerySerializer):
    form = serializers.ChoiceField(choices=tuple(FORMS), help_text="The form of the report.")


class SnapshotExportView(Endpoint):
    """One snapshot in the forms that `karpdash scan` prints."""

    needs = {"GET": READ}
    operations = {
        "GET": Operation(
            id="snapshots_export",
            query=SnapshotExportQuerySerializer,
            answer={
                **{
                    (200, kind.partition(";")[0]): {"type": "object"} if kind == SARIF else OpenApiTypes.STR
                    for kind, _ in FORMS.values()
                },
                304: OpenApiResponse(description="Nothing has changed"),
            },
            more=[IF_NONE_MATCH],
        ),
    }

    def get(self, request: Request, id: uuid.UUID) -> HttpResponse:  # noqa: A002 - the name in the address
        """JUnit for a test report, CSV for a spreadsheet, Markdown for a ticket, SARIF for code scanning, and
        the table that the command prints. The fixes of the preferred tool come first."""
        query = query_params(request, SnapshotExportQuerySerializer)
        kind, render = FORMS[query["form"]]
        report = report_of(id, kubernetes=query.get("kubernetes", ""))
        tool_report = report_by_tool(report, tool_asked(request, query))
        answer = _cached_answer(request, render(tool_report).encode(), kind=kind)
        answer["Cache-Control"] = "private, no-cache"  # another tool may be preferred at any time
        return answer


class SnapshotNodesView(Endpoint):
    """The nodes of a snapshot."""

    needs = {"GET": READ}
    operations = {
        "GET": Operation(
            id="snapshot_nodes_list", query=NodeQuerySerializer, answer=page_of("Node", NodeRowSerializer)
        ),
    }

    def get(self, request: Request, id: uuid.UUID) -> Response:  # noqa: A002 - the name in the address
        """Nodes by name, each with its owner."""
        query = query_params(request, NodeQuerySerializer)
        page = node_page(
            id,
            owner=query.get("owner", ""),
            q=query.get("q", ""),
            after=cursor_of(request, query),
            limit=query["limit"],
        )
        return page_answer(request, page, shape=NodeRowSerializer)


def _cached_answer(request: Request, body: bytes, *, kind: str) -> HttpResponse:
    """Returns the bytes with their ETag, or a 304."""
    tag = etags.of_bytes(body)
    is_unchanged = etags.unchanged(request, tag)
    answer = HttpResponse(status=304) if is_unchanged else HttpResponse(body, content_type=kind)
    answer["ETag"] = tag
    answer["Cache-Control"] = MAX_AGE
    answer["Vary"] = "Authorization, Cookie"
    return answer

"""Resource findings: the answers of checks on all clusters.

Resource scans: request a scan, follow it, list those of a cluster.

Resource snapshots: the stored results of scans, whole or as lists.
"""

import uuid
from collections.abc import Callable
from functools import partial
from typing import Any, get_args

import msgspec
from django.db import transaction
from django.http import HttpResponse
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiResponse
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.reverse import reverse

from migrations_app.api.framework import etags
from migrations_app.api.framework.answers import StructSerializer
from migrations_app.api.framework.fields import (
    OutputText,
    PagedSerializer,
    PlannedSerializer,
    StrictSerializer,
    ordering,
)
from migrations_app.api.framework.idempotency import idempotent
from migrations_app.api.framework.operations import IF_NONE_MATCH, Operation, page_of
from migrations_app.api.framework.permissions import READ, EndpointPermission
from migrations_app.api.framework.preferred_tool import ToolQuerySerializer, tool_asked
from migrations_app.api.framework.views import Endpoint, body_params, cursor_of, page_answer, query_params
from migrations_app.checks.base import PHASES, Evidence, Remedy, Severity, Status
from migrations_app.queries.cluster.detail import report_of
from migrations_app.queries.scans.findings import FINDING_ORDERS, FindingFilters, FindingLine, finding_page
from migrations_app.queries.scans.scans import SCAN_ORDERS, ScanAttempt, scan_attempt, scan_page
from migrations_app.queries.scans.snapshot_findings import FindingDetail, SnapshotFindingFilters, snapshot_finding_page
from migrations_app.queries.scans.snapshots import SNAPSHOT_ORDERS, SnapshotLine, node_page, snapshot_page
from migrations_app.readiness.outputs import csv_table, junit, markdown, sarif, table
from migrations_app.readiness.outputs.preferred_tool import report_by_tool
from migrations_app.readiness.published_fields import published
from migrations_app.readiness.report import OWNERS, Report
from migrations_app.readiness.runbook.one_check import OneCheckAnswer
from migrations_app.tasks import enqueue_scan
from migrations_app.use_cases.scans.check_again import known_check
from migrations_app.use_cases.scans.queue import request_scan

FORMS: dict[str, tuple[str, Callable[[Report], str]]] = {
    "csv": ("text/csv", csv_table.render),
    "junit": ("application/xml", junit.render),
    "markdown": ("text/markdown", markdown.render),
    "sarif": ("application/sarif+json", sarif.render),
    "table": ("text/plain; charset=utf-8", table.render),
}
"""Media type and renderer of each form."""
FILTERS = ("check", "status", "severity", "hop", "phase", "ordering")


class FindingLineSerializer(StructSerializer):
    """One answer of one check in the latest snapshot of a cluster."""

    struct = FindingLine


class FindingQuerySerializer(PagedSerializer):
    cluster = serializers.UUIDField(required=False)
    check = serializers.CharField(required=False, max_length=80)
    status = serializers.ChoiceField(required=False, choices=get_args(Status))
    severity = serializers.ChoiceField(required=False, choices=get_args(Severity))
    hop = serializers.CharField(required=False, max_length=10, help_text="Such as 0.33+.")
    phase = serializers.ChoiceField(required=False, choices=PHASES)
    ordering = ordering(FINDING_ORDERS, default="cluster_name")


class FindingsView(Endpoint):
    """Findings of the latest snapshots."""

    needs = {"GET": READ}
    operations = {
        "GET": Operation(
            id="findings_list", query=FindingQuerySerializer, answer=page_of("Finding", FindingLineSerializer)
        ),
    }

    def get(self, request: Request) -> Response:
        """Findings, by default by cluster and in the order of its report."""
        query = query_params(request, FindingQuerySerializer)
        filters = FindingFilters(cluster=query.get("cluster"), **{name: query.get(name, "") for name in FILTERS})
        page = finding_page(filters, after=cursor_of(request, query), limit=query["limit"])
        return page_answer(request, page, shape=FindingLineSerializer)


class OneCheckAnswerSerializer(StructSerializer):
    """The answer of one check that was checked again on its own."""

    struct = OneCheckAnswer


class ScanStateSerializer(StructSerializer):
    """One scan. `state`: queued, running, done or failed; `snapshot` is set once it is done, unless only one check was
    checked again."""

    struct = ScanAttempt


class ScanQuerySerializer(PagedSerializer):
    ordering = ordering(SCAN_ORDERS, default="-created_at")


class ScanRequestSerializer(StrictSerializer):
    """The body may be empty."""

    check = serializers.CharField(
        required=False,
        max_length=80,
        help_text="The id of a check to check again. If it still fails, the scan ends with its answer; else the whole "
        "cluster is read.",
    )


class ClusterScansView(Endpoint):
    """The scans of a cluster."""

    needs = {"GET": READ, "POST": EndpointPermission("scan", "add_scan")}
    tag = "scans"
    operations = {
        "GET": Operation("cluster_scans_list", query=ScanQuerySerializer, answer=page_of("Scan", ScanStateSerializer)),
        "POST": Operation("cluster_scans_create", body=ScanRequestSerializer, answer=ScanStateSerializer, status=202),
    }

    def get(self, request: Request, id: uuid.UUID) -> Response:  # noqa: A002 - the name in the address
        """Scans of the cluster, newest first by default. By finish time, scans in progress count as the latest."""
        query = query_params(request, ScanQuerySerializer)
        page = scan_page(id, after=cursor_of(request, query), limit=query["limit"], ordering=query["ordering"])
        return page_answer(request, page, shape=ScanStateSerializer)

    @idempotent
    def post(self, request: Request, id: uuid.UUID) -> Response:  # noqa: A002 - the name in the address
        """Queues a scan. If one is in progress, it is returned instead of a second one, and reads at least what is
        requested here.
        """
        check = body_params(request, ScanRequestSerializer).get("check", "")
        asked_for = request_scan(id, by=request.user.get_username(), only_check=known_check(check) if check else "")
        transaction.on_commit(partial(enqueue_scan, asked_for.scan_id))
        answer = Response(ScanStateSerializer(scan_attempt(asked_for.scan_id)).data, status=202)
        answer["Location"] = reverse("api-scan", kwargs={"id": asked_for.scan_id}, request=request)
        return answer


class ScanView(Endpoint):
    """One scan."""

    needs = {"GET": READ}
    operations = {
        "GET": Operation("scans_read", answer=ScanStateSerializer),
    }

    def get(self, request: Request, id: uuid.UUID) -> Response:  # noqa: A002 - the name in the address
        """The state of the scan."""
        query_params(request, StrictSerializer)
        return Response(ScanStateSerializer(scan_attempt(id)).data)


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
            id="snapshots_list", query=SnapshotQuerySerializer, answer=page_of("Snapshot", SnapshotLineSerializer)
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
    check = serializers.CharField(required=False, max_length=80)
    status = serializers.ChoiceField(required=False, choices=get_args(Status))
    severity = serializers.ChoiceField(required=False, choices=get_args(Severity))
    hop = serializers.CharField(required=False, max_length=10, help_text="Such as 0.33+.")


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

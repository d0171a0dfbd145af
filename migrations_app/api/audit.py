"""Resource audit: events of the audit log, and the whole log as lines that can be verified."""

import json
from typing import Any

from django.http import StreamingHttpResponse
from drf_spectacular.types import OpenApiTypes
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from migrations_app.api.framework.answers import StructSerializer
from migrations_app.api.framework.fields import PagedSerializer, StrictSerializer, ordering
from migrations_app.api.framework.operations import Operation, page_of
from migrations_app.api.framework.permissions import EndpointPermission
from migrations_app.api.framework.problem_codes import Problem
from migrations_app.api.framework.views import Endpoint, cursor_of, page_answer, query_params
from migrations_app.queries.audit.log import AUDIT_ORDERS, COLUMNS, AuditFilters, AuditLine, audit_page, export_lines
from migrations_app.queries.pagination import Page

NEED = EndpointPermission("audit", "view_auditevent")
LINES = "application/x-ndjson"
FILTERS = ("actor", "verb", "outcome", "plan", "correlation", "text")
NUMBER = 2**53


class AuditEventSerializer(StructSerializer):
    """One event. `hash` covers all other columns as the export writes them, `prev` is the hash of the previous event.

    With `fields`, only those columns are there.
    """

    struct = AuditLine
    options = {"required": False}

    detail = serializers.DictField(required=False)


class AuditQuerySerializer(PagedSerializer):
    """An event has to match every filter; a verb may be a family such as `rollout`."""

    actor = serializers.CharField(required=False, max_length=150)
    verb = serializers.CharField(required=False, max_length=60, help_text="A verb or a family, such as rollout.")
    outcome = serializers.CharField(required=False, max_length=60)
    cluster = serializers.UUIDField(required=False)
    plan = serializers.CharField(required=False, max_length=80, help_text="The plan's digest, or its beginning.")
    correlation = serializers.CharField(required=False, max_length=64)
    since = serializers.DateTimeField(required=False)
    until = serializers.DateTimeField(required=False, help_text="Events before this moment.")
    text = serializers.CharField(required=False, max_length=200)
    ordering = ordering(AUDIT_ORDERS, default="-seq")


class ExportQuerySerializer(StrictSerializer):
    first = serializers.IntegerField(required=False, min_value=1, max_value=NUMBER, default=1)
    last = serializers.IntegerField(required=False, min_value=1, max_value=NUMBER)


class AuditView(Endpoint):
    """Events of the audit log."""

    needs = {"GET": NEED}
    operations = {
        "GET": Operation(
            id="audit_list", query=AuditQuerySerializer, answer=page_of("AuditEvent", AuditEventSerializer)
        ),
    }

    def get(self, request: Request) -> Response:
        """Events that match every filter, newest first by default."""
        query = query_params(request, AuditQuerySerializer)
        columns = _columns(query.get("fields", ""))
        filters = AuditFilters(
            cluster=str(query.get("cluster", "")),
            since=query.get("since"),
            until=query.get("until"),
            **{name: query.get(name, "") for name in FILTERS},
        )
        events = audit_page(filters, after=cursor_of(request, query), limit=query["limit"], ordering=query["ordering"])
        page = Page(tuple(_row(line, columns) for line in events.rows), events.next_cursor)
        return page_answer(request, page, shape=AuditEventSerializer)


class AuditExportView(Endpoint):
    """The log as lines, for `karpdash audit verify`."""

    needs = {"GET": NEED}
    operations = {
        "GET": Operation("audit_export", query=ExportQuerySerializer, answer={(200, LINES): OpenApiTypes.STR}),
    }

    def get(self, request: Request) -> StreamingHttpResponse:
        """Events as JSON lines, oldest first, up to the newest one at the time of the request."""
        query = query_params(request, ExportQuerySerializer)
        lines = export_lines(AuditFilters(first=query["first"], last=query.get("last")))
        return StreamingHttpResponse(lines, content_type=LINES)


def _columns(text: str) -> tuple[str, ...]:
    names = tuple(name for name in text.split(",") if name)
    strange = [name for name in names if name not in COLUMNS]
    if strange:
        raise Problem("bad_input", f"there is no column {strange[0]!r}")
    return names or COLUMNS


def _row(line: AuditLine, columns: tuple[str, ...]) -> dict[str, Any]:
    row = {name: getattr(line, name) for name in columns}
    return row | {"detail": json.loads(line.detail)} if "detail" in row else row

"""snapshots: what was seen and judged, whole or as lists."""

import uuid
from typing import Any

import msgspec
from django.http import HttpResponse
from drf_spectacular.utils import OpenApiResponse
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from migrations_app.api import entity_tags
from migrations_app.api.clusters import SnapshotSummary
from migrations_app.api.described import IF_NONE_MATCH, described, page_of
from migrations_app.api.endpoint import Endpoint, asked, cursor_of, page_answer
from migrations_app.api.fields import Paged, Strict, Told
from migrations_app.api.rights import READ
from migrations_app.queries.cluster import report_of
from migrations_app.queries.snapshots import node_page, snapshot_page
from migrations_app.readiness.outputs import sarif
from migrations_app.readiness.published import published
from migrations_app.readiness.report import OWNERS

REPORT = {"$ref": "#/components/schemas/Report"}
SARIF = "application/sarif+json"
MAX_AGE = "private, max-age=60"
"""What was found never changes; its waivers and the right to read it may, so it is not kept for long."""


class SnapshotLine(SnapshotSummary):
    """The numbers of one snapshot, and whose it is."""

    cluster = serializers.UUIDField()
    cluster_name = Told()


class SnapshotQuery(Paged):
    cluster = serializers.UUIDField(required=False)
    complete = serializers.ChoiceField(required=False, choices=("true", "false"))


class NodeQuery(Paged):
    owner = serializers.ChoiceField(required=False, choices=OWNERS)
    q = serializers.CharField(required=False, max_length=200, help_text="Part of a node's or pool's name.")


class NodeRow(serializers.Serializer[Any]):
    """One node and whose it is; `told_by` names the signals, `anomalies` what does not add up."""

    name = Told()
    owner = Told()
    pool = Told()
    claim = Told()
    told_by = serializers.ListField(child=Told())
    anomalies = serializers.ListField(child=Told())
    capacity = Told()
    instance_type = Told()
    zone = Told()
    can_drift = serializers.BooleanField(allow_null=True)


class Snapshots(Endpoint):
    """Snapshots of all clusters."""

    needs = {"GET": READ}

    @described(
        "GET",
        id="snapshots_list",
        tag="snapshots",
        query=SnapshotQuery,
        answers={200: page_of("Snapshot", SnapshotLine)},
    )
    def get(self, request: Request) -> Response:
        """Snapshots, newest first."""
        query = asked(request, SnapshotQuery)
        complete = {"true": True, "false": False}.get(query.get("complete", ""))
        page = snapshot_page(
            cluster=query.get("cluster"), complete=complete, after=cursor_of(request, query), limit=query["limit"]
        )
        return page_answer(request, page, shape=SnapshotLine)


class Snapshot(Endpoint):
    """One snapshot, whole."""

    needs = {"GET": READ}

    @described(
        "GET",
        id="snapshots_read",
        tag="snapshots",
        named=True,
        more=[IF_NONE_MATCH],
        answers={(200, "application/json"): REPORT, 304: OpenApiResponse(description="Nothing has changed")},
    )
    def get(self, request: Request, id: uuid.UUID) -> HttpResponse:  # noqa: A002 - the name in the address
        """The report, as `karpdash scan -o json` prints it, with the waivers over it. What was found never changes; the
        ETag is of the bytes."""
        asked(request, Strict)
        return _whole(request, msgspec.json.encode(published(report_of(id))), kind="application/json")


class SnapshotSarif(Endpoint):
    """One snapshot for tools that read SARIF."""

    needs = {"GET": READ}

    @described(
        "GET",
        id="snapshots_sarif",
        tag="snapshots",
        named=True,
        more=[IF_NONE_MATCH],
        answers={(200, SARIF): {"type": "object"}, 304: OpenApiResponse(description="Nothing has changed")},
    )
    def get(self, request: Request, id: uuid.UUID) -> HttpResponse:  # noqa: A002 - the name in the address
        """The report as SARIF 2.1.0; a waived failure is a suppressed result, with its words as the justification."""
        asked(request, Strict)
        return _whole(request, sarif.render(report_of(id)).encode(), kind=SARIF)


class SnapshotNodes(Endpoint):
    """The nodes of a snapshot."""

    needs = {"GET": READ}

    @described(
        "GET",
        id="snapshot_nodes_list",
        tag="snapshots",
        named=True,
        query=NodeQuery,
        answers={200: page_of("Node", NodeRow)},
    )
    def get(self, request: Request, id: uuid.UUID) -> Response:  # noqa: A002 - the name in the address
        """Nodes by name, each with its owner."""
        query = asked(request, NodeQuery)
        page = node_page(
            id,
            owner=query.get("owner", ""),
            q=query.get("q", ""),
            after=cursor_of(request, query),
            limit=query["limit"],
        )
        return page_answer(request, page, shape=NodeRow)


def _whole(request: Request, body: bytes, *, kind: str) -> HttpResponse:
    """The bytes with their ETag, or a 304."""
    tag = entity_tags.of_bytes(body)
    same = entity_tags.unchanged(request, tag)
    answer = HttpResponse(status=304) if same else HttpResponse(body, content_type=kind)
    answer["ETag"] = tag
    answer["Cache-Control"] = MAX_AGE
    answer["Vary"] = "Authorization, Cookie"
    return answer

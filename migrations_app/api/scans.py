"""scans: ask for one, follow it, list those of a cluster."""

import uuid
from functools import partial
from typing import Any

from django.db import transaction
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.reverse import reverse

from migrations_app.api.described import described, page_of
from migrations_app.api.endpoint import Endpoint, asked, cursor_of, given, page_answer
from migrations_app.api.fields import Paged, Strict, Told
from migrations_app.api.replayed import replayed
from migrations_app.api.rights import READ, Need
from migrations_app.flow.schedule import request_scan
from migrations_app.queries.scans import scan_attempt, scan_page
from migrations_app.tasks import wake


class ScanState(serializers.Serializer[Any]):
    """One attempt to look. `state`: queued, running, done or failed; `snapshot` is there once it is done."""

    id = serializers.UUIDField()
    cluster = serializers.UUIDField()
    state = Told()
    requested_by = Told()
    created_at = serializers.DateTimeField()
    started_at = serializers.DateTimeField(allow_null=True)
    finished_at = serializers.DateTimeField(allow_null=True)
    attempts = serializers.IntegerField()
    parts_done = serializers.IntegerField()
    parts_total = serializers.IntegerField()
    error_code = Told()
    error_detail = Told()
    snapshot = serializers.UUIDField(allow_null=True)


class NoFields(Strict):
    """Nothing has to be said."""


class ClusterScans(Endpoint):
    """The scans of a cluster."""

    needs = {"GET": READ, "POST": Need("scan", "add_scan")}

    @described(
        "GET",
        id="cluster_scans_list",
        tag="scans",
        named=True,
        query=Paged,
        answers={200: page_of("Scan", ScanState)},
    )
    def get(self, request: Request, id: uuid.UUID) -> Response:  # noqa: A002 - the name in the address
        """Scans of the cluster, newest first."""
        query = asked(request, Paged)
        page = scan_page(id, after=cursor_of(request, query), limit=query["limit"])
        return page_answer(request, page, shape=ScanState)

    @described("POST", id="cluster_scans_create", tag="scans", named=True, body=None, answers={202: ScanState})
    @replayed
    def post(self, request: Request, id: uuid.UUID) -> Response:  # noqa: A002 - the name in the address
        """Queues a scan; one that is under way already is answered instead of a second one."""
        given(request, NoFields)
        asked_for = request_scan(id, by=request.user.get_username())
        transaction.on_commit(partial(wake, asked_for.scan_id))
        answer = Response(ScanState(scan_attempt(asked_for.scan_id)).data, status=202)
        answer["Location"] = reverse("api-scan", kwargs={"id": asked_for.scan_id}, request=request)
        return answer


class Scan(Endpoint):
    """One scan."""

    needs = {"GET": READ}

    @described("GET", id="scans_read", tag="scans", named=True, answers={200: ScanState})
    def get(self, request: Request, id: uuid.UUID) -> Response:  # noqa: A002 - the name in the address
        """How far the scan is."""
        asked(request, Strict)
        return Response(ScanState(scan_attempt(id)).data)

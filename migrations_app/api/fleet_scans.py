"""fleet/scans: scan every cluster, and follow how far that is."""

import uuid
from functools import partial
from typing import Any

from django.db import transaction
from django.utils import timezone
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.reverse import reverse

from migrations_app.api.described import described
from migrations_app.api.endpoint import Endpoint, asked, given
from migrations_app.api.fields import Strict, Told
from migrations_app.api.replayed import replayed
from migrations_app.api.rights import READ, Need
from migrations_app.api.scans import NoFields
from migrations_app.flow.scan_fleet import request_fleet_scan
from migrations_app.queries.fleet_scans import fleet_scan
from migrations_app.tasks import wake_fleet_scan


class SlowScanShape(serializers.Serializer[Any]):
    """A scan that runs for more than 30 seconds."""

    cluster = serializers.UUIDField()
    name = Told()
    since = serializers.DateTimeField()
    parts_done = serializers.IntegerField()
    parts_total = serializers.IntegerField()


class FailedScanShape(serializers.Serializer[Any]):
    """A scan without a result; `failures` counts those of the cluster in a row."""

    cluster = serializers.UUIDField()
    name = Told()
    code = Told()
    detail = Told()
    failures = serializers.IntegerField()


class FleetScanShape(serializers.Serializer[Any]):
    """`ended` of `total` clusters; at most 50 slow and 50 failed ones are named."""

    id = serializers.UUIDField()
    requested_by = Told()
    created_at = serializers.DateTimeField()
    ended_at = serializers.DateTimeField(allow_null=True)
    open = serializers.BooleanField()
    total = serializers.IntegerField()
    ended = serializers.IntegerField()
    waiting = serializers.IntegerField()
    running = serializers.IntegerField()
    done = serializers.IntegerField()
    failed = serializers.IntegerField()
    removed = serializers.IntegerField()
    slow = SlowScanShape(many=True)
    failures = FailedScanShape(many=True)


class FleetScans(Endpoint):
    """Scans of the whole fleet."""

    needs = {"POST": Need("scan", "add_scan")}

    @described("POST", id="fleet_scans_create", tag="fleet", body=None, answers={202: FleetScanShape})
    @replayed
    def post(self, request: Request) -> Response:
        """Asks for a scan of every cluster; one that is under way already is answered instead of a second one."""
        given(request, NoFields)
        found = request_fleet_scan(by=request.user.get_username())
        if found.created:
            transaction.on_commit(partial(wake_fleet_scan, found.id))
        answer = Response(FleetScanShape(fleet_scan(found.id, now=timezone.now())).data, status=202)
        answer["Location"] = reverse("api-fleet-scan", kwargs={"id": found.id}, request=request)
        return answer


class FleetScan(Endpoint):
    """One scan of the fleet."""

    needs = {"GET": READ}

    @described("GET", id="fleet_scans_read", tag="fleet", named=True, answers={200: FleetScanShape})
    def get(self, request: Request, id: uuid.UUID) -> Response:  # noqa: A002 - the name in the address
        """How far it is, which clusters are slow, and which failed and why."""
        asked(request, Strict)
        return Response(FleetScanShape(fleet_scan(id, now=timezone.now())).data)

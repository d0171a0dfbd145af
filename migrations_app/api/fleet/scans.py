"""Endpoint fleet/scans: scans every cluster, and shows the progress."""

import uuid
from functools import partial

from django.db import transaction
from django.utils import timezone
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.reverse import reverse

from migrations_app.api.framework.answers import StructSerializer
from migrations_app.api.framework.fields import StrictSerializer
from migrations_app.api.framework.idempotency import idempotent
from migrations_app.api.framework.operations import Operation
from migrations_app.api.framework.permissions import READ, EndpointPermission
from migrations_app.api.framework.views import Endpoint, body_params, query_params
from migrations_app.queries.scans.fleet_scans import FailedScan, FleetScanState, SlowScan, fleet_scan
from migrations_app.tasks import enqueue_fleet_scan
from migrations_app.use_cases.scans.fleet_scan import request_fleet_scan


class SlowScanShapeSerializer(StructSerializer):
    """A scan that has been running for more than 30 seconds."""

    struct = SlowScan


class FailedScanShapeSerializer(StructSerializer):
    """A failed scan; `failures` counts the consecutive failed scans of the cluster."""

    struct = FailedScan


class FleetScanShapeSerializer(StructSerializer):
    """`ended` of `total` clusters; at most 50 slow and 50 failed scans are listed."""

    struct = FleetScanState
    leave_out = ("codes",)

    ended = serializers.IntegerField()


class FleetScansView(Endpoint):
    """Scans of the whole fleet."""

    needs = {"POST": EndpointPermission("scan", "add_scan")}
    operations = {
        "POST": Operation("fleet_scans_create", answer=FleetScanShapeSerializer, status=202),
    }

    @idempotent
    def post(self, request: Request) -> Response:
        """Queues a scan of every cluster. If such a scan is in progress, it is returned instead of a second one."""
        body_params(request, StrictSerializer)
        fleet_asked = request_fleet_scan(by=request.user.get_username())
        if fleet_asked.created:
            transaction.on_commit(partial(enqueue_fleet_scan, fleet_asked.id))
        answer = Response(FleetScanShapeSerializer(fleet_scan(fleet_asked.id, now=timezone.now())).data, status=202)
        answer["Location"] = reverse("api-fleet-scan", kwargs={"id": fleet_asked.id}, request=request)
        return answer


class FleetScanView(Endpoint):
    """One scan of the fleet."""

    needs = {"GET": READ}
    operations = {
        "GET": Operation("fleet_scans_read", answer=FleetScanShapeSerializer),
    }

    def get(self, request: Request, id: uuid.UUID) -> Response:  # noqa: A002 - the name in the address
        """The progress of the scan, the slow clusters, and the failed ones with the reason."""
        query_params(request, StrictSerializer)
        return Response(FleetScanShapeSerializer(fleet_scan(id, now=timezone.now())).data)

"""Resource scans: request a scan, follow it, list those of a cluster."""

import uuid
from functools import partial

from django.db import transaction
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.reverse import reverse

from migrations_app.api.framework.answers import StructSerializer
from migrations_app.api.framework.fields import PagedSerializer, StrictSerializer, ordering
from migrations_app.api.framework.idempotency import idempotent
from migrations_app.api.framework.operations import Operation, page_of
from migrations_app.api.framework.permissions import READ, EndpointPermission
from migrations_app.api.framework.views import Endpoint, body_params, cursor_of, page_answer, query_params
from migrations_app.queries.scans.scans import SCAN_ORDERS, ScanAttempt, scan_attempt, scan_page
from migrations_app.readiness.runbook.one_check import OneCheckAnswer
from migrations_app.tasks import enqueue_scan
from migrations_app.use_cases.scans.check_again import known_check
from migrations_app.use_cases.scans.queue import request_scan


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

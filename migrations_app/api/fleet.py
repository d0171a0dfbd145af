"""Endpoint fleet/burndown: what is left of both conversions, per day, and the projected end.

Endpoint fleet/summary: the numbers above the fleet page.

Endpoint fleet/scans: scans every cluster, and shows the progress.

Endpoint fleet/views: saved views of the fleet page.
"""

import uuid
from functools import partial
from typing import Any

from django.db import transaction
from django.utils import timezone
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.reverse import reverse

from migrations_app.api.clusters.views import NarrowedSerializer, fleet_filters, labels_field
from migrations_app.api.framework.answers import StructSerializer
from migrations_app.api.framework.callers import person
from migrations_app.api.framework.fields import OutputText, PagedSerializer, StrictSerializer, Text
from migrations_app.api.framework.idempotency import idempotent
from migrations_app.api.framework.operations import Operation, page_of
from migrations_app.api.framework.permissions import READ, EndpointPermission
from migrations_app.api.framework.views import Endpoint, body_params, cursor_of, page_answer, query_params
from migrations_app.queries.fleet.burndown import BurndownCurve, BurndownFilters, burndown
from migrations_app.queries.fleet.clusters import FleetFilters, fleet_page
from migrations_app.queries.fleet.progress import BurndownWithProgress, FallenDay, OverallProgress, with_progress
from migrations_app.queries.fleet.saved_views import ViewRow, view_of, view_page
from migrations_app.queries.scans.fleet_scans import FailedScan, FleetScanState, SlowScan, fleet_scan
from migrations_app.readiness.progress.curve import BurndownProjection, Lacking, Point
from migrations_app.readiness.progress.share import DonePercent, ProjectedEnd
from migrations_app.tasks import enqueue_fleet_scan
from migrations_app.use_cases.clusters.saved_views import LONGEST_NAME, LONGEST_QUERY, create_view, remove_view
from migrations_app.use_cases.scans.fleet_scan import request_fleet_scan


class BurndownQuerySerializer(StrictSerializer):
    """One cluster, a group, or the clusters with these labels; without any of them, all that the caller may see."""

    cluster = serializers.UUIDField(required=False)
    group = serializers.UUIDField(required=False)
    label = labels_field()  # type: ignore[assignment]  # the metaclass takes fields away before the name could clash


class PointShownSerializer(StructSerializer):
    """A day. `count` is null if nothing is known; `carried` counts clusters whose number is from an earlier day,
    `unseen` those with a data source that was never read: then the count is a lower bound. `done` and `total` count
    only the clusters for which both are known.
    """

    struct = Point


class ProjectionShownSerializer(StructSerializer):
    """`ends_on` is given for `falling` only; with the `certainty` at_least it is the earliest day."""

    struct = BurndownProjection


class CurveShownSerializer(StructSerializer):
    """At most ninety days, from the first scan on."""

    struct = BurndownCurve


class DonePercentShownSerializer(StructSerializer):
    """`percent` is null if nothing is known; it is an upper bound if a data source was never read."""

    struct = DonePercent


class LackingShownSerializer(StructSerializer):
    """What is missing for a projected end: days with a scan that read everything, and days until the last of them."""

    struct = Lacking


class ProjectedEndShownSerializer(StructSerializer):
    """`on` is given for `falling` only; with the `certainty` at_least it is the earliest day."""

    struct = ProjectedEnd


class WayShownSerializer(StructSerializer):
    """How much of both conversions is done and when they end, as on the progress page. `done` is unknown if nothing was
    read; `end` has a day for the outcome `falling` only, and for `too_little` what is missing."""

    struct = OverallProgress


class FallenDayShownSerializer(StructSerializer):
    """Why the percentage was lower than on the day before: `number` of the measure were added (`more_left`), were done
    and are gone (`done_gone`), or are counted for the first time; or clusters were not read completely (`not_read`).
    """

    struct = FallenDay


class BurndownShownSerializer(StructSerializer):
    """Provisioners, AWSNodeTemplates and Machines as `objects`; the nodes that Provisioners own as `nodes`; CRDs that
    store other versions than v1 as `stored_versions`; Machines, and NodeClaims that are not stored as v1, as `claims`.
    With the progress of both conversions, and why a percentage fell."""

    struct = BurndownWithProgress


class BurndownOfView(Endpoint):
    """The burndown of the fleet or a part of it."""

    needs = {"GET": READ}
    operations = {
        "GET": Operation("fleet_burndown", query=BurndownQuerySerializer, answer=BurndownShownSerializer),
    }

    def get(self, request: Request) -> Response:
        """Daily numbers of the last ninety days, and the projected end."""
        query = query_params(request, BurndownQuerySerializer)
        labels = tuple(filter(None, query.get("label", "").split(",")))
        filters = BurndownFilters(cluster=query.get("cluster"), group=query.get("group"), labels=labels)
        return Response(BurndownShownSerializer(with_progress(burndown(filters, now=timezone.now()))).data)


class FleetSummarySerializer(serializers.Serializer[Any]):
    """`buckets` counts clusters by what they wait for; `legacy_exact` is false if `legacy` is a lower bound."""

    clusters = serializers.IntegerField()
    stages = serializers.DictField(child=serializers.IntegerField())
    buckets = serializers.DictField(child=serializers.IntegerField())
    legacy = serializers.IntegerField()
    legacy_exact = serializers.BooleanField()
    environments = serializers.ListField(child=OutputText())


class SummaryView(Endpoint):
    """The fleet in numbers."""

    needs = {"GET": READ}
    operations = {
        "GET": Operation("fleet_summary", query=NarrowedSerializer, answer=FleetSummarySerializer),
    }

    def get(self, request: Request) -> Response:
        """Numbers of clusters by stage and by what they wait for, and of legacy objects that are left."""
        query = query_params(request, NarrowedSerializer)
        page = fleet_page(FleetFilters(**fleet_filters(query)), now=timezone.now(), limit=1)
        totals = page.totals
        return Response(
            FleetSummarySerializer(
                {
                    "clusters": totals.clusters,
                    "stages": totals.stages,
                    "buckets": totals.buckets,
                    "legacy": totals.legacy,
                    "legacy_exact": totals.legacy_exact,
                    "environments": page.environments,
                }
            ).data
        )


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


OWN = EndpointPermission("admin")


class ViewShownSerializer(StructSerializer):
    """A saved view. `query` is the query string of the fleet page; `own`: it is the caller's."""

    struct = ViewRow


class NewViewSerializer(StrictSerializer):
    """A saved view of the caller with the same name is replaced."""

    name = Text(max_length=LONGEST_NAME)
    query = Text(max_length=LONGEST_QUERY, allow_blank=True)
    shared = serializers.BooleanField(required=False, default=False)


class SavedViewsView(Endpoint):
    """The caller's saved views, and those that others share."""

    needs = {"GET": READ, "POST": OWN}
    operations = {
        "GET": Operation("views_list", query=PagedSerializer, answer=page_of("View", ViewShownSerializer)),
        "POST": Operation("views_create", body=NewViewSerializer, answer=ViewShownSerializer, status=201),
    }

    def get(self, request: Request) -> Response:
        """Saved views by name."""
        query = query_params(request, PagedSerializer)
        page = view_page(person(request).pk, after=cursor_of(request, query), limit=query["limit"])
        return page_answer(request, page, shape=ViewShownSerializer)

    @idempotent
    def post(self, request: Request) -> Response:
        """Saves a view."""
        view_id = create_view(person(request).pk, **body_params(request, NewViewSerializer))
        answer = Response(ViewShownSerializer(view_of(view_id, person_id=person(request).pk)).data, status=201)
        answer["Location"] = reverse("api-fleet-view", kwargs={"id": view_id}, request=request)
        return answer


class SavedViewDetailView(Endpoint):
    """One saved view."""

    needs = {"GET": READ, "DELETE": OWN}
    operations = {
        "GET": Operation("views_read", answer=ViewShownSerializer),
        "DELETE": Operation("views_remove", unmatched=True),
    }

    def get(self, request: Request, id: uuid.UUID) -> Response:  # noqa: A002 - the name in the address
        """The saved view."""
        query_params(request, StrictSerializer)
        return Response(ViewShownSerializer(view_of(id, person_id=person(request).pk)).data)

    def delete(self, request: Request, id: uuid.UUID) -> Response:  # noqa: A002 - the name in the address
        """Removes a saved view of the caller. Needs no If-Match."""
        remove_view(id, person_id=person(request).pk)
        return Response(status=204)

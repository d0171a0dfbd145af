"""Endpoint fleet/burndown: what is left of both conversions, per day, and the projected end."""

from django.utils import timezone
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from migrations_app.api.clusters.views import labels_field
from migrations_app.api.framework.answers import StructSerializer
from migrations_app.api.framework.fields import StrictSerializer
from migrations_app.api.framework.operations import Operation
from migrations_app.api.framework.permissions import READ
from migrations_app.api.framework.views import Endpoint, query_params
from migrations_app.queries.fleet.burndown import BurndownCurve, BurndownFilters, burndown
from migrations_app.queries.fleet.progress import BurndownWithProgress, FallenDay, OverallProgress, with_progress
from migrations_app.readiness.progress.curve import BurndownProjection, Lacking, Point
from migrations_app.readiness.progress.done_percent import DonePercent, ProjectedEnd


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

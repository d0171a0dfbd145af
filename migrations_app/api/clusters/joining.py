"""Endpoint clusters/joining: shows what joining two registrations of one cluster moves, and joins them."""

from django.utils import timezone
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from migrations_app.api.clusters.views import ClusterDetailSerializer, detail
from migrations_app.api.framework.answers import StructSerializer
from migrations_app.api.framework.fields import StrictSerializer, Text
from migrations_app.api.framework.idempotency import idempotent
from migrations_app.api.framework.operations import Operation
from migrations_app.api.framework.permissions import EndpointPermission
from migrations_app.api.framework.views import Endpoint, body_params, query_params
from migrations_app.queries.clusters.detail import cluster_head
from migrations_app.queries.joining import JoinLabel, JoinObstacle, JoinPreview, JoinSide, join_preview
from migrations_app.use_cases.clusters.joining import join_registrations

JOIN = EndpointPermission("admin", "administer_policy")
"""For admins of everything: joining moves groups, and the groups of a cluster decide who may do what to it."""


class JoinSideSerializer(StructSerializer):
    """One of the two registrations. `failures` counts its scans that failed in a row."""

    struct = JoinSide


class JoinLabelSerializer(StructSerializer):
    """A label of the registration that ends. `stays` is the value that the other one has and keeps; empty: the label
    moves."""

    struct = JoinLabel


class JoinObstacleSerializer(StructSerializer):
    """Why the registrations cannot be joined now. `registration` is the name of the one concerned; empty: both."""

    struct = JoinObstacle


class JoinPreviewSerializer(StructSerializer):
    """What moves from the registration that ends. Send `digest` back as `seen` to join them; refused while there are
    obstacles.

    `groups` are those that the remaining registration is added to, and `roles` the roles over them, which then hold for
    it, too. `drops_aws`: the access to an AWS account is forgotten.
    """

    struct = JoinPreview


class JoinAskSerializer(StrictSerializer):
    """Two registrations of one cluster, by id."""

    stays = serializers.UUIDField()
    ends = serializers.UUIDField()


class JoinBodySerializer(JoinAskSerializer):
    """`seen` is the digest of the preview that was read, `typed_name` the name of the registration that ends."""

    seen = Text(max_length=64)
    typed_name = Text(max_length=200, trim_whitespace=False)


class ClusterJoiningView(Endpoint):
    """Two registrations of one cluster."""

    needs = {"GET": JOIN, "POST": JOIN}
    operations = {
        "GET": Operation("clusters_joining_read", query=JoinAskSerializer, answer=JoinPreviewSerializer, named=True),
        "POST": Operation("clusters_join", body=JoinBodySerializer, answer=ClusterDetailSerializer, named=True),
    }

    def get(self, request: Request) -> Response:
        """What would move, what would end, and the obstacles. Nothing is changed."""
        query = query_params(request, JoinAskSerializer)
        return Response(JoinPreviewSerializer(join_preview(query["stays"], query["ends"])).data)

    @idempotent
    def post(self, request: Request) -> Response:
        """Moves the history, waivers, groups and labels of one registration to the other, and removes the first one."""
        body = body_params(request, JoinBodySerializer)
        join_registrations(body["stays"], body["ends"], seen=body["seen"], typed_name=body["typed_name"])
        return detail(cluster_head(body["stays"], now=timezone.now()))

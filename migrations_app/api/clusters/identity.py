"""Endpoint clusters/{id}/identity: accepts another cluster behind a registration."""

import uuid

from django.utils import timezone
from rest_framework.request import Request
from rest_framework.response import Response

from migrations_app.api.clusters.views import ClusterDetailSerializer, detail
from migrations_app.api.framework import etags
from migrations_app.api.framework.fields import StrictSerializer, Text
from migrations_app.api.framework.operations import Operation
from migrations_app.api.framework.permissions import EndpointPermission
from migrations_app.api.framework.views import Endpoint, body_params
from migrations_app.queries.clusters.detail import cluster_head
from migrations_app.use_cases.clusters.identity import accept


class NewIdentitySerializer(StrictSerializer):
    """The cluster to accept, by `identity.other_uid`, and the name of the registered one."""

    kube_system_uid = Text(max_length=64)
    typed_name = Text(max_length=200, trim_whitespace=False)


class ClusterIdentityView(Endpoint):
    """The identity of the cluster behind a registration."""

    needs = {"PUT": EndpointPermission("admin", "change_cluster")}
    operations = {
        "PUT": Operation(id="cluster_identity_accept", body=NewIdentitySerializer, answer=ClusterDetailSerializer),
    }

    def put(self, request: Request, id: uuid.UUID) -> Response:  # noqa: A002 - the name in the address
        """Accepts the cluster that answers now as the registered one. Plans of the cluster expire, and its history
        starts anew.
        """
        head = cluster_head(id, now=timezone.now())
        etags.require_match(request, etags.of_version(head.version))
        body = body_params(request, NewIdentitySerializer)
        accept(id, uid=body["kube_system_uid"], typed_name=body["typed_name"], version=head.version)
        return detail(cluster_head(id, now=timezone.now()))

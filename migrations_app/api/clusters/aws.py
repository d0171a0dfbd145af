"""Endpoint clusters/{id}/aws: the role with which the AWS account of a registered cluster is read."""

import uuid

from django.utils import timezone
from rest_framework.request import Request
from rest_framework.response import Response

from migrations_app.api.clusters.views import ClusterDetailSerializer, detail
from migrations_app.api.framework import etags
from migrations_app.api.framework.fields import StrictSerializer, Text
from migrations_app.api.framework.idempotency import idempotent
from migrations_app.api.framework.operations import Operation
from migrations_app.api.framework.permissions import EndpointPermission
from migrations_app.api.framework.views import Endpoint, body_params
from migrations_app.queries.clusters.detail import cluster_head
from migrations_app.use_cases.clusters import eks_registration


class NewAccessSerializer(StrictSerializer):
    """The role replaces the stored one, after a test that it can be assumed."""

    draft = Text(max_length=4000)
    role_arn = Text(max_length=640)


class ClusterAwsView(Endpoint):
    """Access to the AWS account of one cluster. The stored role is shown with the cluster."""

    needs = {
        "POST": EndpointPermission("admin", "change_cluster"),
        "DELETE": EndpointPermission("admin", "change_cluster"),
    }
    operations = {
        "POST": Operation("cluster_aws_set", body=NewAccessSerializer, answer=ClusterDetailSerializer),
        "DELETE": Operation("cluster_aws_remove"),
    }

    @idempotent
    def post(self, request: Request, id: uuid.UUID) -> Response:  # noqa: A002 - the name in the address
        """Checks that the role can be assumed with its external id and not without it, then stores it."""
        body = body_params(request, NewAccessSerializer)
        cluster_head(id, now=timezone.now())
        eks_registration.set_access(id, body["draft"], role_arn=body["role_arn"], by=request.user.get_username())
        return detail(cluster_head(id, now=timezone.now()))

    def delete(self, request: Request, id: uuid.UUID) -> Response:  # noqa: A002 - the name in the address
        """Forgets the role, so that the account is no longer read. Refused for clusters that are registered by their
        role.
        """
        head = cluster_head(id, now=timezone.now())
        etags.require_match(request, etags.of_version(head.version))
        eks_registration.remove_access(id, version=head.version)
        return Response(status=204)

"""Endpoint clusters/{id}/kubeconfig: replaces the stored kubeconfig.

Access to an AWS account: drafts with an external id, and the role that a registered cluster stores.
"""

import uuid
from typing import Any

from django.utils import timezone
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from migrations_app.api.clusters.views import ClusterDetailSerializer, detail
from migrations_app.api.framework import etags
from migrations_app.api.framework.fields import OutputText, StrictSerializer, Text
from migrations_app.api.framework.idempotency import idempotent
from migrations_app.api.framework.operations import Operation
from migrations_app.api.framework.permissions import EndpointPermission
from migrations_app.api.framework.views import Endpoint, body_params
from migrations_app.errors import InvalidInput
from migrations_app.queries.clusters.detail import cluster_head
from migrations_app.use_cases.clusters import eks_registration
from migrations_app.use_cases.clusters.credentials import replace_kubeconfig
from migrations_app.use_cases.clusters.eks_registration import AccessDraft, draft_access
from migrations_app.use_cases.clusters.identity import accept


class NewKubeconfigSerializer(StrictSerializer):
    """Stored encrypted and never shown again. `typed_name` is the cluster's name; it is needed if the kube-system
    namespace does not prove that it is the same cluster."""

    kubeconfig = Text(write_only=True, max_length=512 * 1024, trim_whitespace=False)
    context = Text(required=False, allow_blank=True, max_length=253, default="")  # type: ignore[assignment]  # the metaclass takes fields away before the name could clash
    typed_name = Text(required=False, allow_blank=True, max_length=200, default="", trim_whitespace=False)


class ClusterKubeconfigView(Endpoint):
    """The credentials of one cluster; they can be replaced, but not read."""

    needs = {"PUT": EndpointPermission("admin", "change_cluster")}
    operations = {
        "PUT": Operation("cluster_kubeconfig_set", body=NewKubeconfigSerializer, answer=ClusterDetailSerializer),
    }

    def put(self, request: Request, id: uuid.UUID) -> Response:  # noqa: A002 - the name in the address
        """Checks that the kubeconfig reaches the same cluster, then stores it. Plans of the cluster expire, and running
        rollouts pause."""
        head = cluster_head(id, now=timezone.now())
        etags.require_match(request, etags.of_version(head.version))
        body = body_params(request, NewKubeconfigSerializer)
        options = {"context": body["context"], "typed_name": body["typed_name"], "version": head.version}
        try:
            replace_kubeconfig(id, body["kubeconfig"].encode(), **options)
        except InvalidInput as error:
            raise _at_kubeconfig(error) from None
        return detail(cluster_head(id, now=timezone.now()))


def _at_kubeconfig(error: InvalidInput) -> InvalidInput:
    """Puts errors inside the kubeconfig at that field of the body, with the place inside the kubeconfig in the text."""
    if error.where in ("kubeconfig", "context", "typed_name"):
        return error
    return type(error)(str(error), code=error.code, where="kubeconfig")


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


class NewDraftSerializer(StrictSerializer):
    """The EKS cluster: either `arn`, or `name` and `region`."""

    arn = Text(required=False, max_length=300)
    name = Text(required=False, max_length=100)
    region = Text(required=False, max_length=40)


class DraftBodySerializer(serializers.Serializer[Any]):
    """Create a role with these two policies, then send `draft` back with its ARN. Nothing is stored until then.

    karpdash generates the external id; it cannot be chosen. `account` is empty if only name and region are known.
    """

    draft = OutputText(source="text")
    expires_at = serializers.DateTimeField()
    name = OutputText(source="place.cluster")
    region = OutputText(source="place.region")
    account = OutputText(source="place.account")
    external_id = OutputText()
    principal_arn = OutputText(source="principal")
    trust_policy = serializers.DictField(source="trust")
    permissions_policy = serializers.DictField(source="rights")


class NewAccessSerializer(StrictSerializer):
    """The role replaces the stored one, after a test that it can be assumed."""

    draft = Text(max_length=4000)
    role_arn = Text(max_length=640)


class EksDraftsView(Endpoint):
    """Drafts for clusters that are not registered yet."""

    needs = {"POST": EndpointPermission("admin", "add_cluster")}
    operations = {
        "POST": Operation("eks_drafts_create", body=NewDraftSerializer, answer=DraftBodySerializer),
    }

    @idempotent
    def post(self, request: Request) -> Response:
        """Generates an external id and the policies of the role to create; the first of two steps."""
        return Response(DraftBodySerializer(_draft_of(request)).data)


class ClusterDraftsView(Endpoint):
    """Drafts for one registered cluster."""

    needs = {"POST": EndpointPermission("admin", "change_cluster")}
    operations = {
        "POST": Operation("cluster_aws_drafts_create", body=NewDraftSerializer, answer=DraftBodySerializer),
    }

    @idempotent
    def post(self, request: Request, id: uuid.UUID) -> Response:  # noqa: A002 - the name in the address
        """As for a new cluster, for callers who may change this one."""
        cluster_head(id, now=timezone.now())
        return Response(DraftBodySerializer(_draft_of(request)).data)


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


def _draft_of(request: Request) -> AccessDraft:
    body = body_params(request, NewDraftSerializer)
    if ("arn" in body) == ("name" in body) or not body.get("arn", "arn:").startswith("arn:"):
        raise InvalidInput("either the ARN of an EKS cluster, or name and region, are needed", where="arn")
    try:
        arn_or_name = body.get("arn") or body["name"]
        return draft_access(arn_or_name, region=body.get("region", ""), by=request.user.get_username())
    except InvalidInput as error:
        where = "name" if error.where == "cluster" else error.where
        raise InvalidInput(error.message, code=error.code, where=where) from None

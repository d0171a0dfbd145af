"""Endpoints clusters/eks-drafts and clusters/{id}/aws/drafts: external ids, and the policies of roles to create."""

import uuid
from typing import Any

from django.utils import timezone
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from migrations_app.api.framework.fields import OutputText, StrictSerializer, Text
from migrations_app.api.framework.idempotency import idempotent
from migrations_app.api.framework.operations import Operation
from migrations_app.api.framework.permissions import EndpointPermission
from migrations_app.api.framework.views import Endpoint, body_params
from migrations_app.errors import InvalidInput
from migrations_app.queries.clusters.detail import cluster_head
from migrations_app.use_cases.clusters.eks_registration import AccessDraft, draft_access


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

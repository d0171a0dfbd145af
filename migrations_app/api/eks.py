"""The way into an AWS account: drafts with an external id, and what a registered cluster keeps of them."""

import uuid
from typing import Any

from django.utils import timezone
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from migrations_app.api import entity_tags
from migrations_app.api.clusters import ClusterDetail, detail
from migrations_app.api.described import described
from migrations_app.api.endpoint import Endpoint, given
from migrations_app.api.fields import Strict, Text, Told
from migrations_app.api.replayed import replayed
from migrations_app.api.rights import Need
from migrations_app.errors import BadInput
from migrations_app.flow import register_eks
from migrations_app.flow.draft_access import Draft, draft_access
from migrations_app.queries.cluster import cluster_head


class NewDraft(Strict):
    """The EKS cluster: either `arn`, or `name` and `region`."""

    arn = Text(required=False, max_length=300)
    name = Text(required=False, max_length=100)
    region = Text(required=False, max_length=40)


class DraftBody(serializers.Serializer[Any]):
    """Make a role with these two policies, then send `draft` back with its ARN. Nothing is stored until then.

    karpdash makes the external id; it cannot be chosen. `account` is empty where only name and region are known.
    """

    draft = Told(source="text")
    expires_at = serializers.DateTimeField()
    name = Told(source="place.cluster")
    region = Told(source="place.region")
    account = Told(source="place.account")
    external_id = Told()
    principal_arn = Told(source="principal")
    trust_policy = serializers.DictField(source="trust")
    permissions_policy = serializers.DictField(source="rights")


class NewAccess(Strict):
    """A proven role replaces the one that was kept before."""

    draft = Text(max_length=4000)
    role_arn = Text(max_length=640)


class EksDrafts(Endpoint):
    """Drafts for clusters that are still to be registered."""

    needs = {"POST": Need("admin", "add_cluster")}

    @described("POST", id="eks_drafts_create", tag="clusters", body=NewDraft, answers={200: DraftBody})
    @replayed
    def post(self, request: Request) -> Response:
        """An external id made for this cluster, and the policies of the role to make; the first of two steps."""
        return Response(DraftBody(_drafted(request)).data)


class ClusterDrafts(Endpoint):
    """Drafts for one registered cluster."""

    needs = {"POST": Need("admin", "change_cluster")}

    @described(
        "POST", id="cluster_aws_drafts_create", tag="clusters", named=True, body=NewDraft, answers={200: DraftBody}
    )
    @replayed
    def post(self, request: Request, id: uuid.UUID) -> Response:  # noqa: A002 - the name in the address
        """As for a new cluster, by who may change this one."""
        cluster_head(id, now=timezone.now())
        return Response(DraftBody(_drafted(request)).data)


class ClusterAws(Endpoint):
    """The way into the AWS account of one cluster; what is kept stands in the cluster itself."""

    needs = {"POST": Need("admin", "change_cluster"), "DELETE": Need("admin", "change_cluster")}

    @described("POST", id="cluster_aws_set", tag="clusters", named=True, body=NewAccess, answers={200: ClusterDetail})
    @replayed
    def post(self, request: Request, id: uuid.UUID) -> Response:  # noqa: A002 - the name in the address
        """Proves that the role opens with its external id and not without it, then keeps it."""
        said = given(request, NewAccess)
        cluster_head(id, now=timezone.now())
        register_eks.set_access(id, said["draft"], role_arn=said["role_arn"], by=request.user.get_username())
        return detail(cluster_head(id, now=timezone.now()))

    @described("DELETE", id="cluster_aws_remove", tag="clusters", named=True, answers={204: None})
    def delete(self, request: Request, id: uuid.UUID) -> Response:  # noqa: A002 - the name in the address
        """Forgets the role; the account is not looked at any more. Not for clusters registered by it."""
        head = cluster_head(id, now=timezone.now())
        entity_tags.require_match(request, entity_tags.of_version(head.version))
        register_eks.remove_access(id, version=head.version)
        return Response(status=204)


def _drafted(request: Request) -> Draft:
    said = given(request, NewDraft)
    if ("arn" in said) == ("name" in said) or not said.get("arn", "arn:").startswith("arn:"):
        raise BadInput("either the ARN of an EKS cluster, or name and region, are needed", where="arn")
    try:
        named = said.get("arn") or said["name"]
        return draft_access(named, region=said.get("region", ""), by=request.user.get_username())
    except BadInput as wrong:
        where = "name" if wrong.where == "cluster" else wrong.where
        raise BadInput(wrong.message, code=wrong.code, where=where) from None

"""Resource aws-organizations: find and register the EKS clusters of a whole AWS organization."""

import uuid
from functools import partial
from typing import Any

from django.db import transaction
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.reverse import reverse

from migrations_app.api.framework.fields import OutputText, PagedSerializer, StrictSerializer, Text
from migrations_app.api.framework.idempotency import idempotent
from migrations_app.api.framework.operations import Operation, page_of
from migrations_app.api.framework.permissions import EndpointPermission
from migrations_app.api.framework.views import Endpoint, body_params, cursor_of, page_answer, query_params
from migrations_app.errors import InvalidInput
from migrations_app.queries.organizations import organization_cluster_page, organization_detail, organization_page
from migrations_app.tasks import enqueue_listing, enqueue_scan
from migrations_app.use_cases.clusters.registration import Details
from migrations_app.use_cases.organizations.clusters import MAX_CLUSTERS_PER_REQUEST, register_listed
from migrations_app.use_cases.organizations.queue import request_listing
from migrations_app.use_cases.organizations.registration import (
    HUB_ROLE,
    MAX_REGIONS,
    MEMBER_ROLE,
    NewOrganization,
    register_organization,
    remove_organization,
    require_organization,
)
from migrations_app.use_cases.organizations.role_templates import cloudformation_template, terraform_document
from migrations_app.use_cases.scans.queue import request_scan

REGISTER = EndpointPermission("admin", "add_cluster")


class NewOrganizationSerializer(StrictSerializer):
    """`account` is the account of the hub role: the management account, or a delegated administrator."""

    name = Text(max_length=120)
    account = Text(max_length=12)
    regions = serializers.ListField(child=Text(max_length=40), min_length=1, max_length=MAX_REGIONS)
    hub_role = Text(required=False, max_length=64, default=HUB_ROLE)
    member_role = Text(required=False, max_length=64, default=MEMBER_ROLE)


class RemovedOrganizationSerializer(StrictSerializer):
    """The name confirms the removal."""

    name = Text(max_length=120, trim_whitespace=False)


class OrganizationShownSerializer(serializers.Serializer[Any]):
    """`looking`: a discovery is queued or in progress. With `error_code` the newest discovery failed, and the list is
    from `listed_at`.
    """

    id = serializers.UUIDField()
    name = OutputText()
    hub_role_arn = OutputText()
    member_role = OutputText()
    regions = serializers.ListField(child=OutputText())
    external_id = OutputText()
    looking = serializers.BooleanField()
    tried_at = serializers.DateTimeField(allow_null=True)
    listed_at = serializers.DateTimeField(allow_null=True)
    error_code = OutputText()
    error = OutputText()
    clusters = serializers.IntegerField(help_text="How many registered clusters belong to it.")


class ListedRegionSerializer(serializers.Serializer[Any]):
    """A region. With a `code` it was not read: nothing is known about its clusters."""

    region = OutputText()
    code = OutputText()
    error = OutputText()


class ListedAccountSerializer(serializers.Serializer[Any]):
    """An account. With a `code` none of its regions was read."""

    id = OutputText()
    name = OutputText()
    code = OutputText()
    error = OutputText()
    regions = ListedRegionSerializer(many=True)


class OrganizationDriftSerializer(serializers.Serializer[Any]):
    """The list compared with the registered clusters. `unread` are registered clusters about which nothing is known
    now.
    """

    new = serializers.IntegerField()
    gone = serializers.ListField(child=OutputText())
    unread = serializers.ListField(child=OutputText())


class OrganizationWholeSerializer(OrganizationShownSerializer):
    """Deploy `cloudformation`, or apply `terraform`, in the account of the hub role; then discover the clusters."""

    accounts = ListedAccountSerializer(many=True)
    drift = OrganizationDriftSerializer()
    cloudformation = serializers.DictField()
    terraform = serializers.DictField()


class OrganizationClusterSerializer(serializers.Serializer[Any]):
    """A cluster that AWS listed. `cluster_id` is null until it is registered; with a `code` it cannot be registered."""

    arn = OutputText(source="listed.arn")
    name = OutputText(source="listed.name")
    region = OutputText(source="listed.region")
    account = OutputText(source="listed.account")
    account_name = OutputText()
    code = OutputText(source="listed.code")
    error = OutputText(source="listed.error")
    cluster_id = serializers.UUIDField(allow_null=True)
    suggested = OutputText(help_text="A free name to register it under.")


class ChosenClusterSerializer(StrictSerializer):
    """A cluster of the list, with the name to register it under."""

    arn = Text(max_length=300)
    name = Text(max_length=120)


class ChosenClustersSerializer(StrictSerializer):
    """Clusters to register. Environment and target apply to all of them."""

    clusters = serializers.ListField(child=ChosenClusterSerializer(), min_length=1, max_length=MAX_CLUSTERS_PER_REQUEST)
    environment = Text(required=False, allow_blank=True, max_length=40, default="")
    target = Text(required=False, allow_blank=True, max_length=20, default="", help_text="A release, minor or hop.")


class ChosenClusterAnswerSerializer(serializers.Serializer[Any]):
    """A registered cluster with its first scan."""

    arn = OutputText()
    id = serializers.UUIDField()
    scan = serializers.UUIDField()


class ChosenClustersAnswerSerializer(serializers.Serializer[Any]):
    """The registered clusters, in the order of the request."""

    clusters = ChosenClusterAnswerSerializer(many=True)


class OrganizationsView(Endpoint):
    """AWS organizations."""

    needs = {"GET": REGISTER, "POST": REGISTER}
    operations = {
        "GET": Operation(
            "aws_organizations_list",
            query=PagedSerializer,
            answer=page_of("Organization", OrganizationShownSerializer),
        ),
        "POST": Operation(
            "aws_organizations_create", body=NewOrganizationSerializer, answer=OrganizationWholeSerializer, status=201
        ),
    }

    def get(self, request: Request) -> Response:
        """Organizations by name."""
        query = query_params(request, PagedSerializer)
        page = organization_page(after=cursor_of(request, query), limit=query["limit"])
        return page_answer(request, page, shape=OrganizationShownSerializer)

    @idempotent
    def post(self, request: Request) -> Response:
        """Generates an external id, and the templates of the roles that trust it. Nothing in AWS is read or changed."""
        body = body_params(request, NewOrganizationSerializer)
        organization_id = register_organization(NewOrganization(**body, by=request.user.get_username()))
        answer = _organization_answer(organization_id, status=201)
        answer["Location"] = reverse("api-aws-organization", kwargs={"id": organization_id}, request=request)
        return answer


class OrganizationView(Endpoint):
    """One AWS organization."""

    needs = {"GET": REGISTER, "DELETE": REGISTER}
    operations = {
        "GET": Operation("aws_organizations_read", answer=OrganizationWholeSerializer),
        "DELETE": Operation("aws_organizations_remove", query=RemovedOrganizationSerializer),
    }

    def get(self, request: Request, id: uuid.UUID) -> Response:  # noqa: A002 - the name in the address
        """The organization with its roles, its accounts, and what changed since its clusters were registered."""
        query_params(request, StrictSerializer)
        return _organization_answer(id)

    def delete(self, request: Request, id: uuid.UUID) -> Response:  # noqa: A002 - the name in the address
        """Removes an organization without registered clusters. The roles in AWS stay."""
        remove_organization(id, typed_name=query_params(request, RemovedOrganizationSerializer)["name"])
        return Response(status=204)


class OrganizationListingView(Endpoint):
    """Discovery of an AWS organization."""

    needs = {"POST": REGISTER}
    operations = {"POST": Operation("aws_organizations_look", answer=OrganizationWholeSerializer, status=202)}

    @idempotent
    def post(self, request: Request, id: uuid.UUID) -> Response:  # noqa: A002 - the name in the address
        """Queues a discovery: a worker lists the accounts and clusters again. `looking` is false once it has ended."""
        request_listing(id, by=request.user.get_username())
        transaction.on_commit(partial(enqueue_listing, id))
        return _organization_answer(id, status=202)


class OrganizationClustersView(Endpoint):
    """The clusters that the newest discovery found."""

    needs = {"GET": REGISTER, "POST": REGISTER}
    operations = {
        "GET": Operation(
            "aws_organizations_clusters_list",
            query=PagedSerializer,
            answer=page_of("OrganizationCluster", OrganizationClusterSerializer),
        ),
        "POST": Operation(
            "aws_organizations_clusters_register",
            body=ChosenClustersSerializer,
            answer=ChosenClustersAnswerSerializer,
            status=201,
        ),
    }

    def get(self, request: Request, id: uuid.UUID) -> Response:  # noqa: A002 - the name in the address
        """All clusters of the list by ARN, registered or not."""
        query = query_params(request, PagedSerializer)
        page = organization_cluster_page(id, after=cursor_of(request, query), limit=query["limit"])
        return page_answer(request, page, shape=OrganizationClusterSerializer)

    @idempotent
    def post(self, request: Request, id: uuid.UUID) -> Response:  # noqa: A002 - the name in the address
        """Registers the clusters and queues their first scans; if one of them cannot be registered, none is."""
        body = body_params(request, ChosenClustersSerializer)
        names = {cluster["arn"]: cluster["name"] for cluster in body["clusters"]}
        if len(names) < len(body["clusters"]):
            raise InvalidInput("a cluster is named twice", where="clusters")
        by = request.user.get_username()
        details = Details(name="", environment=body["environment"], target=body["target"], by=by)
        with transaction.atomic():
            cluster_ids = register_listed(id, names, details=details)
            scans = {arn: request_scan(cluster_ids[arn], by=by, waits=True).scan_id for arn in names}
        for scan_id in scans.values():
            transaction.on_commit(partial(enqueue_scan, scan_id))
        rows = [{"arn": arn, "id": cluster_ids[arn], "scan": scans[arn]} for arn in names]
        return Response(ChosenClustersAnswerSerializer({"clusters": rows}).data, status=201)


def _organization_answer(organization_id: uuid.UUID, *, status: int = 200) -> Response:
    detail = organization_detail(organization_id)
    row = require_organization(organization_id)
    values = OrganizationShownSerializer(detail.row).data | {
        "accounts": ListedAccountSerializer(detail.accounts, many=True).data,
        "drift": {"new": len(detail.drift.new), "gone": list(detail.drift.gone), "unread": list(detail.drift.unread)},
        "cloudformation": cloudformation_template(row),
        "terraform": terraform_document(row),
    }
    return Response(values, status=status)

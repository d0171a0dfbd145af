"""Resource clusters: list, register, read, change, remove."""

import uuid
from functools import partial
from typing import Any

from django.db import transaction
from django.utils import timezone
from rest_framework import serializers
from rest_framework.parsers import MultiPartParser
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.reverse import reverse

from migrations_app.api.framework import etags
from migrations_app.api.framework.answers import StructSerializer
from migrations_app.api.framework.fields import (
    CheckId,
    HopName,
    OutputText,
    PagedSerializer,
    StrictInteger,
    StrictJsonParser,
    StrictSerializer,
    Text,
)
from migrations_app.api.framework.idempotency import idempotent
from migrations_app.api.framework.operations import Operation, page_of
from migrations_app.api.framework.permissions import READ, EndpointPermission
from migrations_app.api.framework.views import MIB, Endpoint, body_params, cursor_of, page_answer, query_params
from migrations_app.errors import InvalidInput
from migrations_app.queries.clusters.detail import ClusterHead, SnapshotRow, cluster_head
from migrations_app.queries.fleet.clusters import BUCKETS, STAGES, FleetFilters, FleetRow, fleet_page
from migrations_app.queries.fleet.labels import Label
from migrations_app.queries.pagination import Page
from migrations_app.readiness.evaluate import LEFT_BEHIND_HOP
from migrations_app.tasks import enqueue_scan
from migrations_app.use_cases.agents.tokens import register_agent
from migrations_app.use_cases.clusters import eks_registration, registration
from migrations_app.use_cases.clusters.registration import Details
from migrations_app.use_cases.scans.queue import request_scan

LARGEST_BUNDLE = 64 * MIB
_SORTS = {
    "name": "name", "stage": "stage", "next_hop": "hop", "blockers": "blockers", "legacy_left": "legacy",
    "scanned_at": "scanned",
}  # fmt: skip
"""Sort keys of the fleet list by the name of the field that they sort by."""
ORDERINGS = {f"{turn}{name}": (sort, bool(turn)) for turn in ("", "-") for name, sort in _SORTS.items()}
"""Sort key of each value of `ordering`, and whether it is descending."""
LABELS = r"^[a-z0-9][a-z0-9._/-]{0,62}:[^,]{0,120}(,[a-z0-9][a-z0-9._/-]{0,62}:[^,]{0,120}){0,7}$"
"""Key and value of at most eight labels."""


class LabelShownSerializer(StructSerializer):
    """A label; `derived`: its value comes from the cluster's ARN and cannot be set."""

    struct = Label


class ClusterRowSerializer(StructSerializer):
    """One cluster in a list. `bucket` says what it waits for; `active` is the state of a scan under way, or empty."""

    struct = FleetRow
    leave_out = ("part",)


class SnapshotSummarySerializer(StructSerializer):
    """The numbers of a snapshot; the full snapshot is at snapshots/{id}."""

    struct = SnapshotRow
    leave_out = ("digest",)


class RegistrationSerializer(serializers.Serializer[Any]):
    """Another registration of the same cluster; rollouts of both share one lock."""

    id = serializers.UUIDField()
    name = OutputText()
    same_ca = serializers.BooleanField(help_text="False: it is reached through another CA.")


class SameAddressSerializer(serializers.Serializer[Any]):
    """Another registration with the same address of the API server."""

    id = serializers.UUIDField()
    name = OutputText()


class IdentitySerializer(serializers.Serializer[Any]):
    """Which cluster it is, by the uid of its namespace kube-system and its CA.

    `state`: `none` (no API server), `unknown` (never read), `known`, `unproven` (known, but the newest scan could not
    read it; `error` says why), `other` (another cluster answers; nothing of it is stored).
    """

    state = OutputText()
    kube_system_uid = OutputText()
    ca_digest = OutputText(help_text="SHA-256 of the CA.")
    error = OutputText()
    other_uid = OutputText(help_text="The uid of another cluster that answered in its place.")
    other_ca_digest = OutputText()
    since = serializers.DateTimeField(
        allow_null=True, help_text="When another cluster was accepted as this one; older snapshots show the former one."
    )
    registrations = RegistrationSerializer(many=True)
    hidden = serializers.IntegerField(help_text="Registrations of the same cluster that you may not see.")
    same_address = SameAddressSerializer(
        many=True,
        help_text="Registrations with the same address, while it is not known whether they are the same cluster.",
    )
    same_address_hidden = serializers.IntegerField(help_text="Those with the same address that you may not see.")


class ClusterDetailSerializer(StructSerializer):
    """A registered cluster; its credentials are never returned. The ETag changes with the registration."""

    struct = ClusterHead
    leave_out = (
        "is_latest",
        "active",
    )

    unreachable = serializers.BooleanField()
    identity = IdentitySerializer()
    scan_under_way = serializers.UUIDField(source="active.id", allow_null=True, default=None)


def labels_field() -> serializers.RegexField:
    """Returns the query field that filters by labels."""
    description = "Such as team:shop; several with commas between them must all fit."
    return serializers.RegexField(LABELS, required=False, max_length=1000, help_text=description)


class NarrowedSerializer(StrictSerializer):
    """Filters of the fleet, for lists and numbers."""

    environment = serializers.CharField(required=False, max_length=40)
    group = serializers.UUIDField(required=False)
    label = labels_field()  # type: ignore[assignment]  # the metaclass takes fields away before the name could clash
    check = CheckId(help_text="Clusters in which this check fails and is not waived.")
    hop = HopName(
        more=(LEFT_BEHIND_HOP, "next"),
        help_text="With `check`: fails at this hop; `next`: at the next hop of the cluster.",
    )


class ClusterQuerySerializer(NarrowedSerializer, PagedSerializer):
    q = serializers.CharField(required=False, max_length=200, help_text="Words in name, environment, server, release.")
    stage = serializers.ChoiceField(required=False, choices=STAGES)
    bucket = serializers.ChoiceField(required=False, choices=BUCKETS, help_text="What the cluster waits for.")
    ordering = serializers.ChoiceField(
        required=False, choices=tuple(ORDERINGS), help_text="A minus reverses the order. The default is by name."
    )
    total = serializers.ChoiceField(
        required=False,
        choices=("true", "false"),
        help_text="Whether to return the number of all matching clusters, as `total`.",
    )


class NewClusterSerializer(StrictSerializer):
    """Credentials are stored encrypted and never shown again. A bundle is uploaded as a form.

    An EKS cluster is named by a draft of `clusters/eks-drafts`; the role is tested before anything is stored. The token
    of an agent is made at `clusters/{id}/agent`, and the first scan waits for the agent.
    """

    name = Text(max_length=120)
    source = serializers.ChoiceField(choices=("kubeconfig", "in_cluster", "eks", "agent"), default="kubeconfig")  # type: ignore[assignment]  # the metaclass takes fields away before the name could clash
    kubeconfig = Text(required=False, write_only=True, max_length=512 * 1024, trim_whitespace=False)
    context = Text(required=False, allow_blank=True, max_length=253, default="")  # type: ignore[assignment]  # the metaclass takes fields away before the name could clash
    draft = Text(required=False, write_only=True, max_length=4000, help_text="For the source eks.")
    role_arn = Text(required=False, write_only=True, max_length=640, help_text="For the source eks.")
    environment = Text(required=False, allow_blank=True, max_length=40, default="")
    target = Text(required=False, allow_blank=True, max_length=20, default="", help_text="A release, minor or hop.")


class NewBundleSerializer(StrictSerializer):
    """An upload: a dump of objects as YAML, JSON or .tar.gz."""

    name = serializers.CharField(max_length=120)
    bundle = serializers.FileField(write_only=True)
    environment = serializers.CharField(required=False, allow_blank=True, max_length=40, default="")
    target = serializers.CharField(required=False, allow_blank=True, max_length=20, default="")


class ClusterChangeSerializer(StrictSerializer):
    """Fields that are left out are unchanged."""

    name = Text(required=False, max_length=120)
    environment = Text(required=False, allow_blank=True, max_length=40)
    target = Text(required=False, allow_blank=True, max_length=20)
    interval_seconds = StrictInteger(required=False, allow_null=True, min_value=60, max_value=604_800)


class ClustersView(Endpoint):
    """All registered clusters."""

    needs = {"GET": READ, "POST": EndpointPermission("admin", "add_cluster")}
    operations = {
        "GET": Operation(
            id="clusters_list",
            query=ClusterQuerySerializer,
            answer=page_of("Cluster", ClusterRowSerializer, counted=True),
        ),
        "POST": Operation(
            id="clusters_create",
            body={"application/json": NewClusterSerializer, "multipart/form-data": NewBundleSerializer},
            answer=ClusterDetailSerializer,
            status=201,
        ),
    }
    parser_classes = [StrictJsonParser, MultiPartParser]
    upload_limit = LARGEST_BUNDLE

    def get(self, request: Request) -> Response:
        """Clusters, each with the numbers of its latest snapshot."""
        query = query_params(request, ClusterQuerySerializer)
        filters = {name: query.get(name, "") for name in ("q", "stage", "bucket")}
        sort, descending = ORDERINGS[query.get("ordering", "name")]
        wanted = FleetFilters(
            flat=True,
            cursor=cursor_of(request, query),
            sort=sort,
            descending=descending,
            **filters | fleet_filters(query),
        )
        page = fleet_page(wanted, now=timezone.now(), limit=query["limit"])
        total = page.matching if query.get("total") == "true" else None
        return page_answer(request, Page(page.rows, page.next_cursor), shape=ClusterRowSerializer, total=total)

    @idempotent
    def post(self, request: Request) -> Response:
        """Registers a cluster and queues its first scan. With an agent, the first scan waits for the agent."""
        cluster_id = _register(request)
        head = cluster_head(cluster_id, now=timezone.now())
        if head.source != "agent":
            scan = request_scan(cluster_id, by=request.user.get_username(), waits=True)
            transaction.on_commit(partial(enqueue_scan, scan.scan_id))
        answer = detail(cluster_head(cluster_id, now=timezone.now()))
        answer.status_code = 201
        answer["Location"] = reverse("api-cluster", kwargs={"id": cluster_id}, request=request)
        return answer


class ClusterView(Endpoint):
    """One registered cluster."""

    needs = {
        "GET": READ,
        "PATCH": EndpointPermission("admin", "change_cluster"),
        "DELETE": EndpointPermission("admin", "delete_cluster"),
    }
    operations = {
        "GET": Operation("clusters_read", answer=ClusterDetailSerializer),
        "PATCH": Operation("clusters_change", body=ClusterChangeSerializer, answer=ClusterDetailSerializer),
        "DELETE": Operation("clusters_remove"),
    }

    def get(self, request: Request, id: uuid.UUID) -> Response:  # noqa: A002 - the name in the address
        """The cluster, with the numbers of its latest snapshot."""
        query_params(request, StrictSerializer)
        return detail(cluster_head(id, now=timezone.now()))

    def patch(self, request: Request, id: uuid.UUID) -> Response:  # noqa: A002 - the name in the address
        """Changes name, environment or target, unless the cluster was changed meanwhile."""
        head = cluster_head(id, now=timezone.now())
        etags.require_match(request, etags.of_version(head.version))
        values = {"name": head.name, "environment": head.environment, "target": head.target}
        changes = body_params(request, ClusterChangeSerializer, partial=True)
        interval = changes.pop("interval_seconds", head.interval_seconds)
        details = Details(**(values | changes), interval=interval, by=request.user.get_username())
        registration.change(id, details, version=head.version)
        return detail(cluster_head(id, now=timezone.now()))

    def delete(self, request: Request, id: uuid.UUID) -> Response:  # noqa: A002 - the name in the address
        """Removes the registration with its credentials and snapshots. The cluster itself is not changed."""
        head = cluster_head(id, now=timezone.now())
        etags.require_match(request, etags.of_version(head.version))
        registration.remove(id, typed_name=head.name)
        return Response(status=204)


def fleet_filters(query: dict[str, Any]) -> dict[str, Any]:
    """Returns the fields of FleetFilters that the query sets."""
    texts = {name: query.get(name, "") for name in ("environment", "check", "hop")}
    return texts | {"group": query.get("group"), "labels": tuple(filter(None, query.get("label", "").split(",")))}


def detail(head: ClusterHead) -> Response:
    """Returns the cluster with its ETag."""
    answer = Response(ClusterDetailSerializer(head).data)
    answer["ETag"] = etags.of_version(head.version)
    return answer


def _register(request: Request) -> uuid.UUID:
    if request.FILES or (request.content_type or "").startswith("multipart/"):
        body = body_params(request, NewBundleSerializer)
        return registration.register_bundle(body["bundle"].read(), _details(request, body))
    body = body_params(request, NewClusterSerializer)
    if body["source"] == "eks":
        return _register_eks(request, body)
    if "draft" in body or "role_arn" in body:
        raise InvalidInput("access to AWS is set for a registered cluster, at clusters/{id}/aws", where="draft")
    if body["source"] == "in_cluster":
        return registration.register_in_cluster(_details(request, body))
    if body["source"] == "agent":
        return register_agent(_details(request, body)).cluster
    if "kubeconfig" not in body:
        raise InvalidInput("a kubeconfig is needed for this source", where="kubeconfig")
    try:
        return registration.register_kubeconfig(
            body["kubeconfig"].encode(), _details(request, body), context=body["context"]
        )
    except InvalidInput as error:
        raise _at_kubeconfig(error, body) from None


def _register_eks(request: Request, body: dict[str, Any]) -> uuid.UUID:
    for name in ("draft", "role_arn"):
        if name not in body:
            raise InvalidInput("this source needs a draft, and the role that was created with it", where=name)
    return eks_registration.register_eks(body["draft"], _details(request, body), role_arn=body["role_arn"])


def _details(request: Request, body: dict[str, Any]) -> Details:
    by = request.user.get_username()
    return Details(name=body["name"], environment=body["environment"], target=body["target"], by=by)


def _at_kubeconfig(error: InvalidInput, body: dict[str, Any]) -> InvalidInput:
    """Returns an error inside the kubeconfig as an error of the field `kubeconfig`; its text names the place."""
    if error.where in body:
        return error
    return type(error)(str(error), code=error.code, where="kubeconfig")

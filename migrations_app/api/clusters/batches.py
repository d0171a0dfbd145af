"""Endpoints clusters/batch, clusters/batch-labels and clusters/batch-removal: change several clusters at once, or
none of them.
"""

import uuid
from functools import partial
from typing import Any

from django.db import transaction
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from migrations_app.api.clusters.labels import LabelsWantedSerializer
from migrations_app.api.framework.fields import OutputText, StrictSerializer, Text
from migrations_app.api.framework.idempotency import idempotent
from migrations_app.api.framework.operations import Operation
from migrations_app.api.framework.permissions import EndpointPermission
from migrations_app.api.framework.views import Endpoint, body_params
from migrations_app.errors import InvalidInput
from migrations_app.tasks import enqueue_scan
from migrations_app.use_cases.clusters.batches import NewCluster, label_each, register_all, remove_all
from migrations_app.use_cases.clusters.registration import Details
from migrations_app.use_cases.scans.queue import request_scan

MAX_NEW, MAX_CLUSTERS = 50, 500


class BatchMemberSerializer(StrictSerializer):
    """A cluster to register: by its kubeconfig, or, with the source in_cluster, the one that karpdash runs in."""

    name = Text(max_length=120)
    source = serializers.ChoiceField(choices=("kubeconfig", "in_cluster"), default="kubeconfig")  # type: ignore[assignment]  # the metaclass takes fields away before the name could clash
    kubeconfig = Text(required=False, write_only=True, max_length=512 * 1024, trim_whitespace=False)
    context = Text(required=False, allow_blank=True, max_length=253, default="")  # type: ignore[assignment]  # the metaclass takes fields away before the name could clash
    environment = Text(required=False, allow_blank=True, max_length=40, default="")
    target = Text(required=False, allow_blank=True, max_length=20, default="", help_text="A release, minor or hop.")


class NewClustersSerializer(StrictSerializer):
    """At most 50 clusters, together at most 1 MiB."""

    clusters = serializers.ListField(child=BatchMemberSerializer(), min_length=1, max_length=MAX_NEW)


class RegisteredSerializer(serializers.Serializer[Any]):
    """A registered cluster with its first scan."""

    id = serializers.UUIDField()
    name = OutputText()
    scan = serializers.UUIDField()


class RegisteredAllSerializer(serializers.Serializer[Any]):
    """The registered clusters, in the order of the request."""

    clusters = RegisteredSerializer(many=True)


class BatchLabelsSerializer(LabelsWantedSerializer):
    """Clusters by id, and values by key; null or an empty text removes a label, other labels are unchanged."""

    clusters = serializers.ListField(child=serializers.UUIDField(), min_length=1, max_length=MAX_CLUSTERS)


class RemovedSerializer(StrictSerializer):
    """The name confirms the removal."""

    id = serializers.UUIDField()
    name = Text(max_length=120)


class RemovalSerializer(StrictSerializer):
    """Clusters by id and name."""

    clusters = serializers.ListField(child=RemovedSerializer(), min_length=1, max_length=MAX_CLUSTERS)


class ClusterBatchView(Endpoint):
    """Registration of several clusters."""

    needs = {"POST": EndpointPermission("admin", "add_cluster")}
    operations = {
        "POST": Operation(
            "clusters_create_many", body=NewClustersSerializer, answer=RegisteredAllSerializer, status=201
        )
    }

    @idempotent
    def post(self, request: Request) -> Response:
        """Registers every cluster and queues its first scan; if one of them cannot be registered, none is."""
        entries = body_params(request, NewClustersSerializer)["clusters"]
        by = request.user.get_username()
        with transaction.atomic():
            cluster_ids = register_all([_new_cluster(entry, place, by=by) for place, entry in enumerate(entries)])
            scans = [request_scan(cluster_id, by=by, waits=True).scan_id for cluster_id in cluster_ids]
        for scan_id in scans:
            transaction.on_commit(partial(enqueue_scan, scan_id))
        rows = [
            {"id": cluster_id, "name": entry["name"], "scan": scan_id}
            for cluster_id, entry, scan_id in zip(cluster_ids, entries, scans, strict=True)
        ]
        return Response(RegisteredAllSerializer({"clusters": rows}).data, status=201)


class ClusterBatchLabelsView(Endpoint):
    """Labels of several clusters."""

    needs = {"POST": EndpointPermission("admin", "change_cluster")}
    operations = {"POST": Operation("clusters_label_many", body=BatchLabelsSerializer)}

    @idempotent
    def post(self, request: Request) -> Response:
        """Sets the labels of every cluster; if a label is refused, or a cluster may not be changed, no cluster is
        changed.
        """
        body = body_params(request, BatchLabelsSerializer)
        label_each(body["clusters"], body["labels"])
        return Response(status=204)


class ClusterBatchRemovalView(Endpoint):
    """Removal of several clusters."""

    needs = {"POST": EndpointPermission("admin", "delete_cluster")}
    operations = {"POST": Operation("clusters_remove_many", body=RemovalSerializer)}

    @idempotent
    def post(self, request: Request) -> Response:
        """Removes every registration with its credentials and snapshots, or none. The clusters themselves are not
        changed.
        """
        entries = body_params(request, RemovalSerializer)["clusters"]
        names: dict[uuid.UUID, str] = {entry["id"]: entry["name"] for entry in entries}
        if len(names) < len(entries):
            raise InvalidInput("a cluster is named twice", where="clusters")
        remove_all(names)
        return Response(status=204)


def _new_cluster(entry: dict[str, Any], place: int, *, by: str) -> NewCluster:
    details = Details(name=entry["name"], environment=entry["environment"], target=entry["target"], by=by)
    if entry["source"] == "in_cluster":
        return NewCluster(details=details)
    if "kubeconfig" not in entry:
        raise InvalidInput(f"clusters[{place}]: a kubeconfig is needed for this source", where="clusters")
    return NewCluster(details=details, kubeconfig=entry["kubeconfig"].encode(), context=entry["context"])

"""clusters/{id}/labels: what is said of a cluster, and what its ARN tells."""

import uuid
from typing import Any

from django.utils import timezone
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from migrations_app.api import entity_tags
from migrations_app.api.clusters import LabelShown
from migrations_app.api.described import described
from migrations_app.api.endpoint import Endpoint, asked, given
from migrations_app.api.fields import Strict, Text, Told
from migrations_app.api.rights import READ, Need
from migrations_app.flow.label import LONGEST_VALUE, MOST, set_labels
from migrations_app.queries.cluster import cluster_head
from migrations_app.queries.labels import labels_of


class LabelsShown(serializers.Serializer[Any]):
    """Every label of a cluster, by key. The ETag is that of the cluster."""

    cluster = serializers.UUIDField()
    name = Told()
    labels = LabelShown(many=True)


class LabelsWanted(Strict):
    """Values by key; null or an empty text takes a label away, what is not named stays."""

    labels = serializers.DictField(child=Text(max_length=LONGEST_VALUE, allow_blank=True, allow_null=True))

    def validate_labels(self, said: dict[str, str | None]) -> dict[str, str]:
        """With empty texts for nulls."""
        if not 1 <= len(said) <= MOST:
            raise serializers.ValidationError(f"1 to {MOST} labels are set at once.")
        return {key: value or "" for key, value in said.items()}


class ClusterLabels(Endpoint):
    """The labels of one cluster."""

    needs = {"GET": READ, "PATCH": Need("admin", "change_cluster")}

    @described("GET", id="labels_read", tag="clusters", named=True, answers={200: LabelsShown})
    def get(self, request: Request, id: uuid.UUID) -> Response:  # noqa: A002 - the name in the address
        """Labels with their values; `environment` is the cluster's own field."""
        asked(request, Strict)
        return _shown(id)

    @described("PATCH", id="labels_change", tag="clusters", named=True, body=LabelsWanted, answers={200: LabelsShown})
    def patch(self, request: Request, id: uuid.UUID) -> Response:  # noqa: A002 - the name in the address
        """Sets and takes away labels, if nobody else changed the cluster meanwhile."""
        head = cluster_head(id, now=timezone.now())
        entity_tags.require_match(request, entity_tags.of_version(head.version))
        set_labels(id, given(request, LabelsWanted)["labels"], version=head.version)
        return _shown(id)


def _shown(cluster_id: uuid.UUID) -> Response:
    head = cluster_head(cluster_id, now=timezone.now())
    told = {"cluster": head.id, "name": head.name, "labels": labels_of(cluster_id)}
    answer = Response(LabelsShown(told).data)
    answer["ETag"] = entity_tags.of_version(head.version)
    return answer

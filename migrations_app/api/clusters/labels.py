"""Endpoint clusters/{id}/labels: the labels that people set, and those derived from the cluster's ARN."""

import uuid
from typing import Any

from django.utils import timezone
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from migrations_app.api.clusters.views import LabelShownSerializer
from migrations_app.api.framework import etags
from migrations_app.api.framework.fields import OutputText, StrictSerializer, Text
from migrations_app.api.framework.operations import Operation
from migrations_app.api.framework.permissions import READ, EndpointPermission
from migrations_app.api.framework.views import Endpoint, body_params, query_params
from migrations_app.queries.clusters.detail import cluster_head
from migrations_app.queries.fleet.labels import labels_of
from migrations_app.use_cases.clusters.labels import LONGEST_VALUE, MAX_LABELS, set_labels


class LabelsShownSerializer(serializers.Serializer[Any]):
    """Every label of a cluster, by key. The ETag is that of the cluster."""

    cluster = serializers.UUIDField()
    name = OutputText()
    labels = LabelShownSerializer(many=True)


class LabelsWantedSerializer(StrictSerializer):
    """Values by key; null or an empty text removes a label, other labels are unchanged."""

    labels = serializers.DictField(child=Text(max_length=LONGEST_VALUE, allow_blank=True, allow_null=True))

    def validate_labels(self, labels: dict[str, str | None]) -> dict[str, str]:
        """Returns the labels with empty texts for nulls."""
        if not 1 <= len(labels) <= MAX_LABELS:
            raise serializers.ValidationError(f"1 to {MAX_LABELS} labels are set at once.")
        return {key: value or "" for key, value in labels.items()}


class ClusterLabelsView(Endpoint):
    """The labels of one cluster."""

    needs = {"GET": READ, "PATCH": EndpointPermission("admin", "change_cluster")}
    operations = {
        "GET": Operation("labels_read", answer=LabelsShownSerializer),
        "PATCH": Operation("labels_change", body=LabelsWantedSerializer, answer=LabelsShownSerializer),
    }

    def get(self, request: Request, id: uuid.UUID) -> Response:  # noqa: A002 - the name in the address
        """The labels with their values. `environment` is a field of the cluster, not a label."""
        query_params(request, StrictSerializer)
        return _labels_answer(id)

    def patch(self, request: Request, id: uuid.UUID) -> Response:  # noqa: A002 - the name in the address
        """Sets and removes labels, unless the cluster was changed meanwhile."""
        head = cluster_head(id, now=timezone.now())
        etags.require_match(request, etags.of_version(head.version))
        set_labels(id, body_params(request, LabelsWantedSerializer)["labels"], version=head.version)
        return _labels_answer(id)


def _labels_answer(cluster_id: uuid.UUID) -> Response:
    head = cluster_head(cluster_id, now=timezone.now())
    body = {"cluster": head.id, "name": head.name, "labels": labels_of(cluster_id)}
    answer = Response(LabelsShownSerializer(body).data)
    answer["ETag"] = etags.of_version(head.version)
    return answer

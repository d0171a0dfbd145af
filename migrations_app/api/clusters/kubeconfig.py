"""Endpoint clusters/{id}/kubeconfig: replaces the stored kubeconfig."""

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
from migrations_app.errors import InvalidInput
from migrations_app.queries.clusters.detail import cluster_head
from migrations_app.use_cases.clusters.credentials import replace_kubeconfig


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

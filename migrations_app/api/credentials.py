"""clusters/{id}/kubeconfig: another one in the place of the one that is kept."""

import uuid

from django.utils import timezone
from rest_framework.request import Request
from rest_framework.response import Response

from migrations_app.api import entity_tags
from migrations_app.api.clusters import ClusterDetail, detail
from migrations_app.api.described import described
from migrations_app.api.endpoint import Endpoint, given
from migrations_app.api.fields import Strict, Text
from migrations_app.api.rights import Need
from migrations_app.errors import BadInput
from migrations_app.flow.replace_credentials import replace_kubeconfig
from migrations_app.queries.cluster import cluster_head


class NewKubeconfig(Strict):
    """Stored encrypted and never shown again. `typed_name` is the cluster's name, asked for where its kube-system
    namespace does not prove that it is the same cluster."""

    kubeconfig = Text(write_only=True, max_length=512 * 1024, trim_whitespace=False)
    context = Text(required=False, allow_blank=True, max_length=253, default="")  # type: ignore[assignment]  # the metaclass takes fields away before the name could clash
    typed_name = Text(required=False, allow_blank=True, max_length=200, default="", trim_whitespace=False)


class ClusterKubeconfig(Endpoint):
    """The credentials of one cluster; they are never read back."""

    needs = {"PUT": Need("admin", "change_cluster")}

    @described(
        "PUT", id="cluster_kubeconfig_set", tag="clusters", named=True, body=NewKubeconfig, answers={200: ClusterDetail}
    )
    def put(self, request: Request, id: uuid.UUID) -> Response:  # noqa: A002 - the name in the address
        """Proves that it reaches the same cluster, then keeps it: its plans are over, and what runs pauses."""
        head = cluster_head(id, now=timezone.now())
        entity_tags.require_match(request, entity_tags.of_version(head.version))
        said = given(request, NewKubeconfig)
        options = {"context": said["context"], "typed_name": said["typed_name"], "version": head.version}
        try:
            replace_kubeconfig(id, said["kubeconfig"].encode(), **options)
        except BadInput as wrong:
            raise _pointed(wrong) from None
        return detail(cluster_head(id, now=timezone.now()))


def _pointed(wrong: BadInput) -> BadInput:
    """What is wrong inside the kubeconfig is said of that field, with the place inside it in the text."""
    if wrong.where in ("kubeconfig", "context", "typed_name"):
        return wrong
    return type(wrong)(str(wrong), code=wrong.code, where="kubeconfig")

"""What stands between the controller's pods and their callers: network policies and service meshes."""

from collections.abc import Iterator

from migrations_app.inventory.facts.controller import Installation
from migrations_app.inventory.facts.workloads import selects
from migrations_app.inventory.inventory import Inventory
from migrations_app.inventory.objects.cluster import NetworkPolicy
from migrations_app.inventory.objects.karpenter import Metadata
from migrations_app.karpenter.tables.port_rows import MESHES, WEBHOOK_PORT, Mesh, PortRow


def ingress_guards(inventory: Inventory, installation: Installation) -> list[NetworkPolicy]:
    """The policies that restrict who may call the controller's pods."""
    labels = installation.workload.template.metadata.labels or {}
    every = [
        network_policy
        for network_policy in inventory.network_policies.items
        if network_policy.namespace == installation.namespace
    ]
    return [policy for policy in every if policy.guards_ingress and selects(policy.spec.pod_selector, labels)]


def lets_in(policy: NetworkPolicy, port: PortRow) -> bool:
    """Whether somebody may call that port.

    Policies add up; who may call is not judged, the API server's address being no pod's.
    """
    for rule in policy.spec.ingress or ():
        for policy_port in rule.ports or ():
            low = port.number if policy_port.port in (None, port.name) else policy_port.port
            high = policy_port.end_port or low
            if isinstance(low, int) and low <= port.number <= int(high if isinstance(high, int) else low):
                return True
        if rule.ports is None or not rule.ports:
            return True
    return False


SPARED = ("kube-system",)
"""Where Istio and Linkerd inject nothing by default. istio/istio@master:pkg/kube/inject/webhook.go."""
REFUSALS = frozenset({"false", "disabled"})


def meshes_of_pod(metadata: Metadata) -> list[Mesh]:
    """The meshes whose sidecar the pod has, and which take the webhook's port."""
    return [mesh for mesh in MESHES if metadata.annotation(mesh.mark) is not None and not _exempt(metadata, mesh)]


def meshes_asked_for(template: Metadata) -> Iterator[tuple[Mesh, str]]:
    """The meshes whose sidecar the next pods will get, and which take the webhook's port, each with what asks for it:
    "labels" or "annotations".
    """
    for mesh in MESHES:
        key, value = mesh.asking
        for field, held in (("labels", template.label(key)), ("annotations", template.annotation(key))):
            if held == value and not _exempt(template, mesh):
                yield mesh, field


def may_get_sidecars(installation: Installation) -> bool:
    """Whether the Namespace of the controller decides about sidecars, which its pods do not refuse."""
    return installation.namespace not in SPARED and not _refused(installation.workload.template.metadata)


def _refused(template: Metadata) -> bool:
    """Whether the pods say for every mesh that they take no sidecar, whatever their Namespace asks for."""
    return all(_refuses(template, mesh) for mesh in MESHES)


def _refuses(template: Metadata, mesh: Mesh) -> bool:
    return bool({template.label(mesh.asking[0]), template.annotation(mesh.asking[0])} & REFUSALS)


def meshes_of_namespace(metadata: Metadata, template: Metadata) -> Iterator[tuple[Mesh, str, str]]:
    """The meshes that a Namespace requests for pods of that template, and which take the webhook's port: each with
    the path of what requests it, and its value.
    """
    for mesh in MESHES:
        if _refuses(template, mesh) or _exempt(template, mesh):
            continue
        for key, expected in mesh.namespace_marks:
            for field, held in (("labels", metadata.label(key)), ("annotations", metadata.annotation(key))):
                if held is not None and held == (expected or held) and held not in REFUSALS:
                    yield mesh, f"metadata.{field}[{key}]", held


def _exempt(metadata: Metadata, mesh: Mesh) -> bool:
    return WEBHOOK_PORT in (metadata.annotation(mesh.exclusion) or "").replace(" ", "").split(",")

"""What may block calls to the controller's pods: network policies and service meshes."""

from collections.abc import Iterator

from migrations_app.inventory.facts.controller import Installation
from migrations_app.inventory.facts.workloads import selects
from migrations_app.inventory.inventory import Inventory
from migrations_app.inventory.objects.cluster import Ingress, NetworkPolicy
from migrations_app.inventory.objects.karpenter import Metadata
from migrations_app.karpenter.tables.port_rows import MESHES, WEBHOOK_PORT, Mesh, PortRow


def ingress_guards(inventory: Inventory, installation: Installation) -> list[NetworkPolicy]:
    """The network policies that restrict who may call the controller's pods."""
    labels = installation.workload.template.metadata.labels or {}
    every = [
        network_policy
        for network_policy in inventory.network_policies.items
        if network_policy.namespace == installation.namespace
    ]
    return [policy for policy in every if policy.guards_ingress and selects(policy.spec.pod_selector, labels)]


def allows_port(policy: NetworkPolicy, port: PortRow) -> bool:
    """Whether the policy lets callers of that port in. Policies add up.

    The API server calls the webhook from addresses of the control plane, which no selector of pods or namespaces
    matches: a rule for pods alone keeps it out. Which addresses those are is not known, so any block of them counts.
    """
    rules = (rule for rule in policy.spec.ingress or () if _names(rule, port))
    return any(not port.webhook or _admits_addresses(rule) for rule in rules)


def _names(rule: Ingress, port: PortRow) -> bool:
    for policy_port in rule.ports or ():
        low = port.number if policy_port.port in (None, port.name) else policy_port.port
        high = policy_port.end_port or low
        named = isinstance(low, int) and low <= port.number <= int(high if isinstance(high, int) else low)
        if named and policy_port.protocol in (None, "TCP"):
            return True
    return not rule.ports


def _admits_addresses(rule: Ingress) -> bool:
    return not rule.peers or any(peer.ip_block is not None for peer in rule.peers)


SPARED = ("kube-system",)
"""Namespaces where Istio and Linkerd inject nothing by default. istio/istio@master:pkg/kube/inject/webhook.go."""
REFUSALS = frozenset({"false", "disabled"})


def meshes_of_pod(metadata: Metadata) -> list[Mesh]:
    """The meshes whose sidecar the pod has and which intercept the webhook's port."""
    return [mesh for mesh in MESHES if metadata.annotation(mesh.mark) is not None and not _exempt(metadata, mesh)]


def meshes_asked_for(template: Metadata) -> Iterator[tuple[Mesh, str]]:
    """The meshes whose sidecar the next pods will get and which intercept the webhook's port. Each with what requests
    it: "labels" or "annotations".
    """
    for mesh in MESHES:
        key, value = mesh.asking
        for field, held in (("labels", template.label(key)), ("annotations", template.annotation(key))):
            if held == value and not _exempt(template, mesh):
                yield mesh, field


def may_get_sidecars(installation: Installation) -> bool:
    """Whether the Namespace of the controller decides about sidecars, because the pods do not refuse them."""
    return installation.namespace not in SPARED and not _refused(installation.workload.template.metadata)


def _refused(template: Metadata) -> bool:
    """Whether the pods refuse the sidecars of every mesh, whatever their Namespace requests."""
    return all(_refuses(template, mesh) for mesh in MESHES)


def _refuses(template: Metadata, mesh: Mesh) -> bool:
    return bool({template.label(mesh.asking[0]), template.annotation(mesh.asking[0])} & REFUSALS)


def meshes_of_namespace(metadata: Metadata, template: Metadata) -> Iterator[tuple[Mesh, str, str]]:
    """The meshes that a Namespace requests for pods of that template and which intercept the webhook's port: each with
    the path of the label or annotation that requests it, and its value.
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

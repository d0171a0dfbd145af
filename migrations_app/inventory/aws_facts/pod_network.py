"""Whether the control plane of EKS can call the controller's pods: it reaches addresses of the VPC, and none that an
overlay network gives to pods.

Sources: aws/karpenter-provider-aws:charts/karpenter/values.yaml (hostNetwork "is required when using a custom CNI");
aws/karpenter-provider-aws#4554; cilium/cilium#31536 and cilium/cilium:install/kubernetes/cilium/templates
(the image operator-aws belongs to IPAM by ENI, operator-generic to every other IPAM of a cluster without it);
cilium/cilium@v1.15.4:pkg/ipam/option/option.go (the modes), and cilium-configmap.yaml among those templates.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal, NamedTuple

from msgspec.structs import replace

from migrations_app.inventory.aws_facts.pod_addresses import is_vpc_cni, runs_vpc_cni
from migrations_app.inventory.facts.controller import ABSENT, given_values, image_name, installation, value_at
from migrations_app.inventory.inventory import Inventory, once
from migrations_app.inventory.objects.karpenter import ConfigMap, Workload
from migrations_app.inventory.parts import Unseen
from migrations_app.karpenter import labels

HOST_NETWORK: Final = "hostNetwork"
"""The value of the chart, and the field of the pod."""
PodAddresses = Literal["vpc", "overlay", "unknown"]
_VPC_COMPUTE: Final = ("fargate", "auto")
"""Nodes on which AWS itself gives pods addresses of the VPC, whatever plugin the other nodes have."""
_FINISHED: Final = ("Succeeded", "Failed")
_CILIUM, _CILIUM_OPERATOR = "cilium", "cilium-operator"
_CILIUM_OPERATORS: Final[Mapping[str, PodAddresses]] = {"operator-aws": "vpc", "operator-generic": "overlay"}
CILIUM_CONFIG, IPAM = "cilium-config", "ipam"
_CILIUM_IPAM: Final[Mapping[str, PodAddresses]] = {
    "eni": "vpc",
    "cluster-pool": "overlay",
    "cluster-pool-v2beta": "overlay",
    "kubernetes": "overlay",
    "multi-pool": "overlay",
}
"""Where pods get their addresses, by the IPAM mode; of other modes another program decides it."""


class NetworkPlugin(NamedTuple):
    """A network plugin by the name of its DaemonSet. `overlay`: whether its pods never have addresses of the VPC where
    aws-node does not run; beside aws-node it decides about policies only."""

    name: str
    daemonset: str
    overlay: bool


PLUGINS: Final = (
    NetworkPlugin("Cilium", _CILIUM, overlay=False),  # by its IPAM: see _cilium_addresses
    NetworkPlugin("Calico", "calico-node", overlay=True),
    NetworkPlugin("Flannel", "kube-flannel-ds", overlay=True),
    NetworkPlugin("Flannel", "kube-flannel", overlay=True),
    NetworkPlugin("Weave Net", "weave-net", overlay=True),
)
_NAMES: Final = frozenset(plugin.daemonset for plugin in PLUGINS)


@dataclass(frozen=True, slots=True)
class PodNetwork:
    """Where the addresses of the controller's pods come from. `plugin` is the plugin that was seen in the place of the
    VPC CNI; empty if none is known by its name."""

    addresses: Literal["host", "vpc", "overlay", "unknown"]
    plugin: str = ""


def is_network_plugin(workload: Workload) -> bool:
    """Whether it is the DaemonSet of a network plugin, or Cilium's operator, by its name."""
    return is_vpc_cni(workload) or workload.name in _NAMES or workload.name == _CILIUM_OPERATOR


def uses_host_network(inventory: Inventory) -> bool:
    """Whether the controller uses its node's network: it does now, or the values of the chart say so, as a template
    reads them."""
    controller, values = installation(inventory), given_values(inventory)
    given = value_at(values.tree, HOST_NETWORK) if values else ABSENT
    chosen = given is not ABSENT and bool(given)
    return chosen or (controller is not None and controller.workload.template.spec.host_network is True)


@once
def controller_pod_network(inventory: Inventory) -> PodNetwork | Unseen:
    """Where the controller's pods get their addresses; Unseen if a part that decides it was not read."""
    if uses_host_network(inventory):
        return PodNetwork("host")
    runs = runs_vpc_cni(inventory)
    if runs:
        return PodNetwork("vpc")
    if runs is None:
        unread = next((part for part in (inventory.daemonsets, inventory.nodes) if isinstance(part, Unseen)), None)
        return unread or Unseen("garbled", "DaemonSet kube-system/aws-node")
    if _on_vpc_nodes(inventory):
        return PodNetwork("vpc")
    unread = next((part for part in (inventory.controller_pods, inventory.nodes) if isinstance(part, Unseen)), None)
    return unread or _of_plugin(inventory)


def _of_plugin(inventory: Inventory) -> PodNetwork:
    seen = {workload.name for workload in inventory.daemonsets.items}
    plugin = next((plugin for plugin in PLUGINS if plugin.daemonset in seen), None)
    if plugin is None:
        return PodNetwork("unknown")
    if plugin.daemonset == _CILIUM:
        return PodNetwork(_cilium_addresses(inventory), plugin.name)
    return PodNetwork("overlay" if plugin.overlay else "unknown", plugin.name)


def only_ipam(config: ConfigMap) -> ConfigMap:
    """The ConfigMap of Cilium with nothing but its IPAM mode."""
    mode = (config.data or {}).get(IPAM)
    return replace(config, data={} if mode is None else {IPAM: mode})


def _cilium_addresses(inventory: Inventory) -> PodAddresses:
    """What Cilium's ConfigMap tells about its IPAM, otherwise its operator by the image; unknown if neither was seen,
    or the images differ."""
    mode = next(((config.data or {}).get(IPAM) for config in inventory.cilium_config.items), None)
    if mode:
        return _CILIUM_IPAM.get(mode.strip().lower(), "unknown")
    operators = [workload for workload in inventory.deployments.items if workload.name == _CILIUM_OPERATOR]
    images = [container.image or "" for one in operators for container in one.template.spec.containers or ()]
    found = {_CILIUM_OPERATORS.get(image_name(image)) for image in images}
    if found == {"vpc"}:
        return "vpc"
    return "overlay" if found == {"overlay"} else "unknown"


def _on_vpc_nodes(inventory: Inventory) -> bool:
    """Whether every running pod of the controller is on a node of Fargate or EKS Auto Mode."""
    types = {node.name: node.metadata.label(labels.COMPUTE_TYPE) for node in inventory.nodes.items}
    pods = [pod for pod in inventory.controller_pods.items if not (pod.status and pod.status.phase in _FINISHED)]
    return bool(pods) and all(types.get(pod.spec.node_name or "") in _VPC_COMPUTE for pod in pods)

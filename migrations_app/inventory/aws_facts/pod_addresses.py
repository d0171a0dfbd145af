"""How nodes take addresses of their subnets, by the settings of the VPC CNI, the DaemonSet aws-node.

Source: aws/amazon-vpc-cni-k8s:README.md (ENABLE_PREFIX_DELEGATION, ENABLE_IPv6, AWS_VPC_K8S_CNI_CUSTOM_NETWORK_CFG,
WARM_PREFIX_TARGET), docs/prefix-and-ip-target.md.
"""

from typing import Literal

from migrations_app.inventory.inventory import Inventory, once
from migrations_app.inventory.objects.karpenter import Node, Workload
from migrations_app.inventory.parts import Unseen
from migrations_app.karpenter import labels

AddressMode = Literal["each", "prefixes", "ipv6", "other_subnets", "other_cni", "unknown"]
"""`each`: every pod has an address of its own. `prefixes`: nodes take blocks of 16. `ipv6`: pods have IPv6 addresses
only. `other_subnets`: pods have addresses of subnets that ENIConfigs name. `other_cni`: no node runs aws-node.
"""
BLOCK = 16
"""Addresses of a /28 prefix."""
_NAMESPACE, _NAME = "kube-system", "aws-node"
_PREFIXES, _IPV6, _CUSTOM = "ENABLE_PREFIX_DELEGATION", "ENABLE_IPv6", "AWS_VPC_K8S_CNI_CUSTOM_NETWORK_CFG"
_TRUE = frozenset({"1", "t", "true"})
_WITHOUT_AWS_NODE = ("fargate", "auto", "hybrid")
WORDS: dict[AddressMode, str] = {
    "each": "each node takes up to as many addresses as it may have pods, and one of its own",
    "prefixes": "each node takes whole /28 blocks, whose 16 addresses have to be free in a row, and one address",
    "ipv6": "pods have IPv6 addresses; each node takes one IPv4 address",
    "other_subnets": "pods take addresses of subnets that ENIConfigs name, which are not read",
    "other_cni": "no node runs the DaemonSet aws-node: whether pods take addresses of the subnets is not known",
    "unknown": "how pods get their addresses is not known: the DaemonSet aws-node could not be read",
}


def is_vpc_cni(workload: Workload) -> bool:
    """Whether it is the DaemonSet of the VPC CNI, by its name."""
    return (workload.namespace, workload.name) == (_NAMESPACE, _NAME)


@once
def address_mode(inventory: Inventory) -> AddressMode:
    """How pods of new nodes get their addresses."""
    runs = runs_vpc_cni(inventory)
    if runs is None:
        return "unknown"
    workload = next(filter(is_vpc_cni, inventory.daemonsets.items), None)
    return _mode(workload) if workload and runs else "other_cni"


@once
def runs_vpc_cni(inventory: Inventory) -> bool | None:
    """Whether nodes run the VPC CNI; None if its DaemonSet, or the nodes that decide it, could not be read.

    Guides of other network plugins leave aws-node behind with a node selector that fits no node: then it has no pod
    although there are nodes for it.
    """
    part = inventory.daemonsets
    if isinstance(part, Unseen) or any((bad.namespace, bad.name) == (_NAMESPACE, _NAME) for bad in part.quarantined):
        return None
    workload = next(filter(is_vpc_cni, part.items), None)
    idle = workload is not None and workload.status is not None and workload.status.desired_number_scheduled == 0
    if idle and isinstance(inventory.nodes, Unseen):
        return None
    return workload is not None and not (idle and any(map(_takes_daemonsets, inventory.nodes.items)))


def _takes_daemonsets(node: Node) -> bool:
    """Whether it is a node on which aws-node runs: none of Fargate, EKS Auto Mode or elsewhere, which have a label."""
    return node.metadata.label(labels.COMPUTE_TYPE) not in _WITHOUT_AWS_NODE


def _mode(cni: Workload) -> AddressMode:
    values, hidden = dict[str, str](), set[str]()
    for container in cni.template.spec.containers or ():
        for variable in container.env or ():
            if variable.value_from is not None:
                hidden.add(variable.name)
            values[variable.name] = (variable.value or "").lower()
    if hidden & {_PREFIXES, _IPV6, _CUSTOM}:
        return "unknown"
    modes: tuple[tuple[str, AddressMode], ...] = ((_IPV6, "ipv6"), (_CUSTOM, "other_subnets"), (_PREFIXES, "prefixes"))
    return next((mode for name, mode in modes if values.get(name) in _TRUE), "each")


def addresses_for(mode: AddressMode, *, pods: int | None, ipv6_only: bool = False) -> int | None:
    """The most IPv4 addresses that a node with room for that many pods takes; None if that is not known.

    Where pods may take their addresses elsewhere, only the node's own address counts.
    """
    if mode in ("ipv6", "other_subnets", "other_cni", "unknown"):
        return 0 if ipv6_only else 1
    if pods is None:
        return None
    return 1 + (pods if mode == "each" else BLOCK * (-(-pods // BLOCK) + 1))

"""The owner of each node, the signals that show it, and inconsistencies; also the annotations that protect nodes and
claims.

Rules are tried in order and the first match counts. Owner references keep the API version of the day the node
registered, so the generation of a node behind a NodeClaim is the current one of NodeClaims in this cluster.
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import msgspec

from migrations_app.inventory.inventory import Inventory, once
from migrations_app.inventory.objects.karpenter import KarpenterClaim, Node
from migrations_app.inventory.parts import Seen
from migrations_app.karpenter import labels

PROTECTING = frozenset({labels.DO_NOT_EVICT, labels.DO_NOT_CONSOLIDATE, labels.DO_NOT_DISRUPT})
ProtectedNode = tuple[str, str, dict[str, str]]
"""Kind, name and annotations."""


@once
def protected(inventory: Inventory) -> tuple[ProtectedNode, ...]:
    """The nodes, then the claims, that carry one of these annotations."""
    return tuple(
        (kind, item.name, item.metadata.annotations)
        for kind, items in (("Node", inventory.nodes.items), ("NodeClaim", inventory.nodeclaims.items))
        for item in items
        if item.metadata.annotations and not PROTECTING.isdisjoint(item.metadata.annotations)
    )


COMPUTE_OWNERS = {"fargate": "fargate", "auto": "auto_mode", "hybrid": "hybrid"}
EKSCTL_NODEGROUP = "alpha.eksctl.io/nodegroup-name"


class OwnedNode(msgspec.Struct, frozen=True, kw_only=True):
    """One node and its owner. `told_by` names the signals (label, owner, provider_id); `anomalies` are ids of
    inconsistencies.
    """

    name: str
    owner: str
    pool: str = ""
    claim: str = ""
    told_by: tuple[str, ...] = ()
    anomalies: tuple[str, ...] = ()
    capacity: str = ""
    instance_type: str = ""
    zone: str = ""
    can_drift: bool | None = None
    node_class: str = ""
    """The node class or node template of its claim; empty if not known, and in older snapshots."""


class Anomaly(msgspec.Struct, frozen=True, kw_only=True):
    """Something about ownership that does not add up, such as a claim without its node."""

    id: str
    kind: str
    name: str
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Ownership:
    nodes: tuple[OwnedNode, ...]
    anomalies: tuple[Anomaly, ...]

    @property
    def by_owner(self) -> dict[str, int]:
        return dict(Counter(node.owner for node in self.nodes))


@dataclass(frozen=True, slots=True)
class _Context:
    machines: dict[str, KarpenterClaim]
    claims: dict[str, KarpenterClaim]
    claim_generation: str
    pools: frozenset[str] | None
    provisioners: frozenset[str] | None
    machines_seen: bool
    claims_seen: bool


@once
def ownership(inventory: Inventory) -> Ownership:
    """Every node with its owner; empty if nodes were not seen."""
    context = _context(inventory)
    nodes = tuple(_owned(node, context) for node in inventory.nodes.items)
    return Ownership(nodes, tuple(_anomalies(inventory, context, nodes=nodes)))


def claim_generation(inventory: Inventory) -> str:
    """`v1` or `beta`: the version in which NodeClaims are stored now; empty if neither CRDs nor claims were seen."""
    stored = next((crd.storage for crd in inventory.crds.items if crd.name == "nodeclaims.karpenter.sh"), "")
    served = inventory.nodeclaims.served if isinstance(inventory.nodeclaims, Seen) else None
    version = stored or (served or "").rpartition("/")[2]
    return {"v1": "v1", "v1beta1": "beta"}.get(version, "")


def _context(inventory: Inventory) -> _Context:
    return _Context(
        machines={c.provider_id: c for c in inventory.machines.items if c.provider_id},
        claims={c.provider_id: c for c in inventory.nodeclaims.items if c.provider_id},
        claim_generation=claim_generation(inventory),
        pools=_names(inventory.nodepools),
        provisioners=_names(inventory.provisioners),
        machines_seen=isinstance(inventory.machines, Seen),
        claims_seen=isinstance(inventory.nodeclaims, Seen),
    )


def _names(part: Any) -> frozenset[str] | None:  # noqa: ANN401 - a part of any kind of named object
    return frozenset(item.name for item in part.items) if isinstance(part, Seen) else None


def _owned(node: Node, context: _Context) -> OwnedNode:
    metadata = node.metadata
    compute = COMPUTE_OWNERS.get(metadata.label(labels.COMPUTE_TYPE) or "")
    if compute or node.name.startswith("fargate-"):
        told_by = ("label",) if compute else ("name",)
        return _row(node, owner=compute or "fargate", pool=metadata.label(labels.NODEPOOL) or "", told_by=told_by)
    return _by_claim(node, context) or _by_machine(node, context) or _outside(node)


def _by_claim(node: Node, context: _Context) -> OwnedNode | None:
    reference = node.metadata.owner("NodeClaim")
    claim = context.claims.get(node.spec.provider_id or "")
    pool = node.metadata.label(labels.NODEPOOL)
    told_by = _signals(pool is not None, reference is not None, provider_id=claim is not None)
    machine_says_no = reference is None and claim is None and node.metadata.owner("Machine") is not None
    if not told_by or machine_says_no:
        return None
    version = reference.api_version.rpartition("/")[2] if reference else ""
    generation = context.claim_generation or ("v1" if version == "v1" else "beta" if version else "")
    return _row(
        node,
        owner=f"karpenter_{generation}" if generation else "unknown",
        pool=pool or (claim.metadata.label(labels.NODEPOOL) if claim else "") or "",
        claim=claim.name if claim else reference.name if reference else "",
        told_by=told_by,
        anomalies=tuple(_node_anomalies(node, claim, seen=context.claims_seen, pools=context.pools, pool=pool)),
        node_class=_class_of(claim),
    )


def _by_machine(node: Node, context: _Context) -> OwnedNode | None:
    reference = node.metadata.owner("Machine", "Provisioner")
    machine = context.machines.get(node.spec.provider_id or "")
    pool = node.metadata.label(labels.PROVISIONER_NAME)
    told_by = _signals(pool is not None, reference is not None, provider_id=machine is not None)
    if not told_by:
        return None
    hashed = machine.metadata.annotation(labels.PROVISIONER_HASH) is not None if machine else None
    anomalies = _node_anomalies(node, machine, seen=context.machines_seen, pools=context.provisioners, pool=pool)
    extra = ("machine-without-hash",) if hashed is False else ()
    return _row(
        node,
        owner="karpenter_alpha",
        pool=pool or (machine.metadata.label(labels.PROVISIONER_NAME) if machine else "") or "",
        claim=machine.name if machine else "",
        told_by=told_by,
        anomalies=(*anomalies, *extra),
        can_drift=hashed,
        node_class=_class_of(machine),
    )


def _outside(node: Node) -> OwnedNode:
    group = node.metadata.label(labels.NODEGROUP)
    if group is not None:
        return _row(node, owner="managed_node_group", pool=group, told_by=("label",))
    if (node.spec.provider_id or "").startswith("aws:///"):
        pool = node.metadata.label(EKSCTL_NODEGROUP) or ""
        anomalies = ("node-without-claim",) if _has_finalizer(node) else ()
        return _row(node, owner="self_managed", pool=pool, told_by=("provider_id",), anomalies=anomalies)
    return _row(node, owner="unknown")


def _signals(label: bool, owner: bool, *, provider_id: bool) -> tuple[str, ...]:
    named = (("label", label), ("owner", owner), ("provider_id", provider_id))
    return tuple(name for name, is_present in named if is_present)


def _has_finalizer(node: Node) -> bool:
    return labels.TERMINATION_FINALIZER in (node.metadata.finalizers or ())


def _node_anomalies(
    node: Node, claim: KarpenterClaim | None, *, seen: bool, pools: frozenset[str] | None, pool: str | None
) -> Iterator[str]:
    if node.metadata.label(labels.PROVISIONER_NAME) is not None and node.metadata.label(labels.NODEPOOL) is not None:
        yield "both-labels"
    if node.metadata.owner("Machine") and node.metadata.owner("NodeClaim"):
        yield "two-owners"
    if claim is None and seen:
        yield "node-without-claim"
    if pool and pools is not None and pool not in pools:
        yield "pool-gone"
    if not _has_finalizer(node):
        yield "finalizer-missing"


def _row(
    node: Node,
    *,
    owner: str,
    pool: str = "",
    claim: str = "",
    told_by: tuple[str, ...] = (),
    anomalies: tuple[str, ...] = (),
    can_drift: bool | None = None,
    node_class: str = "",
) -> OwnedNode:
    label = node.metadata.label
    return OwnedNode(
        name=node.name,
        owner=owner,
        pool=pool,
        claim=claim,
        told_by=told_by,
        anomalies=anomalies,
        capacity=label(labels.CAPACITY_TYPE) or "",
        instance_type=label("node.kubernetes.io/instance-type") or "",
        zone=label("topology.kubernetes.io/zone") or "",
        can_drift=can_drift,
        node_class=node_class,
    )


def _class_of(claim: KarpenterClaim | None) -> str:
    reference = claim and (claim.spec.node_class_ref or claim.spec.machine_template_ref)
    return (reference and reference.name) or ""


def _anomalies(inventory: Inventory, context: _Context, *, nodes: tuple[OwnedNode, ...]) -> Iterator[Anomaly]:
    for node in nodes:
        for anomaly in node.anomalies:
            yield Anomaly(id=anomaly, kind="Node", name=node.name, detail=node.pool)
    if not isinstance(inventory.nodes, Seen) or inventory.nodes.quarantined:
        return
    present = {node.spec.provider_id for node in inventory.nodes.items}
    for kind, claims in (("Machine", context.machines), ("NodeClaim", context.claims)):
        for provider_id, claim in claims.items():
            if provider_id not in present and claim.condition("Registered") != "False":
                yield Anomaly(id="claim-without-node", kind=kind, name=claim.name, detail=provider_id)

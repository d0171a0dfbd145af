"""Which objects have finalizers of Karpenter, and which generation of Karpenter has to remove them."""

from collections import Counter

from migrations_app.inventory.inventory import Inventory, once
from migrations_app.inventory.objects.karpenter import NamedObject, Node
from migrations_app.inventory.parse import is_karpenter
from migrations_app.karpenter import kinds, labels

WAITING = (kinds.MACHINE, kinds.NODE_CLAIM, kinds.EC2_NODE_CLASS)
"""Kinds, besides nodes, that wait until the controller removes a finalizer."""
GENERATIONS = {labels.NODEPOOL: ("beta", "v1"), labels.PROVISIONER_NAME: ("alpha",)}


@once
def held_nodes(inventory: Inventory) -> Counter[tuple[tuple[str, ...], str, str]]:
    """The nodes with the finalizer, counted by the generations that may have made them and by their pool."""
    return Counter((_made_by(node), *pool_of(node)) for node in finalizer_nodes(inventory))


def finalizer_nodes(inventory: Inventory) -> list[Node]:
    """The nodes with Karpenter's finalizer."""
    return [node for node in inventory.nodes.items if labels.TERMINATION_FINALIZER in (node.metadata.finalizers or ())]


def first_finalizer(item: object) -> str:
    """The first of Karpenter's finalizers on that object; empty where it has none."""
    finalizers = item.metadata.finalizers if isinstance(item, NamedObject) else None
    return next((finalizer for finalizer in finalizers or () if is_karpenter(finalizer)), "")


def _made_by(node: Node) -> tuple[str, ...]:
    return next((kinds_of_owner for key, kinds_of_owner in GENERATIONS.items() if node.metadata.label(key)), ())


def pool_of(node: Node) -> tuple[str, str]:
    """Kind and name of the pool that the labels of the node name; the name is "none" where they name none."""
    pool = node.metadata.label(labels.NODEPOOL)
    return ("NodePool", pool) if pool else ("Provisioner", node.metadata.label(labels.PROVISIONER_NAME) or "none")

"""Annotations of nodes and claims that protect them, or once did."""

from migrations_app.inventory.inventory import Inventory
from migrations_app.inventory.sharing import once
from migrations_app.karpenter import labels

PROTECTING = frozenset({labels.DO_NOT_EVICT, labels.DO_NOT_CONSOLIDATE, labels.DO_NOT_DISRUPT})
Marked = tuple[str, str, dict[str, str]]
"""Kind, name and annotations."""


@once
def protected(inventory: Inventory) -> tuple[Marked, ...]:
    """The nodes, then the claims, that carry one of these annotations."""
    return tuple(
        (kind, one.name, one.metadata.annotations)
        for kind, items in (("Node", inventory.nodes.items), ("NodeClaim", inventory.nodeclaims.items))
        for one in items
        if one.metadata.annotations and not PROTECTING.isdisjoint(one.metadata.annotations)
    )

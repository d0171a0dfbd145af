"""The hold of Karpenter's own disruption: a budget of no nodes, and an annotation with the budgets from before it."""

from typing import Any, Final

from migrations_app.inventory.objects.karpenter import NodePool

HELD: Final = "karpdash.io/held-budgets"
"""The annotation of a NodePool that karpdash holds: its former budgets as JSON, `null` where it had none."""
NO_NODES: Final[list[dict[str, Any]]] = [{"nodes": "0"}]
"""The budgets of a held NodePool: no node, at no time, for no reason."""


def is_held_by_us(pool: NodePool) -> bool:
    """Whether karpdash holds the NodePool: it set budgets of no nodes and did not restore the former ones yet."""
    return pool.metadata.annotation(HELD) is not None

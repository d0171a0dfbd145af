"""How much the controller needs by the number of nodes: below it, it is killed or starved sooner or later.

The first row is what the getting-started guide of aws/karpenter-provider-aws sets (1 CPU, 1 GiB); the guide to 0.34
says that disruption in batches needs more and names no figure. The later rows are our judgement.
"""

from typing import NamedTuple


class Size(NamedTuple):
    """Limits that fit a cluster of up to that many nodes; `nodes` is 0 in the last row, which has no end."""

    nodes: int
    memory: str
    cpu: str


SIZES: tuple[Size, ...] = (
    Size(100, "1Gi", "1"),
    Size(500, "2Gi", "1"),
    Size(1000, "4Gi", "2"),
    Size(0, "8Gi", "4"),
)


def size_for(nodes: int) -> Size:
    """The row for a cluster of that many nodes."""
    return next((row for row in SIZES if nodes <= row.nodes), SIZES[-1])

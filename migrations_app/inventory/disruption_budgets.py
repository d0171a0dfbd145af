"""Disruption budgets of a NodePool: how many nodes it lets go at once."""

from collections.abc import Iterator
from typing import Any

from migrations_app.inventory.objects import NodePool
from migrations_app.inventory.pools import rows

BUDGETS = "spec.disruption.budgets"
DEFAULT_PERCENT = 10
"""What a pool without budgets is given from 0.34 on. aws/karpenter-provider-aws@v0.37.8:pkg/apis/crds."""
REASONS = frozenset({"Drifted", "Empty", "Underutilized"})


def at_once(nodes: int, *, percent: int = DEFAULT_PERCENT) -> int:
    """How many of so many nodes a share lets go at once; it is rounded up."""
    return -(-nodes * percent // 100)


def closed(pool: NodePool) -> Iterator[tuple[int, str]]:
    """The budgets that let no node go, at any time and for any reason: place and value."""
    for place, budget in rows(pool, BUDGETS):
        if _is_none(budget.get("nodes")) and not budget.get("schedule") and _for_every_reason(budget.get("reasons")):
            yield place, str(budget["nodes"])


def unreadable(pool: NodePool) -> Iterator[int]:
    """The budgets whose nodes are neither a number nor a share."""
    for place, budget in rows(pool, BUDGETS):
        told = str(budget.get("nodes")).removesuffix("%")
        if isinstance(budget.get("nodes"), bool) or not (told.isascii() and told.isdigit()):
            yield place


def _is_none(nodes: Any) -> bool:  # noqa: ANN401 - the tree is the API's own JSON
    told = str(nodes).removesuffix("%")
    return told.isascii() and told.isdigit() and not told.strip("0")


def _for_every_reason(reasons: Any) -> bool:  # noqa: ANN401 - the tree is the API's own JSON
    return not reasons or (isinstance(reasons, list) and set(map(str, reasons)) >= REASONS)

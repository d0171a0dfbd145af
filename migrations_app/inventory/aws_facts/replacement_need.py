"""The need at the peak of nodes that replace others, before the old ones are gone: nodes, vCPUs and addresses.

A new node is assumed to have the type, zone and market of the node that it replaces. Of nodes that may be replaced at
the same time, those with the largest need are counted.
"""

import re
from collections import defaultdict
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeVar

from migrations_app.conversion import quantities
from migrations_app.inventory.facts.node_pools import BUDGETS, DEFAULT_PERCENT, at_once, rows
from migrations_app.inventory.facts.ownership import OwnedNode, ownership
from migrations_app.inventory.inventory import Inventory
from migrations_app.inventory.objects.karpenter import Node, NodePool
from migrations_app.inventory.parts import Unseen
from migrations_app.karpenter import labels

K = TypeVar("K", bound=Hashable)
NeedByOwner = dict[K, int | None]
"""The need at the peak, by key; None where a node does not show its need."""
CPU_LABEL = "karpenter.k8s.aws/instance-cpu"
ALPHA = "karpenter_alpha"
OWNERS = frozenset({ALPHA, "karpenter_beta", "karpenter_v1"})
"""Owners whose nodes Karpenter replaces."""
DRIFTED = "Drifted"
_WHOLE = 10**9
_BUDGET = re.compile(r"(\d{1,9})(%?)", re.ASCII)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplacedNode:
    """A node that is replaced. Empty texts and None: not known."""

    name: str
    pool: str
    """Kind/name of its pool."""
    node_class: str
    """Kind/name of its node class or template."""
    instance_type: str
    zone: str
    market: str
    """spot, on-demand or reserved, as its label says."""
    vcpus: int | None
    pods: int | None
    """The most pods that it may run."""


@dataclass(frozen=True, slots=True)
class ReplacementGroup:
    """Nodes of which `at_once` may be replaced at the same time."""

    nodes: tuple[ReplacedNode, ...]
    at_once: int


@dataclass(frozen=True, slots=True)
class Replacement:
    """A whole replacement: the groups of a stage are replaced at the same time, the stages one after the other."""

    stages: tuple[tuple[ReplacementGroup, ...], ...]

    @property
    def nodes(self) -> int:
        """The number of additional nodes at the peak."""
        counts = (sum(min(len(group.nodes), group.at_once) for group in stage) for stage in self.stages)
        return max(counts, default=0)

    def peak(
        self, key: Callable[[ReplacedNode], K | None], need: Callable[[ReplacedNode], int | None]
    ) -> "NeedByOwner[K]":
        """The need at the peak, by `key`; nodes whose key is None are left out."""
        most: NeedByOwner[K] = {}
        for stage in self.stages:
            for name, amount in _of_stage(stage, key=key, need=need).items():
                before = most.get(name, 0)
                most[name] = None if amount is None or before is None else max(before, amount)
        return most

    def each(self) -> Iterator[ReplacedNode]:
        """Every node, in order."""
        return (node for stage in self.stages for group in stage for node in group.nodes)


def _of_stage(
    stage: Iterable[ReplacementGroup],
    *,
    key: Callable[[ReplacedNode], K | None],
    need: Callable[[ReplacedNode], int | None],
) -> "NeedByOwner[K]":
    needs: NeedByOwner[K] = {}
    for group in stage:
        by_key: dict[K, list[int | None]] = defaultdict(list)
        for node in group.nodes:
            if (name := key(node)) is not None:
                by_key[name].append(need(node))
        for name, amounts in by_key.items():
            needs[name] = _plus(needs.get(name, 0), _largest(amounts, group.at_once))
    return needs


def _largest(amounts: list[int | None], count: int) -> int | None:
    known = sorted((amount for amount in amounts if amount is not None), reverse=True)
    return sum(known[:count]) if len(known) == len(amounts) else None


def _plus(amount: int | None, other: int | None) -> int | None:
    return None if amount is None or other is None else amount + other


def replacement_by_pool(inventory: Inventory, names: Collection[str]) -> Replacement:
    """The replacement of these nodes: of each pool as many at once as its disruption budgets allow, all pools together.

    A pool without budgets counts with Karpenter's default: a tenth of its nodes, at least one. A pool counts with all
    nodes if none of its budgets holds at all times, or if that is not known: Karpenter sets no limit of its own.
    """
    unread = isinstance(inventory.nodepools, Unseen)
    pools = {f"NodePool/{pool.name}": pool for pool in inventory.nodepools.items}
    by_pool: dict[str, list[ReplacedNode]] = defaultdict(list)
    for node in _nodes(inventory, names):
        by_pool[node.pool].append(node)
    groups = []
    for pool, nodes in by_pool.items():
        unlimited = unread and pool.startswith("NodePool/")
        count_at_once = len(nodes) if unlimited else _allowed_at_once(pools.get(pool), len(nodes))
        groups.append(ReplacementGroup(tuple(nodes), count_at_once))
    stage = tuple(groups)
    return Replacement((stage,) if stage else ())


def replacement_in_batches(inventory: Inventory, batches: Iterable[Sequence[str]]) -> Replacement:
    """The nodes of each batch at once, batch after batch. Names that no node of Karpenter has are left out."""
    every = [tuple(batch) for batch in batches]
    known = {node.name: node for node in _nodes(inventory, {name for batch in every for name in batch})}
    node_batches = (tuple(known[name] for name in batch if name in known) for batch in every)
    return Replacement(tuple((ReplacementGroup(nodes, len(nodes)),) for nodes in node_batches if nodes))


def _allowed_at_once(pool: NodePool | None, count: int) -> int:
    if pool is None or pool.get(BUDGETS) is None:
        return max(1, at_once(count, percent=DEFAULT_PERCENT))
    allowed = [_allowed(row, count) for _, row in rows(pool, BUDGETS) if _for_drift(row)]
    return max(1, min((limit for limit in allowed if limit is not None), default=count))


def _for_drift(row: dict[str, object]) -> bool:
    """Whether the budget limits drift at all times. One with a schedule does not: more nodes may go at other hours."""
    reasons = row.get("reasons")
    return not row.get("schedule") and (not isinstance(reasons, list) or not reasons or DRIFTED in reasons)


def _allowed(row: dict[str, object], count: int) -> int | None:
    match = _BUDGET.fullmatch(str(row.get("nodes")))
    if match is None:
        return None
    many = int(match[1])
    return min(count, at_once(count, percent=many) if match[2] else many)


def _nodes(inventory: Inventory, names: Collection[str]) -> Iterator[ReplacedNode]:
    node_by_name = {node.name: node for node in inventory.nodes.items}
    for owned in ownership(inventory).nodes:
        if owned.name in names and owned.owner in OWNERS:
            yield _replaced(owned, node_by_name[owned.name])


def _replaced(owned: OwnedNode, node: Node) -> ReplacedNode:
    alpha, capacity = owned.owner == ALPHA, node.status.capacity if node.status else None
    kind = "AWSNodeTemplate" if alpha else "EC2NodeClass"
    label = node.metadata.label(CPU_LABEL)
    return ReplacedNode(
        name=owned.name,
        pool=f"{'Provisioner' if alpha else 'NodePool'}/{owned.pool}",
        node_class=f"{kind}/{owned.node_class}" if owned.node_class else "",
        instance_type=owned.instance_type,
        zone=owned.zone,
        market=owned.capacity,
        vcpus=whole(label) or whole(capacity.cpu if capacity else None),
        pods=whole(capacity.pods if capacity else None),
    )


def whole(amount: object) -> int | None:
    """The quantity, rounded up to a whole number; None for other values, below zero and above a billion."""
    quantity = quantities.read(str(amount)) if isinstance(amount, str | int) and not isinstance(amount, bool) else None
    value = -(-quantity[0] // _WHOLE) if quantity else -1
    return value if 0 <= value <= _WHOLE else None


def is_spot(node: ReplacedNode) -> bool:
    return node.market == labels.SPOT

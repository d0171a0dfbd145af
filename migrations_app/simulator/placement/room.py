"""Searches a node with room for a pod. Nodes with the same taints and used labels form a group, sorted by emptiness."""

import math
from bisect import bisect_left, insort
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from migrations_app.simulator.placement.states import NodeState
from migrations_app.simulator.pod_shapes import PodShape, hard

Rank = tuple[float, str]
"""The share of a node that is in use, and its name."""
GroupKey = tuple[object, ...]
_EMPTIEST: Rank = (-math.inf, "")
_FULLEST: Rank = (math.inf, "")
MAX_BELOW = 32
"""With more nodes below the floor it is faster to search again from the emptiest node."""


@dataclass(slots=True)
class _Group:
    sample: NodeState
    ranks: list[Rank] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class _Floor:
    """Where the search for pods of a shape continues: nodes below `rank` are full, except those in `below` and those
    that gained room since `seen`."""

    rank: Rank
    seen: int
    below: tuple[str, ...] = ()


class RoomIndex:
    """The nodes that take pods. A search skips nodes that it found full until they gain room."""

    def __init__(self) -> None:
        self._keys: tuple[str, ...] = ()
        self._groups: dict[GroupKey, _Group] = {}
        self._at: dict[str, tuple[GroupKey, Rank]] = {}
        self._nodes: dict[str, NodeState] = {}
        self._gained: list[str] = []
        self._floors: dict[PodShape, _Floor] = {}
        self._fitting: dict[PodShape, list[_Group]] = {}

    @property
    def gains(self) -> int:
        """Grows with every change after which a waiting pod might find a node."""
        return len(self._gained)

    def ranked(self) -> list[Rank]:
        """Returns every node that takes pods, the emptiest first."""
        return sorted(rank for _, rank in self._at.values())

    def put(self, node: NodeState, *, gained: bool) -> None:
        """Adds or updates a node; `gained`: it may now take a pod that it did not take before."""
        self.drop(node.name)
        if node.open:
            self._add(node)
            if gained:
                self._gained.append(node.name)

    def drop(self, name: str) -> None:
        """Removes a node."""
        group_and_rank = self._at.pop(name, None)
        if group_and_rank is None:
            return
        del self._nodes[name]
        group = self._groups[group_and_rank[0]]
        del group.ranks[bisect_left(group.ranks, group_and_rank[1])]
        if not group.ranks:
            del self._groups[group_and_rank[0]]
            self._fitting.clear()

    def loaded(self, node: NodeState, *, gained: bool) -> None:
        """Updates the rank of a node after pods came or went."""
        group_and_rank = self._at.get(node.name)
        if group_and_rank is None:
            return
        ranks, rank = self._groups[group_and_rank[0]].ranks, emptiness(node)
        if rank != group_and_rank[1]:
            del ranks[bisect_left(ranks, group_and_rank[1])]
            insort(ranks, rank)
            self._at[node.name] = group_and_rank[0], rank
        if gained:
            self._gained.append(node.name)

    def find(self, shape: PodShape, *, allows: Callable[[NodeState], bool] | None = None) -> NodeState | None:
        """Returns the emptiest node that takes such a pod and that `allows` accepts; None if there is none."""
        self._learn(shape)
        if allows is not None:
            return self._allowed(shape, allows)
        floor = self._floors.get(shape) or _Floor(_EMPTIEST, len(self._gained))
        below = [*self._among(shape, [*floor.below, *self._gained[floor.seen :]])]
        best = min(below, default=_FULLEST)
        for group in self._of(shape):
            best = min(best, next(self._from(group, shape, floor=floor.rank, below=best), best))
        still_below = [rank[1] for rank in below if rank < floor.rank]
        if best >= floor.rank or len(still_below) > MAX_BELOW:
            self._floors[shape] = _Floor(best, len(self._gained))
        else:
            self._floors[shape] = _Floor(floor.rank, len(self._gained), tuple(still_below))
        return self._nodes[best[1]] if best is not _FULLEST else None

    def _allowed(self, shape: PodShape, allows: Callable[[NodeState], bool]) -> NodeState | None:
        best = _FULLEST
        for group in self._of(shape):
            ranks = self._from(group, shape, floor=_EMPTIEST, below=best)
            best = min(best, next((rank for rank in ranks if allows(self._nodes[rank[1]])), best))
        return self._nodes[best[1]] if best is not _FULLEST else None

    def _among(self, shape: PodShape, names: list[str]) -> Iterator[Rank]:
        """Yields the ranks of those of the nodes that take such a pod."""
        for name in dict.fromkeys(names):
            node = self._nodes.get(name)
            if node is not None and node.free.holds(shape.requests) and self._takes(node, shape):
                yield self._at[name][1]

    def _from(self, group: _Group, shape: PodShape, *, floor: Rank, below: Rank) -> Iterator[Rank]:
        """Yields the ranks of nodes with room in this group, from the floor on."""
        ranks, nodes, amounts = group.ranks, self._nodes, shape.requests
        for place in range(bisect_left(ranks, floor), len(ranks)):
            rank = ranks[place]
            if rank >= below:
                return
            if nodes[rank[1]].free.holds(amounts):
                yield rank

    def _of(self, shape: PodShape) -> list[_Group]:
        """Returns the groups whose taints and labels fit such a pod."""
        groups = self._fitting.get(shape)
        if groups is None:
            groups = [group for group in self._groups.values() if self._takes(group.sample, shape)]
            self._fitting[shape] = groups
        return groups

    def _takes(self, node: NodeState, shape: PodShape) -> bool:
        return shape.tolerates(node.taints) and shape.selects(node.labels)

    def _learn(self, shape: PodShape) -> None:
        """Groups the nodes again if the pod uses a label that no pod used before."""
        if shape.keys.issubset(self._keys):
            return
        self._keys = tuple(sorted({*self._keys, *shape.keys}))
        nodes = list(self._nodes.values())
        self._groups.clear()
        self._fitting.clear()
        self._at.clear()
        for node in nodes:
            self._add(node)

    def _add(self, node: NodeState) -> None:
        taints = sorted(
            (str(taint.get("key")), str(taint.get("value") or ""), str(taint.get("effect")))
            for taint in hard(node.taints)
        )
        key = (*taints, *(node.labels.get(name) for name in self._keys))
        group = self._groups.get(key)
        if group is None:
            group = self._groups[key] = _Group(node)
            self._fitting.clear()
        rank = emptiness(node)
        insort(group.ranks, rank)
        self._at[node.name] = key, rank
        self._nodes[node.name] = node


def emptiness(node: NodeState) -> Rank:
    """Returns the share of the node that is in use, and its name.

    Source: kubernetes/kubernetes:pkg/scheduler/framework/plugins/noderesources/least_allocated.go
    """
    used, total = node.used, node.allocatable
    pods = used.pods / total.pods if total.pods else 1.0
    if total.cpu > 0 and total.memory > 0:
        return (used.cpu / total.cpu + used.memory / total.memory) / 2 + pods / 1000, node.name
    if total.cpu > 0:
        return used.cpu / total.cpu + pods / 1000, node.name
    return (used.memory / total.memory + pods / 1000 if total.memory > 0 else pods), node.name

"""Values for two pictures of a cluster's nodes: a map by zone and owner, and a tree of class, pool, claim and node."""

from collections.abc import Container, Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby

from migrations_app.manifests.natural_order import natural
from migrations_app.readiness.report import OWNERS, OwnedNode

MAX_SQUARES = 60
"""Maximum number of squares in one cell or pool; the rest is shown as a number."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MapCell:
    """The nodes of one owner in one zone; `rest` is the number of nodes without a square."""

    owner: str
    nodes: tuple[OwnedNode, ...]
    count: int

    @property
    def rest(self) -> int:
        return self.count - len(self.nodes)


@dataclass(frozen=True, slots=True, kw_only=True)
class ZoneRow:
    zone: str
    cells: tuple[MapCell, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeMap:
    """One column for each owner that has nodes, one row for each zone."""

    owners: tuple[str, ...]
    rows: tuple[ZoneRow, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolBranch:
    """A Provisioner or NodePool with its nodes; `claims` is the number of nodes that have a claim."""

    name: str
    owner: str
    nodes: tuple[OwnedNode, ...]
    count: int
    claims: int

    @property
    def rest(self) -> int:
        return self.count - len(self.nodes)


@dataclass(frozen=True, slots=True, kw_only=True)
class ClassBranch:
    """A node class or node template with its pools; the name is empty if it is not known. `bounded`: the claims were
    not read, so those that nodes name are a lower bound.
    """

    name: str
    legacy: bool
    bounded: bool
    pools: tuple[PoolBranch, ...]


def node_map(nodes: Sequence[OwnedNode]) -> NodeMap:
    """Returns the map; nodes without a zone are in a last row of their own."""
    owners = tuple(owner for owner in OWNERS if any(node.owner == owner for node in nodes))
    zones = sorted({node.zone for node in nodes}, key=lambda zone: (not zone, zone))
    by_place: dict[tuple[str, str], list[OwnedNode]] = {}
    for node in nodes:
        by_place.setdefault((node.zone, node.owner), []).append(node)
    rows = (
        ZoneRow(zone=zone, cells=tuple(_cell(owner, by_place.get((zone, owner), [])) for owner in owners))
        for zone in zones
    )
    return NodeMap(owners=owners, rows=tuple(rows))


def ownership_tree(nodes: Iterable[OwnedNode], *, unread: Container[str] = ()) -> tuple[ClassBranch, ...]:
    """Returns the nodes of Karpenter by class and pool, legacy ones first. `unread` are the names of the data sources
    that were not read.
    """
    owned = sorted((node for node in nodes if node.owner.startswith("karpenter_")), key=_branch)
    branches = []
    for (current, name), of_class in groupby(owned, key=lambda node: _branch(node)[:2]):
        pools = tuple(_pool(tuple(of_pool)) for _, of_pool in groupby(of_class, key=_branch))
        claims = "nodeclaims" if current else "machines"
        branches.append(ClassBranch(name=name, legacy=not current, bounded=claims in unread, pools=pools))
    return tuple(branches)


def _branch(node: OwnedNode) -> tuple[bool, str, str, str]:
    return node.owner != "karpenter_alpha", node.node_class, node.owner, node.pool


def _pool(nodes: tuple[OwnedNode, ...]) -> PoolBranch:
    claims = sum(bool(node.claim) for node in nodes)
    first_nodes, count = _first(nodes), len(nodes)
    return PoolBranch(name=nodes[0].pool, owner=nodes[0].owner, nodes=first_nodes, count=count, claims=claims)


def _cell(owner: str, nodes: list[OwnedNode]) -> MapCell:
    return MapCell(owner=owner, nodes=_first(nodes), count=len(nodes))


def _first(nodes: Sequence[OwnedNode]) -> tuple[OwnedNode, ...]:
    return tuple(sorted(nodes, key=lambda node: natural(node.name))[:MAX_SQUARES])

"""A table for the parameters of an action that name nodes: a row for each node, a column for each parameter."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from django.http import QueryDict

from migrations_app.actions.base import Action
from migrations_app.actions.targets.nodes import ALPHA
from migrations_app.inventory.facts.ownership import OwnedNode
from migrations_app.manifests.natural_order import natural

NODES = "nodes"
MAX_NODES = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeColumn:
    """One parameter. `problem` says why the submitted nodes are invalid."""

    name: str
    question: str
    problem: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeLine:
    """One node; `chosen` says for each column whether its box is ticked."""

    name: str
    pool: str
    """Provisioner/name or NodePool/name."""
    zone: str
    instance_type: str
    chosen: tuple[tuple[NodeColumn, bool], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeTable:
    """`left_out` is the number of nodes that are not listed because there are more than MAX_NODES."""

    columns: tuple[NodeColumn, ...]
    lines: tuple[NodeLine, ...]
    left_out: int


def karpenter_nodes(nodes: Sequence[OwnedNode]) -> list[OwnedNode]:
    """Returns Karpenter's nodes by pool, zone and name."""
    owned_nodes = (node for node in nodes if node.owner.startswith("karpenter"))
    return sorted(owned_nodes, key=lambda node: (pool_of(node), node.zone, natural(node.name)))


def pool_of(node: OwnedNode) -> str:
    """Returns the pool in the form that pool parameters take; empty if it is not known."""
    kind = "Provisioner" if node.owner == ALPHA else "NodePool"
    return f"{kind}/{node.pool}" if node.pool else ""


def node_table(
    action: Action, nodes: Sequence[OwnedNode], *, form: QueryDict | None, problems: Mapping[str, str]
) -> NodeTable | None:
    """Returns the table; None if the action takes no nodes, or there is none."""
    columns = tuple(
        NodeColumn(name=parameter.name, question=parameter.question, problem=problems.get(parameter.name, ""))
        for parameter in action.parameters
        if parameter.of == NODES
    )
    owned_nodes = karpenter_nodes(nodes)
    if not columns or not owned_nodes:
        return None
    ticked = {column.name: set(form.getlist(column.name) if form is not None else ()) for column in columns}
    lines = tuple(
        NodeLine(
            name=node.name,
            pool=pool_of(node),
            zone=node.zone,
            instance_type=node.instance_type,
            chosen=tuple((column, node.name in ticked[column.name]) for column in columns),
        )
        for node in owned_nodes[:MAX_NODES]
    )
    return NodeTable(columns=columns, lines=lines, left_out=len(owned_nodes) - len(lines))

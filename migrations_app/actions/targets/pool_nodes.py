"""The nodes that go with a deleted pool: the limit of their number right before the request, and the gate behind it."""

from collections.abc import Iterator
from typing import Final

from migrations_app.actions.changes import ObjectTarget
from migrations_app.actions.gate import Gate
from migrations_app.actions.plan import ListLimit
from migrations_app.inventory.inventory import Inventory
from migrations_app.karpenter import kinds, labels

GATE_SECONDS: Final = 3600
LONGEST_LABEL_VALUE: Final = 63


def gate_after_deletion(target: ObjectTarget) -> Gate:
    """The pool is gone, and its pods run elsewhere."""
    return Gate(gone=(target,), replaced=True, pending_above=0, seconds=GATE_SECONDS)


def node_limits(inventory: Inventory, kind: str, *, name: str) -> Iterator[ListLimit]:
    """The limit of the nodes that go with the Provisioner or NodePool, which may have launched more since. A name that
    is too long for the label of a node has none.
    """
    is_alpha, row = kind == kinds.PROVISIONER.kind, kinds.NODE
    own, other = (labels.PROVISIONER_NAME, labels.NODEPOOL) if is_alpha else (labels.NODEPOOL, labels.PROVISIONER_NAME)
    having = (node.metadata for node in inventory.nodes.items if node.metadata.label(own) == name)
    if len(name) <= LONGEST_LABEL_VALUE:
        yield ListLimit(
            group=row.group, version=row.versions[0], plural=row.plural,
            label_selector=f"{own}={name},!{other}", most=sum(node.label(other) is None for node in having),
            what=f"nodes of {kind} {name}",
        )  # fmt: skip

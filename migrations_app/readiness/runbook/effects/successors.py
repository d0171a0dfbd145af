"""Computes the inventory after NodePools and EC2NodeClasses were made from alpha objects, which stay."""

from collections.abc import Iterable
from typing import Any, Final

import msgspec

from migrations_app.actions.base import Unavailable
from migrations_app.actions.targets.pools import Successor, successors
from migrations_app.errors import InvalidInput
from migrations_app.inventory.inventory import Inventory
from migrations_app.inventory.objects import karpenter as o
from migrations_app.inventory.parse import decoder, read_one
from migrations_app.inventory.parts import Part, Seen, UnparsableObject
from migrations_app.readiness.runbook.effects.object_lookup import with_items, with_parts
from migrations_app.readiness.runbook.effects.unknown_effect import NotShown

SUCCESSOR_KINDS: Final[dict[str, tuple[str, type[o.NamedObject]]]] = {
    "EC2NodeClass": ("ec2nodeclasses", o.EC2NodeClass),
    "NodePool": ("nodepools", o.NodePool),
}


def with_successors(inventory: Inventory) -> Inventory | NotShown:
    """The inventory with a NodePool for each Provisioner and an EC2NodeClass for each AWSNodeTemplate that has none.
    NotShown `for_a_person` if the conversion leaves a choice open."""
    try:
        new_objects = successors(inventory, {})
    except (Unavailable, InvalidInput) as reason:
        return NotShown("for_a_person", reason.code)
    changed: dict[str, Part[Any]] = {}
    for kind, (name, projection) in SUCCESSOR_KINDS.items():
        part: Any = inventory.part(name)
        if not isinstance(part, Seen):
            return NotShown("part_not_read", name)
        made = [_object(successor, projection) for successor in new_objects if successor.target.kind == kind]
        if any(isinstance(item, UnparsableObject) for item in made):
            return NotShown("refused", kind)
        changed[name] = with_items(part, (*part.items, *_absent(made, part.items)))
    return with_parts(inventory, changed)


def _object(successor: Successor, projection: type[o.NamedObject]) -> Any:  # noqa: ANN401 - an object or why it is none
    return read_one(msgspec.Raw(msgspec.json.encode(successor.body)), projection, take=decoder(projection).decode)


def _absent(candidates: Iterable[Any], present: Iterable[o.NamedObject]) -> list[Any]:
    present_names = {named_object.name for named_object in present}
    return [item for item in candidates if item.name not in present_names]

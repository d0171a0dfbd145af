"""Converts the cluster's own objects and reports what the conversion would lose as results of a check."""

from collections.abc import Collection, Iterator
from functools import lru_cache
from typing import Any, Final

from migrations_app.checks.base import Evidence, Unknown
from migrations_app.checks.evidence import LONGEST_FIELD_TEXT
from migrations_app.conversion.convert import Item, convert
from migrations_app.conversion.finding_codes import CATALOGUE
from migrations_app.conversion.findings import ConversionFinding
from migrations_app.conversion.objects import KnownNames
from migrations_app.inventory.facts.node_classes import CONVERTIBLE_PARTS, convertible
from migrations_app.inventory.facts.node_pools import own_pools
from migrations_app.inventory.inventory import Inventory
from migrations_app.karpenter import kinds

ALPHA: Final = tuple(kind.kind for kind in kinds.ALPHA_KINDS)
UNREADABLE: Final = frozenset({"bad-type", "bad-quantity", "bad-duration", "name-missing"})
"""Codes of malformed values: the result of the conversion is unknown."""
STOPPING: Final = frozenset(code for code, row in CATALOGUE.items() if row.severity in ("error", "action"))
"""Codes of objects that are not converted, or only after a decision."""


def conversion_losses(inventory: Inventory, *, generation: str, codes: Collection[str]) -> Iterator[Evidence | Unknown]:
    """The findings with these codes for objects of that generation ("alpha", "beta", "v1") on conversion to the next
    one; Unknown for malformed values."""
    for item in conversion_items(inventory, generation=generation):
        for loss in item.losses:
            if loss.code in UNREADABLE:
                yield Unknown(f"{loss.kind} {loss.name}: {loss.path}: {loss.what}"[:LONGEST_FIELD_TEXT])
            elif loss.code in codes:
                yield _evidence(loss)


def conversion_items(inventory: Inventory, *, generation: str) -> tuple[Item, ...]:
    """The conversion result of each object of that generation, without the NodePools of EKS Auto Mode."""
    return tuple(item for item in _converted(_PartsKey(inventory)) if item.generation == generation)


def _evidence(loss: ConversionFinding) -> Evidence:
    return Evidence(
        kind=loss.kind,
        name=loss.name,
        path=loss.path,
        seen=loss.what[:LONGEST_FIELD_TEXT],
        wanted=loss.why[:LONGEST_FIELD_TEXT],
    )


class _PartsKey:
    """Cache key of the parts that a conversion reads. It compares identity, because comparing content is slow."""

    def __init__(self, inventory: Inventory) -> None:
        self.parts = {name: inventory.part(name) for name in CONVERTIBLE_PARTS}

    def __hash__(self) -> int:
        return hash(tuple(map(id, self.parts.values())))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _PartsKey) and all(part is other.parts[name] for name, part in self.parts.items())


@lru_cache(maxsize=1)
def _converted(key: _PartsKey) -> tuple[Item, ...]:
    """The conversion of all objects. The last result is cached, because several checks need it at each hop; the key
    holds only these parts, not the whole inventory."""
    parts: dict[str, Any] = key.parts
    inventory = Inventory(cluster="", taken_at="", **parts)
    own_names = {pool.name for pool in own_pools(inventory)}
    trees = [tree for tree in convertible(inventory) if tree["kind"] != "NodePool" or _name(tree) in own_names]
    known = KnownNames(all_pools_given=True)
    # Converted separately: next to its successor, a template would be reported as a duplicate class.
    alpha = [tree for tree in trees if tree["kind"] in ALPHA]
    return (
        *convert(alpha, known_names=known).items,
        *convert((tree for tree in trees if tree["kind"] not in ALPHA), known_names=known).items,
    )


def _name(tree: dict[str, Any]) -> object:
    return tree["metadata"]["name"]

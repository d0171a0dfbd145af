"""The rows of requirements that NodePools and Provisioners ask of nodes, with where they stand."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from migrations_app.inventory.inventory import Inventory
from migrations_app.inventory.objects import WholeObject
from migrations_app.inventory.pools import own_pools

POOL_PATH = "spec.template.spec.requirements"
PROVISIONER_PATH = "spec.requirements"


@dataclass(frozen=True, slots=True)
class Requirement:
    """One requirement of one pool; `values` are texts."""

    kind: str
    name: str
    path: str
    key: str
    operator: str
    values: tuple[str, ...]


def requirements(inventory: Inventory) -> Iterator[Requirement]:
    """Those of NodePools, then those of Provisioners; rows of an odd shape are left out."""
    for pool in own_pools(inventory):
        yield from _rows(pool, kind="NodePool", path=POOL_PATH)
    for provisioner in inventory.provisioners.items:
        yield from _rows(provisioner, kind="Provisioner", path=PROVISIONER_PATH)


def _rows(one: WholeObject, *, kind: str, path: str) -> Iterator[Requirement]:
    found: Any = one.get(path, [])
    for row in found if isinstance(found, list) else ():
        if isinstance(row, dict) and isinstance(row.get("key"), str):
            values = row.get("values")
            texts = tuple(str(value) for value in values) if isinstance(values, list) else ()
            yield Requirement(kind, one.name, path, row["key"], str(row.get("operator", "")), texts)

"""The Unknown for dumps that do not contain the managed fields of objects."""

from collections.abc import Iterator, Sequence

from migrations_app.checks.base import Unknown
from migrations_app.inventory.inventory import Inventory
from migrations_app.inventory.parts import Seen


def hidden_fields(inventory: Inventory, parts: Sequence[str]) -> Iterator[Unknown]:
    """One Unknown that names all parts whose objects were dumped without managed fields; nothing if all have them."""
    hidden = [name for name in parts if _hides(inventory, name)]
    if hidden:
        yield Unknown(f"{', '.join(hidden)} came without managed fields: dump them with --show-managed-fields")


def _hides(inventory: Inventory, name: str) -> bool:
    part = inventory.part(name)
    return isinstance(part, Seen) and part.fields_hidden

"""What is worked out from an inventory once and asked for by many checks at every hop."""

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar

from migrations_app.inventory.inventory import Inventory

T = TypeVar("T")


def once(function: Callable[[Inventory], T]) -> Callable[[Inventory], T]:
    """Decorator of a pure function: for each inventory it runs once, and answers with the same value ever after."""

    @wraps(function)
    def known(inventory: Inventory) -> T:
        if function not in inventory.known:
            inventory.known[function] = function(inventory)
        found: Any = inventory.known[function]
        answer: T = found
        return answer

    return known

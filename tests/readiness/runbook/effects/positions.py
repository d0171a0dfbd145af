"""What an inventory may take over from the one before a change."""

from dataclasses import replace

from migrations_app.inventory.inventory import Inventory
from migrations_app.readiness.runbook.effects.object_lookup import positions


def remembers_only_positions(inventory: Inventory) -> bool:
    """Whether nothing is cached but where objects stand, and that is what a new look at the parts gives."""
    anew = replace(inventory)
    kept = {key: fact.value for key, fact in inventory.known.items()}
    return kept == {(positions, part): positions(anew, part) for _, part in kept}

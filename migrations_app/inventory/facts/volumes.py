"""The zones of claimed PersistentVolumes: the pods with these claims can only run there."""

from collections import defaultdict

from migrations_app.inventory.inventory import Inventory, once


@once
def zones_claimed_in(inventory: Inventory) -> dict[str, frozenset[str]]:
    """By namespace, the zones of the volumes that are claimed there; an empty set if any node can use the volumes.

    Namespaces without a claimed volume are left out.
    """
    by_namespace: dict[str, set[str]] = defaultdict(set)
    for volume in inventory.volumes.items:
        if volume.claimed_in:
            by_namespace[volume.claimed_in] |= volume.zones
    return {namespace: frozenset(zones) for namespace, zones in by_namespace.items()}

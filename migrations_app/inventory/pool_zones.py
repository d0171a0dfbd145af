"""Whether nodes of a NodePool may stand in a zone: by its requirements, and by the subnets of its class."""

from typing import Any

from migrations_app.inventory.inventory import Inventory
from migrations_app.inventory.objects import NodePool

ZONE = "topology.kubernetes.io/zone"
_SPELLED = (ZONE, "failure-domain.beta.kubernetes.io/zone")


def reaches(inventory: Inventory, pool: NodePool, *, zone: str) -> bool:
    """True unless a requirement of the pool, or the subnets that its class found, leave the zone out."""
    rows = pool.get("spec.template.spec.requirements", [])
    asked = [row for row in rows if isinstance(row, dict)] if isinstance(rows, list) else []
    return all(_admits(row, zone) for row in asked if row.get("key") in _SPELLED) and _has_subnet(
        inventory, pool, zone=zone
    )


def _admits(row: dict[str, Any], zone: str) -> bool:
    values = row.get("values")
    listed = values if isinstance(values, list) else []
    answers = {"In": zone in listed, "NotIn": zone not in listed, "DoesNotExist": False}
    return answers.get(str(row.get("operator")), True)


def _has_subnet(inventory: Inventory, pool: NodePool, *, zone: str) -> bool:
    name = pool.get("spec.template.spec.nodeClassRef.name")
    node_class = next((one for one in inventory.ec2nodeclasses.items if one.name == name), None)
    subnets = node_class.get("status.subnets", []) if node_class else []
    zones = {one.get("zone") for one in subnets if isinstance(one, dict)} if isinstance(subnets, list) else set()
    return not zones or zone in zones

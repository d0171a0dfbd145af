"""What still hangs on objects of alpha: nodes and Machines of a Provisioner, and who refers to a node template."""

from collections.abc import Collection

from migrations_app.inventory.inventory import Inventory
from migrations_app.inventory.ownership import ownership
from migrations_app.karpenter import labels


def nodes_of(inventory: Inventory, provisioner: str) -> int:
    """Its nodes. An alpha node whose Provisioner nobody can tell counts for each of them."""
    owned = ownership(inventory).nodes
    return sum(one.owner == "karpenter_alpha" and one.pool in ("", provisioner) for one in owned)


def machines_of(inventory: Inventory, provisioner: str) -> int:
    """Its Machines; one without the label counts for each Provisioner."""
    told = (one.metadata.label(labels.PROVISIONER_NAME) or "" for one in inventory.machines.items)
    return sum(name in ("", provisioner) for name in told)


def templates_used(inventory: Inventory, *, without: Collection[str]) -> frozenset[str]:
    """The node templates that Machines refer to, and Provisioners other than those named."""
    staying = (one for one in inventory.provisioners.items if one.name not in without)
    by_provisioners = {str(one.get("spec.providerRef.name", "")) for one in staying}
    references = (one.spec.machine_template_ref for one in inventory.machines.items)
    return frozenset(by_provisioners | {reference.name or "" for reference in references if reference})

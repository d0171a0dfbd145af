"""CRDs as targets, how many objects are behind each, and the rights to change them."""

from migrations_app.actions.changes import Need, Target
from migrations_app.inventory.inventory import Inventory
from migrations_app.inventory.objects import CRD
from migrations_app.karpenter import kinds
from migrations_app.karpenter.kinds import Kind

PARTS: dict[Kind, str] = {
    kinds.PROVISIONER: "provisioners",
    kinds.AWS_NODE_TEMPLATE: "awsnodetemplates",
    kinds.MACHINE: "machines",
    kinds.NODE_POOL: "nodepools",
    kinds.EC2_NODE_CLASS: "ec2nodeclasses",
    kinds.NODE_CLAIM: "nodeclaims",
}
"""The part of the inventory that holds the objects of a kind."""


def crd_target(name: str, uid: str = "") -> Target:
    """The CRD of that name."""
    row = kinds.CRD
    return Target(row.group, row.versions[0], row.plural, row.kind, name, uid=uid)


def target_of(crd: CRD) -> Target:
    """The very CRD that was seen."""
    return crd_target(crd.name, crd.metadata.uid or "")


def object_target(kind: Kind, version: str, *, name: str, uid: str = "") -> Target:
    """One object of a kind without namespaces, in that version."""
    return Target(kind.group, version, kind.plural, kind.kind, name, uid=uid)


def crd_need(verb: str, subresource: str = "") -> Need:
    """The right to do that with CRDs."""
    return Need(verb=verb, group=kinds.CRD.group, plural=kinds.CRD.plural, subresource=subresource)


def kind_need(verb: str, kind: Kind) -> Need:
    """The right to do that with objects of the kind."""
    return Need(verb=verb, group=kind.group, plural=kind.plural)


def find_crd(inventory: Inventory, name: str) -> CRD | None:
    """The CRD of that name as it was seen; None where there is none."""
    return next((crd for crd in inventory.crds.items if crd.name == name), None)

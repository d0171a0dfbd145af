"""Pools, claims and node classes of Karpenter's own: without what EKS Auto Mode keeps under the same kinds."""

from collections.abc import Iterator
from typing import Any

from migrations_app.inventory.inventory import Inventory
from migrations_app.inventory.objects import EC2NodeClass, Named, NodeClaim, NodePool, WholeObject
from migrations_app.inventory.sharing import once
from migrations_app.karpenter import kinds

REFERENCE = "spec.template.spec.nodeClassRef"
REQUIREMENTS = "spec.template.spec.requirements"
USER_DATA = "spec.userData"
AMI_TERMS = "spec.amiSelectorTerms"
FAMILIES = {
    name.lower(): name
    for name in ("AL2", "AL2023", "Bottlerocket", "Ubuntu", "Custom", "Windows2019", "Windows2022", "Windows2025")
}
"""Image families by the word that an alias uses for them; Ubuntu and Custom have none."""


def is_auto_mode(group: object, api_version: object = None) -> bool:
    """Whether a reference with that group, or API version in v1beta1, leads to a node class of EKS Auto Mode."""
    return kinds.AUTO_MODE_GROUP in (group, str(api_version or "").partition("/")[0])


@once
def own_pools(inventory: Inventory) -> tuple[NodePool, ...]:
    """The NodePools that Karpenter itself acts on; empty also where they could not be read."""
    return tuple(
        pool
        for pool in inventory.nodepools.items
        if not is_auto_mode(pool.get(f"{REFERENCE}.group"), pool.get(f"{REFERENCE}.apiVersion"))
    )


@once
def own_claims(inventory: Inventory) -> tuple[NodeClaim, ...]:
    """The NodeClaims that Karpenter itself acts on; empty also where they could not be read."""
    return tuple(claim for claim in inventory.nodeclaims.items if not _foreign(claim))


def _foreign(claim: NodeClaim) -> bool:
    reference = claim.spec.node_class_ref
    return reference is not None and is_auto_mode(reference.group, reference.api_version)


def class_name(pool: NodePool) -> str:
    """The node class that the pool names; empty where it names none."""
    found = pool.get(f"{REFERENCE}.name")
    return found if isinstance(found, str) else ""


def rows(one: WholeObject, path: str) -> tuple[tuple[int, dict[str, Any]], ...]:
    """The entries of the list at that path which are maps, each with its place; empty where there is no list."""
    found = one.get(path)
    return tuple((place, row) for place, row in enumerate(found if isinstance(found, list) else ()) if _is_map(row))


def _is_map(row: object) -> bool:
    return isinstance(row, dict)


def strings(one: WholeObject, path: str) -> dict[str, str]:
    """The pairs of text in the map at that path."""
    found = one.get(path)
    pairs = found.items() if isinstance(found, dict) else ()
    return {key: value for key, value in pairs if isinstance(value, str)}


def text(one: WholeObject, path: str) -> str:
    """The text at that path; empty for anything else."""
    found = one.get(path)
    return found if isinstance(found, str) else ""


def aliases(node_class: EC2NodeClass) -> Iterator[tuple[int, str]]:
    """The aliases among the terms for images, each with its place."""
    for place, term in rows(node_class, AMI_TERMS):
        if isinstance(term.get("alias"), str):
            yield place, term["alias"]


def family(node_class: EC2NodeClass) -> str:
    """The image family as amiFamily spells it: that field, else the alias; empty where neither tells."""
    told = text(node_class, "spec.amiFamily")
    from_alias = (FAMILIES.get(alias.partition("@")[0].lower(), "") for _, alias in aliases(node_class))
    return told or next(from_alias, "")


def is_v1(inventory_part: object, one: Named) -> bool:
    """Whether that object was read as v1; what nothing tells about is taken for v1, the newest."""
    told = one.api_version or getattr(inventory_part, "served", None) or "v1"
    return str(told).rpartition("/")[2] == "v1"

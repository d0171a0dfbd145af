"""Shows NodePools, EC2NodeClasses and NodeClaims of an inventory in v1, as a scan reads them once CRDs serve it."""

from collections.abc import Iterable, Mapping
from dataclasses import replace as with_fields
from typing import Any, TypeVar

import msgspec

from migrations_app.conversion.webhook import NEVER, converted
from migrations_app.inventory.inventory import Inventory
from migrations_app.inventory.objects import karpenter as o
from migrations_app.inventory.parts import Part, Seen
from migrations_app.karpenter import kinds, labels
from migrations_app.readiness.runbook.effects.object_lookup import with_parts
from migrations_app.readiness.runbook.effects.trees import tree_of

N = TypeVar("N", bound=o.NamedObject)


def converted_to_v1(inventory: Inventory) -> Inventory:
    """The inventory with the objects of these kinds in v1 where their CRD serves v1; other objects stay as they are."""
    serving = {crd.name for crd in inventory.crds.items if "v1" in crd.served}
    changed: dict[str, Part[Any]] = {}
    pools, classes, claims = inventory.nodepools, inventory.ec2nodeclasses, inventory.nodeclaims
    if isinstance(pools, Seen) and kinds.NODE_POOL.crd_name in serving:
        changed["nodepools"] = pools = _part_as_v1(
            pools, [_in_v1(pool) if _is_beta(pool, pools) else pool for pool in pools.items]
        )
    if isinstance(classes, Seen) and kinds.EC2_NODE_CLASS.crd_name in serving:
        ec2_node_classes = [
            _in_v1(ec2_node_class) if _is_beta(ec2_node_class, classes) else ec2_node_class
            for ec2_node_class in classes.items
        ]
        changed["ec2nodeclasses"] = _part_as_v1(classes, ec2_node_classes)
    if isinstance(claims, Seen) and kinds.NODE_CLAIM.crd_name in serving:
        expiry = {pool.name: str(pool.get("spec.template.spec.expireAfter", NEVER)) for pool in pools.items}
        converted = [_in_v1(claim, expiry) if _is_beta(claim, claims) else claim for claim in claims.items]
        changed["nodeclaims"] = _part_as_v1(claims, converted)
    return with_parts(inventory, {name: part for name, part in changed.items() if part is not inventory.part(name)})


def _is_beta(named_object: o.NamedObject, part: Seen[Any]) -> bool:
    return (named_object.api_version or part.served or "").endswith("/v1beta1")


def _part_as_v1(part: Seen[Any], items: Iterable[Any]) -> Seen[Any]:
    """The part as a scan reads it in v1; the same value if nothing changes."""
    converted = tuple(items)
    served = (part.served or "").replace("/v1beta1", "/v1") or None
    if served == part.served and all(after is before for after, before in zip(converted, part.items, strict=True)):
        return part
    return with_fields(part, items=converted, served=served, other_version=None)


def _in_v1(named_object: N, expiry: Mapping[str, str] | None = None) -> N:
    """The object as the webhook shows it in v1. `expiry` has expireAfter of each NodePool, for NodeClaims."""
    pool = named_object.metadata.label(labels.NODEPOOL) or ""
    expire_after = None if expiry is None else expiry.get(pool, NEVER)
    document = tree_of(named_object) | {"apiVersion": named_object.api_version, "kind": named_object.kind}
    version = named_object.api_version.replace("/v1beta1", "/v1")
    after = converted(document, version, expire_after=expire_after)
    return msgspec.convert(after, type(named_object))

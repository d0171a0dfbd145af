"""The drift hashes that pools, node classes and their claims carry, side by side."""

from collections.abc import Iterator
from dataclasses import dataclass

from migrations_app.inventory.inventory import Inventory
from migrations_app.inventory.objects import EC2NodeClass, NodeClaim, NodePool
from migrations_app.karpenter import labels


@dataclass(frozen=True, slots=True)
class Hashed:
    """One pool or node class: the version of its hash, None where it has none, and its claims."""

    kind: str
    name: str
    annotation: str
    version: str | None
    claims: tuple[NodeClaim, ...]

    @property
    def behind(self) -> dict[str, int]:
        """How many claims carry which other version; "none" for those without."""
        found: dict[str, int] = {}
        for claim in self.claims:
            have = claim.metadata.annotation(self.annotation)
            if self.version is not None and have != self.version:
                found[have or "none"] = found.get(have or "none", 0) + 1
        return found

    @property
    def drifted(self) -> int:
        """How many of its claims are to be replaced already."""
        return sum(claim.condition("Drifted") == "True" for claim in self.claims)


def hashed(inventory: Inventory) -> Iterator[Hashed]:
    """Every pool, then every node class of ours."""
    by_pool: dict[str, list[NodeClaim]] = {}
    by_class: dict[str, list[NodeClaim]] = {}
    for claim in inventory.nodeclaims.items:
        by_pool.setdefault(claim.metadata.label(labels.NODEPOOL) or "", []).append(claim)
        by_class.setdefault(_class_of(claim), []).append(claim)
    for pool in inventory.nodepools.items:
        yield _hashed(pool, "NodePool", annotation=labels.NODEPOOL_HASH_VERSION, claims=by_pool.get(pool.name, []))
    for one in inventory.ec2nodeclasses.items:
        yield _hashed(
            one, "EC2NodeClass", annotation=labels.EC2_NODE_CLASS_HASH_VERSION, claims=by_class.get(one.name, [])
        )


def _class_of(claim: NodeClaim) -> str:
    reference = claim.spec.node_class_ref
    return (reference.name if reference and reference.kind in (None, "", "EC2NodeClass") else None) or ""


def _hashed(one: NodePool | EC2NodeClass, kind: str, *, annotation: str, claims: list[NodeClaim]) -> Hashed:
    return Hashed(kind, one.name, annotation, one.metadata.annotation(annotation), tuple(claims))

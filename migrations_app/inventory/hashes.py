"""The drift hashes that pools, node classes and their claims carry, side by side."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from migrations_app.inventory.inventory import Inventory
from migrations_app.inventory.objects import EC2NodeClass, NodeClaim, NodePool
from migrations_app.inventory.sharing import once
from migrations_app.karpenter import labels


@dataclass(frozen=True, slots=True)
class Hashed:
    """One pool or node class: the version of its hash, None where it has none, and its claims."""

    kind: str
    name: str
    annotation: str
    version: str | None
    claims: tuple[NodeClaim, ...]
    behind: dict[str, int]
    """How many claims carry which other version; "none" for those without."""
    drifted: int
    """How many of its claims are to be replaced already."""


@once
def hashed(inventory: Inventory) -> tuple[Hashed, ...]:
    """Every pool, then every node class of ours."""
    return tuple(_every(inventory))


def _every(inventory: Inventory) -> Iterator[Hashed]:
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
    version = one.metadata.annotation(annotation)
    have = Counter(claim.metadata.annotation(annotation) or "none" for claim in claims)
    behind = {} if version is None else {each: count for each, count in have.items() if each != version}
    drifted = sum(claim.condition("Drifted") == "True" for claim in claims)
    return Hashed(kind, one.name, annotation, version, tuple(claims), behind, drifted)

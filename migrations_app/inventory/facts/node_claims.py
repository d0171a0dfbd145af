"""State of NodeClaims and Machines: which condition they lack until their node has joined, when they expire, and their
drift hashes compared with those of pools and node classes.
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import lru_cache

from migrations_app.conversion.quantities import nanoseconds
from migrations_app.inventory.facts.node_pools import own_claims
from migrations_app.inventory.inventory import Inventory, once
from migrations_app.inventory.objects.karpenter import (
    EC2NodeClass,
    KarpenterClaim,
    Machine,
    NodeClaim,
    NodePool,
    Provisioner,
)
from migrations_app.karpenter import kinds, labels

ORDER = ("Registered", "Initialized")
ALPHA_PREFIX = "Machine"
_JOINED = {prefix: frozenset(f"{prefix}{word}" for word in ORDER) for prefix in ("", ALPHA_PREFIX)}
ClaimStep = tuple[KarpenterClaim, str, str]
"""A claim, its kind, and the first condition that it does not meet yet; empty if it has joined."""


@once
def missing_conditions(inventory: Inventory) -> tuple[ClaimStep, ...]:
    """Every claim of Karpenter's own that is not being deleted, with the first condition that it does not meet yet."""
    pairs = ((kinds.MACHINE.kind, inventory.machines.items), (kinds.NODE_CLAIM.kind, own_claims(inventory)))
    return tuple(
        (claim, kind, _missing(claim, prefix=ALPHA_PREFIX if kind == kinds.MACHINE.kind else ""))
        for kind, claims in pairs
        for claim in claims
        if not claim.metadata.deleting
    )


def _missing(claim: KarpenterClaim, *, prefix: str) -> str:
    true_conditions = {
        condition.type for condition in (claim.status and claim.status.conditions) or () if condition.status == "True"
    }
    if _JOINED[prefix] <= true_conditions:
        return ""
    return next(f"{prefix}{word}" for word in ORDER if f"{prefix}{word}" not in true_conditions)


def expired(claim: NodeClaim, pools: dict[str, NodePool], *, now: str) -> bool | None:
    """Whether the claim has expired, by its own expireAfter (v1) or that of its pool (v1beta1); None if the pool, a
    duration or a time cannot be read.
    """
    if claim.condition("Expired") == "True":
        return True
    after = _expire_after(claim, pools)
    if after == "Never":
        return False
    length = _length(after) if after else None
    created, current = moment(claim.metadata.creation_timestamp), moment(now)
    if length is None or created is None or current is None:
        return None
    return created + timedelta(microseconds=length // 1000) <= current


@lru_cache(maxsize=64)
def _length(after: str) -> int | None:
    return nanoseconds(after)


def _expire_after(claim: NodeClaim, pools: dict[str, NodePool]) -> str:
    if claim.spec.expire_after:
        return claim.spec.expire_after
    pool = pools.get(claim.metadata.label(labels.NODEPOOL) or "")
    if pool is None:
        return ""
    expiry = pool.get("spec.disruption.expireAfter") or pool.get("spec.template.spec.expireAfter")
    return expiry if isinstance(expiry, str) else "720h"


@lru_cache(maxsize=4096)
def moment(text: str | None) -> datetime | None:
    """The time of an RFC 3339 text; None if it cannot be parsed or has no time zone."""
    try:
        parsed = datetime.fromisoformat(text) if text else None
    except ValueError:
        return None
    return parsed if parsed is not None and parsed.tzinfo is not None else None


@dataclass(frozen=True, slots=True)
class DriftHashes:
    """One pool or node class: its hash version (None if it has none) and its claims."""

    kind: str
    name: str
    annotation: str
    version: str | None
    claims: tuple[NodeClaim, ...]
    behind: dict[str, int]
    """Number of claims by each other hash version that they carry; "none" for those without."""
    drifted: int
    """Number of its claims that are already marked as drifted."""


@once
def drift_hashes(inventory: Inventory) -> tuple[DriftHashes, ...]:
    """The hashes of every pool, then of every node class, of Karpenter's own."""
    return tuple(_every(inventory))


def _every(inventory: Inventory) -> Iterator[DriftHashes]:
    by_pool: dict[str, list[NodeClaim]] = {}
    by_class: dict[str, list[NodeClaim]] = {}
    for claim in inventory.nodeclaims.items:
        by_pool.setdefault(claim.metadata.label(labels.NODEPOOL) or "", []).append(claim)
        by_class.setdefault(_class_of(claim), []).append(claim)
    for pool in inventory.nodepools.items:
        yield _hashed(pool, "NodePool", annotation=labels.NODEPOOL_HASH_VERSION, claims=by_pool.get(pool.name, []))
    for ec2nodeclass in inventory.ec2nodeclasses.items:
        yield _hashed(
            ec2nodeclass,
            "EC2NodeClass",
            annotation=labels.EC2_NODE_CLASS_HASH_VERSION,
            claims=by_class.get(ec2nodeclass.name, []),
        )


def _class_of(claim: NodeClaim) -> str:
    reference = claim.spec.node_class_ref
    return (reference.name if reference and reference.kind in (None, "", "EC2NodeClass") else None) or ""


def _hashed(owner: NodePool | EC2NodeClass, kind: str, *, annotation: str, claims: list[NodeClaim]) -> DriftHashes:
    version = owner.metadata.annotation(annotation)
    count_by_version = Counter(claim.metadata.annotation(annotation) or "none" for claim in claims)
    outdated = (
        {}
        if version is None
        else {claim_version: count for claim_version, count in count_by_version.items() if claim_version != version}
    )
    drifted = sum(claim.condition("Drifted") == "True" for claim in claims)
    return DriftHashes(kind, owner.name, annotation, version, tuple(claims), outdated, drifted)


def without_drift_hash(inventory: Inventory) -> Iterator[Provisioner | Machine]:
    """The Provisioners and Machines without the hash that shows drift."""
    every: tuple[Provisioner | Machine, ...] = (*inventory.provisioners.items, *inventory.machines.items)
    for alpha_object in every:
        if alpha_object.metadata.annotation(labels.PROVISIONER_HASH) is None:
            yield alpha_object

"""When a NodeClaim expires: by its own expireAfter (v1), or by that of its pool (v1beta1)."""

from datetime import datetime, timedelta
from functools import lru_cache

from migrations_app.inventory.objects import NodeClaim, NodePool
from migrations_app.karpenter import labels
from migrations_app.karpenter.conversion.durations import nanoseconds


def expired(claim: NodeClaim, pools: dict[str, NodePool], *, now: str) -> bool | None:
    """Whether its time is over; None where the pool, a duration or a time cannot be read."""
    if claim.condition("Expired") == "True":
        return True
    after = _expire_after(claim, pools)
    if after == "Never":
        return False
    length = _length(after) if after else None
    born, read = moment(claim.metadata.creation_timestamp), moment(now)
    if length is None or born is None or read is None:
        return None
    return born + timedelta(microseconds=length // 1000) <= read


@lru_cache(maxsize=64)
def _length(after: str) -> int | None:
    return nanoseconds(after)


def _expire_after(claim: NodeClaim, pools: dict[str, NodePool]) -> str:
    if claim.spec.expire_after:
        return claim.spec.expire_after
    pool = pools.get(claim.metadata.label(labels.NODEPOOL) or "")
    if pool is None:
        return ""
    found = pool.get("spec.disruption.expireAfter") or pool.get("spec.template.spec.expireAfter")
    return found if isinstance(found, str) else "720h"


@lru_cache(maxsize=4096)
def moment(text: str | None) -> datetime | None:
    """The time that an RFC 3339 text tells; None where it cannot be read or names no zone."""
    try:
        found = datetime.fromisoformat(text) if text else None
    except ValueError:
        return None
    return found if found is not None and found.tzinfo is not None else None

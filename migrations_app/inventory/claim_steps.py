"""How far each claim has come on the way to its node."""

from migrations_app.inventory.inventory import Inventory
from migrations_app.inventory.objects import Claim
from migrations_app.inventory.pools import own_claims
from migrations_app.inventory.sharing import once
from migrations_app.karpenter import kinds

ORDER = ("Registered", "Initialized")
ALPHA_PREFIX = "Machine"
_JOINED = {prefix: frozenset(f"{prefix}{word}" for word in ORDER) for prefix in ("", ALPHA_PREFIX)}
Step = tuple[Claim, str, str]
"""A claim, its kind, and the condition that it does not meet yet; empty for one that has joined."""


@once
def first_steps(inventory: Inventory) -> tuple[Step, ...]:
    """Every claim of Karpenter's own that is not being deleted."""
    pairs = ((kinds.MACHINE.kind, inventory.machines.items), (kinds.NODE_CLAIM.kind, own_claims(inventory)))
    return tuple(
        (claim, kind, _missing(claim, prefix=ALPHA_PREFIX if kind == kinds.MACHINE.kind else ""))
        for kind, claims in pairs
        for claim in claims
        if not claim.metadata.deleting
    )


def _missing(claim: Claim, *, prefix: str) -> str:
    held = {one.type for one in (claim.status and claim.status.conditions) or () if one.status == "True"}
    if _JOINED[prefix] <= held:
        return ""
    return next(f"{prefix}{word}" for word in ORDER if f"{prefix}{word}" not in held)

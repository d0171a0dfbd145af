"""Who would revert a direct write, for the approver to accept by name (Step.manager)."""

from migrations_app.inventory.managers import REVERTS, managed
from migrations_app.inventory.objects import Metadata


def keeper(metadata: Metadata) -> str:
    """Such as `Flux flux-system/karpenter`; empty where nobody reverts what is written."""
    found = managed(metadata)
    who = REVERTS.get(found.by, "")
    owner = "/".join(part for part in (found.namespace, found.name) if part)
    return f"{who} {owner}" if who and owner else who

"""Who would revert a direct write, for the approver to accept by name (Step.manager)."""

from migrations_app.inventory.managers import Manager, managed
from migrations_app.inventory.objects import Metadata

SAID: dict[Manager, str] = {
    "flux": "Flux",
    "argocd": "Argo CD",
    "terraform": "Terraform (at its next run)",
    "eksctl": "eksctl (at its next run)",
}
"""Helm overwrites at the next upgrade of its release only, so it stands in no way."""


def keeper(metadata: Metadata) -> str:
    """Such as `Flux flux-system/karpenter`; empty where nobody reverts what is written."""
    found = managed(metadata)
    who = SAID.get(found.by, "")
    owner = "/".join(part for part in (found.namespace, found.name) if part)
    return f"{who} {owner}" if who and owner else who

"""What happens to objects that are already where they should go, or beyond it."""

from collections.abc import Mapping
from typing import Any

from migrations_app.karpenter.conversion import fields, metadata
from migrations_app.karpenter.conversion.drafts import Draft, spec_of
from migrations_app.karpenter.conversion.losses import Notes

_CHECKS = {"NodePool": fields.NODE_POOL, "EC2NodeClass": fields.NODE_CLASS}


def already_beta(body: Mapping[str, Any], notes: Notes, *, generation: str) -> list[Draft]:
    """A v1beta1 object with cleaned metadata when v1beta1 is wanted; nothing for v1 objects and NodeClaims."""
    if generation == "v1":
        notes.add(
            "no-way-back", (), what="a v1 object is not taken back to v1beta1; use the rollback of Karpenter's webhook"
        )
        return []
    if body["kind"] == "NodeClaim":
        notes.add("nodeclaim-view-only", (), what="a v1beta1 NodeClaim is left alone")
        return []
    head = metadata.cleaned(body, notes)
    _CHECKS[body["kind"]](spec_of(body), ("spec",), notes=notes)
    if notes.failed:
        return []
    notes.add("already-v1beta1", (), what="already v1beta1, printed as it is")
    kept = {key: head if key == "metadata" else value for key, value in body.items() if key != "status"}
    return [Draft(kept, notes)]

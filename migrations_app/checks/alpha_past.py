"""Whether a cluster has left the alpha kinds behind for good, so that what came with 0.32 is not before it any more."""

from typing import Final

from migrations_app.checks.base import Case
from migrations_app.checks.values import NotApplicable
from migrations_app.inventory.seen import Part, is_whole
from migrations_app.karpenter import kinds
from migrations_app.karpenter.versions import minor_order

LAST: Final = "0.32"
"""The last minor that acts on alpha objects."""
ALPHA_CRDS: Final = frozenset(kind.crd_name for kind in (*kinds.ALPHA_KINDS, kinds.DRAFT_NODE_CLASS))
PAST: Final = NotApplicable("a release after 0.32 runs, and nothing of alpha is left")


def alpha_is_past(case: Case) -> bool:
    """True only where a release after 0.32 runs and alpha objects and CRDs were looked for and none is there."""
    later = [minor_order(minor) > minor_order(LAST) for minor in case.running.minors]
    seen = case.inventory
    parts: tuple[Part[object], ...] = (seen.provisioners, seen.awsnodetemplates, seen.machines)
    none_left = all(is_whole(part) and not part.items for part in parts)
    no_crd = is_whole(seen.crds) and not any(crd.name in ALPHA_CRDS for crd in seen.crds.items)
    return bool(later) and all(later) and none_left and no_crd

"""The kubelet settings of a pool, wherever its release keeps them."""

import json
from typing import Any

from migrations_app.inventory.objects import NodePool
from migrations_app.karpenter import labels
from migrations_app.karpenter.conversion.kubelet import meaning

PATH = "spec.template.spec.kubelet"
ANNOTATION = f"metadata.annotations[{labels.KUBELET_COMPATIBILITY}]"
_MAPS = ("systemReserved", "kubeReserved", "evictionHard", "evictionSoft", "evictionSoftGracePeriod")


def kubelet_of(pool: NodePool) -> tuple[str, dict[str, Any] | None]:
    """Where the pool's own settings stand and what they are; empty where it has none, None where they are unreadable.

    The annotation is where 1.0 keeps what v1beta1 had in the pool.
    """
    own = pool.get(PATH)
    if own is not None:
        return PATH, own if _readable(own) else None
    parked = pool.metadata.annotation(labels.KUBELET_COMPATIBILITY)
    if not parked:
        return "", {}
    try:
        found = json.loads(parked)
    except (ValueError, RecursionError):
        return ANNOTATION, None
    return ANNOTATION, found if _readable(found) else None


def same_meaning(settings: object) -> str:
    """A text that is equal for settings that mean the same; empty for none, and for what cannot be read."""
    if not isinstance(settings, dict) or not _readable(settings):
        return ""
    return meaning({name: value for name, value in settings.items() if value is not None})


def _readable(found: object) -> bool:
    return isinstance(found, dict) and all(isinstance(found.get(name), dict | None) for name in _MAPS)

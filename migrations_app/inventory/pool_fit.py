"""Whether a NodePool admits what ran on a Provisioner's nodes: taints, labels and requirements of both."""

from collections.abc import Iterator
from typing import Any

from migrations_app.inventory.objects import NodePool, Provisioner, WholeObject
from migrations_app.karpenter import labels

_EFFECTS = ("NoSchedule", "NoExecute")
_FENCE = labels.LEGACY_TAINT
_OWNER_KEYS = (labels.PROVISIONER_NAME, labels.NODEPOOL)


def misfit(old: Provisioner, pool: NodePool) -> str:
    """Why the pool does not take over, in words that follow its name; empty where nothing speaks against it."""
    return next(_misfits(old, pool), "")


def _misfits(old: Provisioner, pool: NodePool) -> Iterator[str]:
    borne = _taints(old, "spec.taints")
    for taint in _taints(pool, "spec.template.spec.taints"):
        if taint not in borne:
            yield f"has the taint {taint[0]}, which the pods need not tolerate now"
    asked = _values(pool, "spec.template.spec.requirements")
    given = _texts(pool, "spec.template.metadata.labels")
    for key, value in _texts(old, "spec.labels").items():
        if key not in _OWNER_KEYS and given.get(key) != value and value not in asked.get(key, ()):
            yield f"does not give the label {key}={value}"
    for key, values in _values(old, "spec.requirements").items():
        wanted = asked.get(key, set() if key not in given else {given[key]})
        if wanted and not values & wanted:
            yield f"admits no {key} of {' '.join(sorted(values))}"


def _taints(one: WholeObject, path: str) -> set[tuple[str, str]]:
    found = ((str(row.get("key")), str(row.get("value", "")), row.get("effect")) for row in _rows(one, path))
    return {(key, value) for key, value, effect in found if effect in _EFFECTS and key != _FENCE}


def _values(one: WholeObject, path: str) -> dict[str, set[str]]:
    """The values that `In` lists, by key."""
    rows = (row for row in _rows(one, path) if row.get("operator") == "In" and isinstance(row.get("values"), list))
    return {str(row.get("key")): {str(value) for value in row["values"]} for row in rows}


def _texts(one: WholeObject, path: str) -> dict[str, str]:
    found = one.get(path, {})
    return {key: str(value) for key, value in found.items()} if isinstance(found, dict) else {}


def _rows(one: WholeObject, path: str) -> list[dict[str, Any]]:
    found = one.get(path, [])
    return [row for row in found if isinstance(row, dict)] if isinstance(found, list) else []

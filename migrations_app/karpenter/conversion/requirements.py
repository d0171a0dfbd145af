"""Requirements of a pool: the defaults that the alpha webhook added, and the keys that the new API refuses.

Source: aws/karpenter-provider-aws@v0.32.10:pkg/apis/v1alpha5/provisioner.go (defaults), CRDs at v0.32.10 (checks).
"""

from collections.abc import Mapping
from typing import Any, Final

from migrations_app.karpenter.conversion import keys
from migrations_app.karpenter.conversion.losses import Notes, Path

MOST_IN_BETA: Final = 30

Requirement = dict[str, Any]


def _default(key: str, operator: str, *values: str) -> Requirement:
    return {"key": key, "operator": operator, "values": list(values)}


_SINGLE: Final = (
    _default(keys.OS, "In", "linux"),
    _default(keys.ARCH, "In", "amd64"),
    _default(keys.CAPACITY_TYPE, "In", "on-demand"),
)
_CATEGORY: Final = _default(keys.INSTANCE_CATEGORY, "In", "c", "m", "r")
_GENERATION: Final = _default(keys.INSTANCE_GENERATION, "Gt", "2")
_SHAPE_KEYS: Final = frozenset(
    {keys.INSTANCE_TYPE, keys.INSTANCE_FAMILY, keys.INSTANCE_CATEGORY, keys.INSTANCE_GENERATION}
)


def checked(requirements: list[Requirement], at: Path, *, notes: Notes) -> list[Requirement]:
    """The requirements without those whose key the new API refuses; an impossible one is an error."""
    for index, requirement in enumerate(requirements):
        _check_values(requirement, (*at, index), notes=notes)
        key = requirement.get("key")
        if isinstance(key, str) and keys.is_restricted(key):
            said = f"{key} {requirement.get('operator')} {requirement.get('values', [])}"
            notes.add("restricted-key-dropped", (*at, index), what=f"the requirement {said} is refused and left out")
    return [item for item in requirements if not keys.is_restricted(item.get("key") or "")]


def _check_values(requirement: Requirement, at: Path, *, notes: Notes) -> None:
    operator, values = requirement.get("operator"), requirement.get("values") or []
    if operator == "In" and not values:
        notes.add("bad-type", (*at, "values"), what="In needs at least one value")
    if operator in ("Gt", "Lt") and not (len(values) == 1 and str(values[0]).isascii() and str(values[0]).isdigit()):
        notes.add("bad-type", (*at, "values"), what=f"{operator} needs exactly one whole number, written as text")


def check_count(requirements: list[Requirement], at: Path, *, notes: Notes) -> None:
    """Notes when v1beta1 would refuse the sheer number."""
    if len(requirements) > MOST_IN_BETA:
        what = f"{len(requirements)} requirements; v1beta1 of 0.32 accepts {MOST_IN_BETA}"
        notes.add("too-many-terms", at, what=what)


def defaults(requirements: list[Requirement], labels: Mapping[str, str], *, notes: Notes) -> list[Requirement]:
    """What the alpha webhook would have added to these, in its order; labels that pin such a key keep it out."""
    present = {keys.real_key(item.get("key") or "") for item in requirements}
    wanted = [item for item in _SINGLE if item["key"] not in present]
    if not present & _SHAPE_KEYS:
        wanted += [_CATEGORY, _GENERATION]
    pinned = {keys.real_key(key): key for key in labels}
    if pinned.keys() & {keys.INSTANCE_TYPE, keys.INSTANCE_FAMILY}:
        blocker = pinned.get(keys.INSTANCE_TYPE) or pinned[keys.INSTANCE_FAMILY]
        pinned = {keys.INSTANCE_CATEGORY: blocker, keys.INSTANCE_GENERATION: blocker} | pinned
    for item in wanted:
        if item["key"] in pinned:
            label = pinned[item["key"]]
            what = f"the default {said(item)} is not added, because the label {label}={labels[label]} settles it"
            notes.add("label-pins-default", ("spec", "labels", label), what=what)
    return [dict(item) for item in wanted if item["key"] not in pinned]


def said(requirement: Requirement) -> str:
    """`key In [a, b]` for messages."""
    return f"{requirement['key']} {requirement['operator']} [{', '.join(requirement.get('values', []))}]"

"""Facts about NodePools, Provisioners and node classes that several checks need: left-over alpha objects, the chart's
affinity rule, image aliases and requirements."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from migrations_app.checks.base import CheckContext, NotApplicable
from migrations_app.inventory.facts.controller import ABSENT, given_values, value_at
from migrations_app.inventory.facts.node_pools import FAMILIES, own_pools
from migrations_app.inventory.inventory import Inventory
from migrations_app.inventory.objects.karpenter import WholeObject
from migrations_app.inventory.parts import Part, is_whole
from migrations_app.karpenter import kinds
from migrations_app.karpenter.release_facts import CUSTOM, UBUNTU, family_start
from migrations_app.karpenter.versions import Release, minor_order

LAST_WITH_ALPHA: Final = "0.32"
"""The last minor that acts on alpha objects."""
ALPHA_CRDS: Final = frozenset(kind.crd_name for kind in (*kinds.ALPHA_KINDS, kinds.DRAFT_NODE_CLASS))
ALPHA_GONE: Final = NotApplicable("a release after 0.32 runs, and nothing of alpha is left")


def alpha_is_past(case: CheckContext) -> bool:
    """True only if a release after 0.32 runs, and alpha objects and CRDs were read and none exists."""
    later = [minor_order(minor) > minor_order(LAST_WITH_ALPHA) for minor in case.running.minors]
    inventory = case.inventory
    parts: tuple[Part[object], ...] = (inventory.provisioners, inventory.awsnodetemplates, inventory.machines)
    none_left = all(is_whole(part) and not part.items for part in parts)
    no_crd = is_whole(inventory.crds) and not any(crd.name in ALPHA_CRDS for crd in inventory.crds.items)
    return bool(later) and all(later) and none_left and no_crd


LAST_WITH_OLD_LABEL: Final = "0.31"
"""The last minor whose chart uses only the old label; 0.32 uses both, later ones the new label.
aws/karpenter-provider-aws@v0.31.4, @v0.32.10 and @v0.33.0:charts/karpenter/values.yaml."""
VALUE: Final = "affinity.nodeAffinity"


def names_old_label_alone(case: CheckContext) -> bool:
    """Whether the affinity rule of the controller comes from a chart that uses only the old label; the next chart then
    replaces the rule. False if the Helm values set the rule, because values are kept; unknown values count as not
    set."""
    minors = case.running.minors
    values = given_values(case.inventory)
    written = values is not None and value_at(values.tree, VALUE) is not ABSENT
    return (
        bool(minors) and all(minor_order(minor) <= minor_order(LAST_WITH_OLD_LABEL) for minor in minors) and not written
    )


WITHOUT_ALIAS = (UBUNTU, CUSTOM)

SeenWanted = tuple[str, str]


def alias_flaw(alias: str, *, beside: str, target_release: Release) -> SeenWanted | None:
    """The current and the wanted text for an invalid alias; None if the release accepts the alias with `beside` as
    amiFamily."""
    family, _, version = alias.partition("@")
    named_family = FAMILIES.get(family.lower(), "")
    if not named_family or named_family in WITHOUT_ALIAS or not version:
        return alias, "family@version, such as bottlerocket@v1.40.0"
    if beside not in ("", CUSTOM, named_family):
        return f"{alias} beside amiFamily {beside}", f"amiFamily {named_family} or none"
    if named_family.startswith("Windows") and version != "latest":
        return alias, f"{family}@latest: Windows images cannot be pinned"
    return _too_new(named_family, seen=alias, target_release=target_release)


def family_flaw(family: str, target_release: Release) -> SeenWanted | None:
    """The current and the wanted text for an unsupported spec.amiFamily; None if the release supports the family."""
    return _too_new(family, seen=family, target_release=target_release)


def _too_new(family: str, *, seen: str, target_release: Release) -> SeenWanted | None:
    first = family_start(family)
    if first is None or first <= target_release:
        return None
    return seen, f"a family that {target_release} knows: {family} came with {first}"


POOL_PATH = "spec.template.spec.requirements"
PROVISIONER_PATH = "spec.requirements"


@dataclass(frozen=True, slots=True)
class Requirement:
    """One requirement of a NodePool or Provisioner; `values` are texts."""

    kind: str
    name: str
    path: str
    key: str
    operator: str
    values: tuple[str, ...]


def requirements(inventory: Inventory) -> Iterator[Requirement]:
    """The requirements of NodePools, then those of Provisioners, without malformed rows."""
    for pool in own_pools(inventory):
        yield from _rows(pool, kind="NodePool", path=POOL_PATH)
    for provisioner in inventory.provisioners.items:
        yield from _rows(provisioner, kind="Provisioner", path=PROVISIONER_PATH)


def _rows(whole_object: WholeObject, *, kind: str, path: str) -> Iterator[Requirement]:
    requirements: Any = whole_object.get(path, [])
    for row in requirements if isinstance(requirements, list) else ():
        if isinstance(row, dict) and isinstance(row.get("key"), str):
            values = row.get("values")
            texts = tuple(str(value) for value in values) if isinstance(values, list) else ()
            yield Requirement(kind, whole_object.name, path, row["key"], str(row.get("operator", "")), texts)

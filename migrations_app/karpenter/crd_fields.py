"""Fields by which the CRD of one release is told from that of the release before: what an older one cannot hold.

Source: the schemas below pkg/apis/crds of every tag v0.32.0 .. v1.14.1 of aws/karpenter-provider-aws, compared tag by
tag. A path goes through `properties`; `[]` is the items of a list, `=X` a value that an enumeration allows.
"""

from collections.abc import Iterable
from typing import Any, NamedTuple

from migrations_app.karpenter import kinds
from migrations_app.karpenter.versions import Release, within

Tree = dict[str, Any]
POOLS, CLAIMS, CLASSES = kinds.NODE_POOL.crd_name, kinds.NODE_CLAIM.crd_name, kinds.EC2_NODE_CLASS.crd_name


class FieldMark(NamedTuple):
    """A field of one version of a CRD, there from that release on; `loss` is what happens where it is missing."""

    crd: str
    version: str
    path: str
    first: str
    loss: str


FIELD_MARKS: tuple[FieldMark, ...] = (
    FieldMark(CLASSES, "v1beta1", "spec.instanceProfile", "0.32.2", "instance profiles of node classes are dropped"),
    FieldMark(POOLS, "v1beta1", "spec.disruption.budgets", "0.34", "budgets of pools are dropped"),
    FieldMark(CLASSES, "v1beta1", "spec.instanceStorePolicy", "0.34", "the instance store policy is dropped"),
    FieldMark(POOLS, "v1beta1", "spec.template.spec.requirements[].minValues", "0.35", "minValues of pools is dropped"),
    FieldMark(CLAIMS, "v1beta1", "spec.requirements[].minValues", "0.35", "minValues of claims is dropped"),
    FieldMark(CLASSES, "v1beta1", "spec.associatePublicIPAddress", "0.35", "the choice of public addresses is dropped"),
    FieldMark(CLASSES, "v1beta1", "status.conditions", "0.37", "no node class becomes ready, nothing is launched"),
    FieldMark(CLASSES, "v1", "spec.capacityReservationSelectorTerms", "1.3", "reservations cannot be selected"),
    FieldMark(POOLS, "v1", "status.nodeClassObservedGeneration", "1.4", "pools do not tell which class they have seen"),
    FieldMark(CLASSES, "v1", "spec.amiSelectorTerms[].ssmParameter", "1.4", "images cannot be selected by parameter"),
    FieldMark(
        CLASSES, "v1", "spec.blockDeviceMappings[].ebs.volumeInitializationRate", "1.5", "the volume rate is dropped"
    ),
    FieldMark(CLASSES, "v1", "status.capacityReservations[].state", "1.6", "expiring reservations are not told"),
    FieldMark(POOLS, "v1", "spec.replicas", "1.8", "pools of a fixed size cannot be written"),
    FieldMark(CLASSES, "v1", "spec.ipPrefixCount", "1.8", "the number of address prefixes is dropped"),
    FieldMark(
        POOLS,
        "v1",
        "spec.template.spec.requirements[].operator=Gte",
        "1.9",
        "pools cannot use the operators Gte and Lte",
    ),
    FieldMark(
        CLAIMS,
        "v1",
        "spec.requirements[].operator=Gte",
        "1.9",
        "claims with Gte are refused, nothing is launched",
    ),
    FieldMark(CLASSES, "v1", "spec.networkInterfaces", "1.11", "network interfaces of node classes are dropped"),
    FieldMark(CLASSES, "v1", "spec.cpuOptions", "1.13", "CPU options of node classes are dropped"),
    FieldMark(
        POOLS, "v1", "spec.disruption.consolidationPolicy=Balanced", "1.14", "the policy Balanced cannot be written"
    ),
)


def marks_of(crd: str, version: str, *, running: Release) -> tuple[FieldMark, ...]:
    """The marks which that version of the CRD carries as the release ships it."""
    return tuple(
        mark
        for mark in FIELD_MARKS
        if (mark.crd, mark.version) == (crd, version) and within(running, first=mark.first, last="")
    )


def paths_of(crd: str, version: str) -> tuple[str, ...]:
    """The paths that are looked for in that version of the CRD."""
    return tuple(mark.path for mark in FIELD_MARKS if (mark.crd, mark.version) == (crd, version))


def has(schema: Tree, path: str) -> bool:
    """Whether the schema has that field; the path is written as in `crd_fields`."""
    path, equals, value = path.partition("=")
    here: Any = schema
    for step in path.split("."):
        name, items = step.removesuffix("[]"), step.endswith("[]")
        here = _inner(_inner(here, "properties"), name)
        here = _inner(here, "items") if items else here
    allowed = _inner(here, "enum")
    return bool(here) and (not equals or (isinstance(allowed, list) and value in allowed))


def pruned(schema: Tree, paths: Iterable[str]) -> Tree:
    """A small schema for which `has` answers alike for those paths."""
    return sketched(path for path in paths if has(schema, path))


def _draw(schema: Tree, path: str) -> None:
    path, _, value = path.partition("=")
    here = schema
    for step in path.split("."):
        name, items = step.removesuffix("[]"), step.endswith("[]")
        here = here.setdefault("properties", {}).setdefault(name, {"type": "array" if items else "object"})
        here = here.setdefault("items", {"type": "object"}) if items else here
    if value:
        here |= {"type": "string", "enum": [*here.get("enum", ()), value]}


def sketched(paths: Iterable[str]) -> Tree:
    """A schema that has just those fields."""
    made: Tree = {"type": "object", "properties": {"spec": {"type": "object"}, "status": {"type": "object"}}}
    for path in paths:
        _draw(made, path)
    return made


def _inner(here: object, key: str) -> Any:  # noqa: ANN401 - plain JSON
    return here.get(key) if isinstance(here, dict) else None

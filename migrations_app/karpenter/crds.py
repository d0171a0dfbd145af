"""The eight sets of CRDs that releases ship: every CRD with its versions, and whether the charts enable conversion.

The release rows say which release ships which set. FIELD_MARKS are fields that distinguish a release's CRD from the
previous one: what an older CRD cannot store. A path goes through `properties`; `[]` means the items of a list, `=X`
a value of an enumeration.
Sources: charts/karpenter-crd and pkg/apis/crds of every tag v0.28.0 .. v1.14.1 of aws/karpenter-provider-aws; field
marks from the schemas of v0.32.0 .. v1.14.1, compared tag by tag.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple

from migrations_app.karpenter import kinds
from migrations_app.karpenter.kinds import Kind
from migrations_app.karpenter.versions import Release, within
from migrations_app.manifests import JsonMap

POOLS, CLAIMS, CLASSES = kinds.NODE_POOL.crd_name, kinds.NODE_CLAIM.crd_name, kinds.EC2_NODE_CLASS.crd_name

REQUIRED_IN_V1 = {
    kinds.NODE_POOL.kind: "spec.template.spec.nodeClassRef.group",
    kinds.NODE_CLAIM.kind: "spec.nodeClassRef.group",
    kinds.EC2_NODE_CLASS.kind: "spec.amiSelectorTerms",
}
"""A field that v1 requires and v1beta1 does not, by kind: an object without it was never written as v1."""
POLICY, V1_POLICY = "spec.disruption.consolidationPolicy", "WhenEmptyOrUnderutilized"
"""A field of NodePools, and its value that v1beta1 does not know; v1beta1 fills in WhenUnderutilized."""
ONLY_IN_BETA = "spec.disruption.expireAfter"
"""A field of NodePools that v1beta1 fills in and v1 does not have: a v1beta1 NodePool without it was pruned by the v1
schema."""


class FieldMark(NamedTuple):
    """A field of one CRD version that exists from that release on; `loss` says what happens if it is missing."""

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
    """The marks that this version of the CRD has in that release."""
    return tuple(
        mark
        for mark in FIELD_MARKS
        if (mark.crd, mark.version) == (crd, version) and within(running, first=mark.first, last="")
    )


def paths_of(crd: str, version: str) -> tuple[str, ...]:
    """The paths to look for in that version of the CRD."""
    return tuple(mark.path for mark in FIELD_MARKS if (mark.crd, mark.version) == (crd, version))


def has(schema: JsonMap, path: str) -> bool:
    """Whether the schema has that field; the path is written as in FIELD_MARKS."""
    path, equals, value = path.partition("=")
    schema_node: Any = schema
    for step in path.split("."):
        name, items = step.removesuffix("[]"), step.endswith("[]")
        schema_node = _inner(_inner(schema_node, "properties"), name)
        schema_node = _inner(schema_node, "items") if items else schema_node
    allowed = _inner(schema_node, "enum")
    return bool(schema_node) and (not equals or (isinstance(allowed, list) and value in allowed))


def pruned(schema: JsonMap, paths: Iterable[str]) -> JsonMap:
    """A small schema for which `has` gives the same answers for those paths."""
    return sketched(path for path in paths if has(schema, path))


def _draw(schema: JsonMap, path: str) -> None:
    path, _, value = path.partition("=")
    schema_node = schema
    for step in path.split("."):
        name, items = step.removesuffix("[]"), step.endswith("[]")
        schema_node = schema_node.setdefault("properties", {}).setdefault(
            name, {"type": "array" if items else "object"}
        )
        schema_node = schema_node.setdefault("items", {"type": "object"}) if items else schema_node
    if value:
        schema_node |= {"type": "string", "enum": [*schema_node.get("enum", ()), value]}


def sketched(paths: Iterable[str]) -> JsonMap:
    """A schema that has exactly those fields."""
    schema: JsonMap = {"type": "object", "properties": {"spec": {"type": "object"}, "status": {"type": "object"}}}
    for path in paths:
        _draw(schema, path)
    return schema


def _inner(node: object, key: str) -> Any:  # noqa: ANN401 - plain JSON
    return node.get(key) if isinstance(node, dict) else None


class CrdVersion(NamedTuple):
    """A version of a CRD. No set marks a version as deprecated, so a CRD cannot show that."""

    name: str
    served: bool
    storage: bool


@dataclass(frozen=True, slots=True)
class Crd:
    """One CRD as a set ships it."""

    kind: Kind
    versions: tuple[CrdVersion, ...]
    short_names: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        return self.kind.crd_name

    @property
    def served(self) -> tuple[str, ...]:
        return tuple(version.name for version in self.versions if version.served)

    @property
    def storage(self) -> str:
        return next(version.name for version in self.versions if version.storage)


@dataclass(frozen=True, slots=True, kw_only=True)
class CrdSet:
    """`main_chart_converts`, `crd_chart_converts`: whether the conversion block of that chart has the strategy
    Webhook.

    The main chart's block is fixed (service karpenter, namespace kube-system, port 8443) and is applied on first
    install only. The karpenter-crd chart follows its value webhook.enabled, so True there means "unless switched
    off".
    """

    name: str
    summary: str
    crds: tuple[Crd, ...]
    main_chart_converts: bool = False
    crd_chart_converts: bool = False

    def crd(self, name: str) -> Crd | None:
        """The CRD of that name ("nodepools.karpenter.sh"); None if the set does not ship it."""
        return next((crd for crd in self.crds if crd.name == name), None)


MAIN_CHART_WEBHOOK_SERVICE = ("karpenter", "kube-system", 8443)
"""Name, namespace and port in the CRDs of the main chart, regardless of where the controller runs."""
REVIEW_VERSIONS = ("v1beta1", "v1")

_CLASS_SHORT = ("ec2nc", "ec2ncs")


def _only(version: str) -> tuple[CrdVersion, ...]:
    return (CrdVersion(version, served=True, storage=True),)


def _trio(versions: tuple[CrdVersion, ...]) -> tuple[Crd, ...]:
    return (
        Crd(kinds.NODE_POOL, versions),
        Crd(kinds.NODE_CLAIM, versions),
        Crd(kinds.EC2_NODE_CLASS, versions, _CLASS_SHORT),
    )


_ALPHA = (
    Crd(kinds.PROVISIONER, _only("v1alpha5")),
    Crd(kinds.MACHINE, _only("v1alpha5")),
    Crd(kinds.AWS_NODE_TEMPLATE, _only("v1alpha1")),
)
_BETA_STORED = (CrdVersion("v1", served=True, storage=False), CrdVersion("v1beta1", served=True, storage=True))
_V1_STORED = (CrdVersion("v1", served=True, storage=True), CrdVersion("v1beta1", served=True, storage=False))
_OVERLAY = (Crd(kinds.NODE_OVERLAY, _only("v1alpha1"), ("overlays",)),)
_BUFFER = (Crd(kinds.CAPACITY_BUFFER, _only("v1beta1"), ("cb",)),)

CRD_SETS: tuple[CrdSet, ...] = (
    CrdSet(name="alpha", summary="alpha kinds only", crds=_ALPHA),
    CrdSet(
        name="alpha_and_beta",
        summary="alpha and beta as separate kinds; nothing converts one into the other",
        crds=_ALPHA + _trio(_only("v1beta1")),
    ),
    CrdSet(name="beta", summary="beta only", crds=_trio(_only("v1beta1"))),
    CrdSet(
        name="beta_storage_v1_served",
        summary="v1 is served but v1beta1 still stored, as a rollback from 1.0 needs",
        crds=_trio(_BETA_STORED),
        main_chart_converts=True,
        crd_chart_converts=True,
    ),
    CrdSet(
        name="v1_storage_beta_served",
        summary="v1 is stored, v1beta1 still served",
        crds=_trio(_V1_STORED),
        main_chart_converts=True,
        crd_chart_converts=True,
    ),
    CrdSet(name="v1", summary="v1 only", crds=_trio(_only("v1"))),
    CrdSet(name="v1_overlay", summary="v1 and the alpha NodeOverlay", crds=_trio(_only("v1")) + _OVERLAY),
    CrdSet(
        name="v1_overlay_buffer",
        summary="v1, the alpha NodeOverlay and CapacityBuffer",
        crds=_trio(_only("v1")) + _OVERLAY + _BUFFER,
    ),
)


def find(name: str) -> CrdSet | None:
    """The set of that name, or None."""
    return next((row for row in CRD_SETS if row.name == name), None)

"""The eight sets of CRDs that releases ship: every CRD with its versions, and whether the charts convert between them.

Source: charts/karpenter-crd and pkg/apis/crds of every tag v0.28.0 .. v1.14.1 of aws/karpenter-provider-aws.
Which release ships which set stands in the release rows.
"""

from dataclasses import dataclass
from typing import NamedTuple

from migrations_app.karpenter import kinds
from migrations_app.karpenter.kinds import Kind


class CrdVersion(NamedTuple):
    """No set marks a version as deprecated, so that cannot be read from a CRD."""

    name: str
    served: bool
    storage: bool


@dataclass(frozen=True, slots=True)
class Crd:
    """One CRD as one set ships it."""

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
    """`main_chart_converts`, `crd_chart_converts`: does the conversion block of that chart say Webhook.

    The main chart's block is fixed (service karpenter, namespace kube-system, port 8443) and is applied on first
    install only; the karpenter-crd chart follows its value webhook.enabled, so True there means "unless switched off".
    """

    name: str
    summary: str
    crds: tuple[Crd, ...]
    main_chart_converts: bool = False
    crd_chart_converts: bool = False

    def crd(self, name: str) -> Crd | None:
        """The CRD of that name ("nodepools.karpenter.sh"), or None when the set does not ship it."""
        return next((crd for crd in self.crds if crd.name == name), None)


MAIN_CHART_WEBHOOK_SERVICE = ("karpenter", "kube-system", 8443)
"""Name, namespace and port that the main chart's CRDs are born with, wherever the controller runs."""
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
        summary="v1 is served but v1beta1 still stored: the way back from 1.0",
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

"""Somebody upgrades the CRDs: the karpenter-crd release, GitOps or Terraform."""

from collections.abc import Iterator

from migrations_app.checks.base import Check, CheckContext, Evidence, JudgeResult, NotApplicable, Remedy
from migrations_app.checks.remedies.commands import kubectl, names
from migrations_app.checks.shell import word
from migrations_app.inventory.facts.controller import CHART, CRD_CHART, installation, records_unread
from migrations_app.inventory.facts.managers import Managed, managed
from migrations_app.inventory.inventory import Inventory
from migrations_app.inventory.objects.karpenter import CRD
from migrations_app.karpenter import kinds, labels
from migrations_app.karpenter.releases import crd_set
from migrations_app.karpenter.versions import Release

check = Check(
    __name__,
    title="The CRDs belong to the karpenter-crd release or to a tool",
    phase="crds",
    severity="warning",
    why=(
        "CRDs that nobody owns stay behind at every upgrade, "
        "and karpenter-crd refuses to take them over without its marks."
    ),
    how=(
        "Helm's label and annotations on each CRD are read and compared with the release records and their manifests; "
        "a label of Flux's HelmRelease counts only where that replaces CRDs."
    ),
    reads=("crds",),
    says=("{count} CRD is owned by no release and no tool", "{count} CRDs are owned by no release and no tool"),
    resolved_by=("adopt_crds",),
    sources=(
        "aws/karpenter-provider-aws@v1.14.1:website/content/en/v1.0/troubleshooting.md",
        "aws/karpenter-provider-aws#3331",
    ),
    remedy_tools=("kubectl",),
)
ReleaseKey = tuple[str, str]
"""Namespace and name."""
ALPHA = frozenset(kind.crd_name for kind in (*kinds.ALPHA_KINDS, kinds.DRAFT_NODE_CLASS))
BY_FLUX_HELM = (f"label {labels.FLUX_HELM_NAME}", "field manager helm-controller")
"""Marks that the Helm controller of Flux leaves also on CRDs that it installs once and never upgrades."""
OVERWRITES = ("Create", "CreateReplace")
"""fluxcd/helm-controller@main:docs/spec/v2/helmreleases.md: what spec.upgrade.crds may say beside Skip, the default."""


@check.judge
def judge(case: CheckContext) -> Iterator[JudgeResult]:
    if not case.inventory.crds.items:
        yield NotApplicable("no CRD of Karpenter is installed")
    known = _releases(case)
    for crd in case.inventory.crds.items:
        seen = "" if _left_over(crd, case.step.release) else _unowned(crd, case.inventory, known=known)
        if seen:
            yield Evidence(
                kind="CustomResourceDefinition",
                name=crd.name,
                path=f"metadata.annotations[{labels.HELM_RELEASE_NAME}]",
                seen=seen,
                wanted=CRD_CHART,
            )


def _left_over(crd: CRD, coming: Release) -> bool:
    """Whether it is of an alpha kind and the hop's release ships none: it is deleted, not adopted (alpha_crds_gone)."""
    shipped = crd_set(coming)
    return crd.name in ALPHA and shipped is not None and shipped.crd(crd.name) is None


def _unowned(crd: CRD, inventory: Inventory, *, known: frozenset[ReleaseKey] | None) -> str:
    """What its marks say where nobody upgrades it; empty where somebody does."""
    if any(crd.name in one.crds and one.status != "uninstalled" for one in inventory.helm_releases.items):
        return ""  # it is in the manifest of a release, and the next `helm upgrade` marks it anew
    by, marked = managed(crd.metadata), crd.metadata.annotation(labels.HELM_RELEASE_NAME)
    if by.by == "flux" and by.told_by in BY_FLUX_HELM:
        if marked is None:
            return "" if _flux_replaces(by, inventory) else f"HelmRelease {by.name} of Flux, which upgrades no CRD"
    elif by.by not in ("hand", "eksctl", "helm"):
        return ""
    if marked is None:
        return "absent"
    return "" if _whole(crd, inventory, known=known) else f"{marked} (no such release, or without its label)"


def _flux_replaces(by: Managed, inventory: Inventory) -> bool:
    """Whether the HelmRelease brings the CRDs beside its chart at every upgrade, which it does only if told so."""
    releases = (one for one in inventory.deliveries.items if one.kind == "HelmRelease")
    return any(
        one.name == by.name and by.namespace in ("", one.namespace) and one.get("spec.upgrade.crds") in OVERWRITES
        for one in releases
    )


def _releases(case: CheckContext) -> frozenset[ReleaseKey] | None:
    """Releases of karpenter-crd; None where no record of any was seen, or not all were, which proves nothing.

    A CRD marked as the controller's own release's is refused as much as one without marks.
    """
    found = _of_chart(case.inventory, CRD_CHART)
    return found if found and not records_unread(case.inventory) else None


def _of_chart(inventory: Inventory, chart: str) -> frozenset[ReleaseKey]:
    return frozenset((one.namespace, one.name) for one in inventory.helm_releases.items if one.chart == chart)


def _whole(crd: CRD, inventory: Inventory, *, known: frozenset[ReleaseKey] | None) -> bool:
    metadata = crd.metadata
    owner = (
        metadata.annotation(labels.HELM_RELEASE_NAMESPACE) or "",
        metadata.annotation(labels.HELM_RELEASE_NAME) or "",
    )
    if metadata.label(labels.APP_MANAGED_BY) != "Helm":
        return False
    return owner not in _of_chart(inventory, CHART) if known is None else owner in known


@check.advise
def advise(case: CheckContext, evidence: tuple[Evidence, ...]) -> Iterator[Remedy]:
    found = installation(case.inventory)
    namespace, crds = found.namespace if found else "kube-system", names(evidence)
    yield kubectl(
        "# Marks only; never delete a CRD, its objects and their nodes go with it",
        f"kubectl label crd {crds} {labels.APP_MANAGED_BY}=Helm --overwrite",
        f"kubectl annotate crd {crds} {labels.HELM_RELEASE_NAME}={CRD_CHART} "
        f"{labels.HELM_RELEASE_NAMESPACE}={word(namespace)} --overwrite",
    )

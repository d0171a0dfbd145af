"""Somebody upgrades the CRDs: the karpenter-crd release, GitOps or Terraform."""

from collections.abc import Iterator

from migrations_app.checks.base import Check, CheckContext, Evidence, JudgeResult, NotApplicable, Remedy
from migrations_app.checks.remedies.commands import kubectl, names
from migrations_app.checks.shell import word
from migrations_app.inventory.facts.controller import CRD_CHART, installation, records_unread
from migrations_app.inventory.facts.managers import managed
from migrations_app.inventory.objects.karpenter import CRD
from migrations_app.karpenter import labels

check = Check(
    __name__,
    title="The CRDs belong to the karpenter-crd release or to a tool",
    phase="crds",
    severity="warning",
    why=(
        "CRDs that nobody owns stay behind at every upgrade, "
        "and karpenter-crd refuses to take them over without its marks."
    ),
    how="Helm's label and annotations on each CRD are read and compared with the release records.",
    reads=("crds",),
    says=("{count} CRD is owned by no release and no tool", "{count} CRDs are owned by no release and no tool"),
    resolved_by=("adopt_crds",),
    sources=(
        "aws/karpenter-provider-aws@v1.14.1:website/content/en/v1.0/troubleshooting.md",
        "aws/karpenter-provider-aws#3331",
    ),
    remedy_tools=("kubectl",),
)


@check.judge
def judge(case: CheckContext) -> Iterator[JudgeResult]:
    if not case.inventory.crds.items:
        yield NotApplicable("no CRD of Karpenter is installed")
    known = _releases(case)
    for crd in case.inventory.crds.items:
        by = managed(crd.metadata)
        if by.by in ("hand", "eksctl") or (by.by == "helm" and not _whole(crd, known)):
            yield Evidence(
                kind="CustomResourceDefinition",
                name=crd.name,
                path=f"metadata.annotations[{labels.HELM_RELEASE_NAME}]",
                seen=f"{by.name} (no such release, or without its label)" if by.name else "absent",
                wanted=CRD_CHART,
            )


def _releases(case: CheckContext) -> frozenset[tuple[str, str]] | None:
    """Releases of karpenter-crd; None where no record of any was seen, or not all were, which proves nothing.

    A CRD marked as the controller's own release's is refused as much as one without marks.
    """
    part = case.inventory.helm_releases
    found = frozenset((release.namespace, release.name) for release in part.items if release.chart == CRD_CHART)
    return found if found and not records_unread(case.inventory) else None


def _whole(crd: CRD, known: frozenset[tuple[str, str]] | None) -> bool:
    metadata = crd.metadata
    owner = (
        metadata.annotation(labels.HELM_RELEASE_NAMESPACE) or "",
        metadata.annotation(labels.HELM_RELEASE_NAME) or "",
    )
    return metadata.label(labels.APP_MANAGED_BY) == "Helm" and (known is None or owner in known)


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

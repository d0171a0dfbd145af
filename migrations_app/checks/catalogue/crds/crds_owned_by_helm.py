"""Fails for each CRD that neither the karpenter-crd release nor GitOps nor Terraform manages."""

from collections.abc import Iterator

from migrations_app.checks.base import Check, CheckContext, Evidence, JudgeResult, NotApplicable, Remedy
from migrations_app.checks.changes import group, leaves
from migrations_app.checks.remedies.commands import in_cluster
from migrations_app.checks.remedies.crd_upgrade import annotate_crds, crd_target
from migrations_app.checks.remedies.object_marks import change_labels
from migrations_app.inventory.facts.controller import CRD_CHART, installation
from migrations_app.inventory.facts.crd_owners import unowned
from migrations_app.inventory.objects.karpenter import CRD
from migrations_app.karpenter import kinds, labels
from migrations_app.karpenter.releases import crd_set
from migrations_app.karpenter.versions import Release

check = Check(
    __name__,
    title="Every CRD is managed by the karpenter-crd chart or another tool",
    phase="crds",
    severity="warning",
    why=(
        "Unmanaged CRDs stay as they are at every upgrade, and karpenter-crd does not take them over without Helm's "
        "marks."
    ),
    how=(
        "Compares Helm's label and annotations on each CRD with the release records and their manifests; a label of "
        "Flux's HelmRelease counts only where Flux replaces CRDs."
    ),
    reads=("crds",),
    says=("{count} CRD is unmanaged", "{count} CRDs are unmanaged"),
    resolved_by=("adopt_crds",),
    sources=(
        "aws/karpenter-provider-aws@v1.14.1:website/content/en/v1.0/troubleshooting.md",
        "aws/karpenter-provider-aws#3331",
    ),
    remedy_tools=("kubectl",),
)
HOME = "kube-system"
ALPHA = frozenset(kind.crd_name for kind in (*kinds.ALPHA_KINDS, kinds.DRAFT_NODE_CLASS))


@check.judge
def judge(case: CheckContext) -> Iterator[JudgeResult]:
    if not case.inventory.crds.items:
        yield NotApplicable("no CRD of Karpenter is installed")
    for crd in case.inventory.crds.items:
        seen = "" if _left_over(crd, case.hop.release) else unowned(crd, case.inventory)
        if seen:
            yield Evidence(
                kind="CustomResourceDefinition",
                name=crd.name,
                path=f"metadata.annotations[{labels.HELM_RELEASE_NAME}]",
                seen=seen,
                wanted=CRD_CHART,
            )


def _left_over(crd: CRD, coming: Release) -> bool:
    """Whether the CRD is of an alpha kind and the target version ships none: it is deleted, not adopted
    (alpha_crds_gone)."""
    shipped = crd_set(coming)
    return crd.name in ALPHA and shipped is not None and shipped.crd(crd.name) is None


@check.advise
def advise(case: CheckContext, evidence: tuple[Evidence, ...]) -> Iterator[Remedy]:
    controller = installation(case.inventory)
    marks = {
        labels.HELM_RELEASE_NAME: CRD_CHART,
        labels.HELM_RELEASE_NAMESPACE: controller.namespace if controller else HOME,
    }
    names = {row.name for row in evidence}
    crds = [crd for crd in case.inventory.crds.items if crd.name in names]
    helm = {labels.APP_MANAGED_BY: "Helm"}
    marked = [change_labels(crd_target(crd.name), crd.metadata.labels, given=helm) for crd in crds]
    note = "Marks only; never delete a CRD, its objects and their nodes go with it"
    yield in_cluster(group(*marked, *leaves(annotate_crds(crds, marks)), notes=(note,)))

"""Fails for each alpha CRD that Helm or a pruning tool deletes when the chart no longer contains it."""

from collections.abc import Iterator, Mapping

from migrations_app.checks.base import Check, CheckContext, Evidence, JudgeResult, NotApplicable, Remedy, Unknown
from migrations_app.checks.evidence import at_crd
from migrations_app.checks.remedies.commands import in_cluster
from migrations_app.checks.remedies.crd_upgrade import FLUX_PRUNE, KEPT, annotate_crds, git_notes
from migrations_app.checks.remedies.crd_upgrade import PRUNE as ARGO_PRUNE
from migrations_app.inventory.facts.controller import CRD_CHART, records_unread
from migrations_app.inventory.facts.managers import managed
from migrations_app.inventory.inventory import Inventory
from migrations_app.inventory.objects.karpenter import CRD
from migrations_app.karpenter import kinds
from migrations_app.karpenter.hops import ALPHA_LEFT

check = Check(
    __name__,
    title="No chart upgrade deletes the alpha CRDs",
    phase="crds",
    severity="blocker",
    why=(
        "The charts from 0.33 on contain no alpha CRDs. Helm, or a tool that prunes, deletes these CRDs with every "
        "object, and the nodes that the objects own."
    ),
    how="Reads who owns the alpha CRDs, whether that owner would prune them, and how many objects they have.",
    reads=("crds", "provisioners", "awsnodetemplates", "machines"),
    says=("{count} alpha CRD and its objects would be lost", "{count} alpha CRDs and their objects would be lost"),
    hops=(ALPHA_LEFT,),
    sources=(
        "aws/karpenter-provider-aws@v0.33.0:charts/karpenter-crd/templates",
        "helm/helm@main:pkg/kube (annotation helm.sh/resource-policy)",
    ),
    remedy_tools=("kubectl",),
)
BEST = "Best: replace what is left of alpha first. Otherwise mark the CRDs so that nobody deletes them"
KEEP = "helm.sh/resource-policy"
PRUNE: Mapping[str, tuple[str, str]] = {
    "argocd": (ARGO_PRUNE, KEPT),
    "flux": (FLUX_PRUNE, "disabled"),
}
PARTS = {kinds.PROVISIONER: "provisioners", kinds.AWS_NODE_TEMPLATE: "awsnodetemplates", kinds.MACHINE: "machines"}


@check.judge
def judge(case: CheckContext) -> Iterator[JudgeResult]:
    alpha_crds = {kind.crd_name: case.inventory.part(part).count or 0 for kind, part in PARTS.items()}
    at_risk = [crd for crd in case.inventory.crds.items if alpha_crds.get(crd.name)]
    if not at_risk:
        yield NotApplicable("no alpha object is left")
        return
    unread = records_unread(case.inventory)
    if unread and not any(managed(crd.metadata).name for crd in at_risk):
        yield Unknown(f"whether {CRD_CHART} owns the CRDs is not known: Helm's records are unseen ({unread})")
    for crd in at_risk:
        owner = _deleted_by(case.inventory, crd)
        if owner:
            seen = f"{owner} would delete it with {alpha_crds[crd.name]} objects"
            yield at_crd(crd, "metadata", seen=seen, wanted=f"no object left, or {KEEP}: keep")


def _deleted_by(inventory: Inventory, crd: CRD) -> str:
    """What would delete the CRD with the next release; empty if nothing would."""
    metadata, by = crd.metadata, managed(crd.metadata)
    key, value = PRUNE.get(by.by, ("", ""))
    if key and value in (metadata.annotation(key) or ""):
        return ""
    if key and not by.through_helm:
        return f"{'Argo CD' if by.by == 'argocd' else 'Flux'}, where it prunes,"
    listed = any(release.chart == CRD_CHART and crd.name in release.crds for release in inventory.helm_releases.items)
    helm = listed or (by.by in ("helm", "flux") and bool(by.name))
    return f"the Helm release {by.name or CRD_CHART}" if helm and metadata.annotation(KEEP) != "keep" else ""


@check.advise
def advise(case: CheckContext, evidence: tuple[Evidence, ...]) -> Iterator[Remedy]:
    names = {row.name for row in evidence}
    marks = {KEEP: "keep", **dict(PRUNE.values())}
    crds = [crd for crd in case.inventory.crds.items if crd.name in names]
    yield in_cluster(annotate_crds(crds, marks, notes=(BEST, *git_notes(crds))))

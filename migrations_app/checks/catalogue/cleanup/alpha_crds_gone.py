"""Fails for each CRD of the three alpha kinds that is still installed."""

from collections.abc import Iterator

from migrations_app.checks.base import Check, CheckContext, Evidence, JudgeResult, Remedy
from migrations_app.checks.remedies.commands import deletion_remedies, none_left
from migrations_app.checks.remedies.crd_upgrade import crd_target
from migrations_app.checks.tools import OBJECT_TOOLS
from migrations_app.inventory.facts.controller import CHART, CRD_CHART
from migrations_app.inventory.facts.managers import BY_HAND, IMMEDIATE_WRITERS, chart_delivery, managed
from migrations_app.inventory.objects.karpenter import CRD
from migrations_app.karpenter import kinds
from migrations_app.karpenter.hops import CONVERTED, hops_from
from migrations_app.karpenter.versions import minor_order

check = Check(
    __name__,
    title="No alpha CRD is left",
    phase="cleanup",
    severity="info",
    why="The chart does not delete them. They do no harm, but the cluster looks as if the upgrade were unfinished.",
    how="Compares the names of the installed CRDs with the three of the alpha kinds.",
    reads=("crds", "provisioners", "awsnodetemplates", "machines"),
    says=("{count} alpha CRD still exists", "{count} alpha CRDs still exist"),
    hops=hops_from(CONVERTED),
    resolved_by=("remove_legacy",),
    sources=("aws/karpenter-provider-aws@v0.33.0:charts/karpenter/crds",),
    remedy_tools=OBJECT_TOOLS,
)
ALPHA = {kind.crd_name: kind for kind in kinds.ALPHA_KINDS} | {kinds.DRAFT_NODE_CLASS.crd_name: kinds.DRAFT_NODE_CLASS}


@check.judge
def judge(case: CheckContext) -> Iterator[JudgeResult]:
    for crd in case.inventory.crds.items:
        if crd.name in ALPHA:
            yield Evidence(
                kind="CustomResourceDefinition",
                name=crd.name,
                path="metadata.name",
                seen=", ".join(crd.served) or "not served",
                wanted="absent",
            )


@check.advise
def advise(case: CheckContext, evidence: tuple[Evidence, ...]) -> Iterator[Remedy]:
    alpha_parts = (case.inventory.provisioners, case.inventory.awsnodetemplates, case.inventory.machines)
    if any(part.count for part in alpha_parts):
        # Deleting a CRD deletes its objects, and through their owners the nodes.
        return
    names = {row.name for row in evidence}
    crds = [crd for crd in case.inventory.crds.items if crd.name in names]
    first, needs = "Only while no object of these kinds is left; each line looks first", ("legacy_node_templates_gone",)
    by = BY_HAND if all(_left_by_chart(crd, case) for crd in crds) else None
    served = {crd.name for crd in crds if crd.served}
    yield from deletion_remedies(
        crd_target(""), crds, first=first, needs=needs, by=by,
        guard=lambda crd: none_left(crd.name) if crd.name in served else (),
    )  # fmt: skip


def _left_by_chart(crd: CRD, case: CheckContext) -> bool:
    """Whether a chart installed the CRD and no longer contains it: from 0.33 on, neither chart does, and a CRD that is
    marked to be kept stays."""
    by, charts = managed(crd.metadata), (CHART, CRD_CHART)
    named = {delivery.name for chart in charts if (delivery := chart_delivery(case.inventory.deliveries.items, chart))}
    of_chart = by.by == "helm" or (by.by in IMMEDIATE_WRITERS and by.name in {*named, *charts})
    return of_chart and minor_order(case.hop.start.minor) >= (0, 33)

"""Fails for each controller pod that runs on a node that Karpenter owns."""

from collections.abc import Iterator

from migrations_app.checks.base import Check, CheckContext, Evidence, JudgeResult, NotApplicable, Remedy, SeverityCap
from migrations_app.checks.changes import ChangeTarget, ObjectDelete, ObjectPatch, group
from migrations_app.checks.remedies.commands import in_cluster
from migrations_app.checks.shared.replaced_nodes import replaced_nodes
from migrations_app.karpenter.hops import ALPHA_LEFT, CONVERTED, hops_from

OWNERS = ("karpenter_alpha", "karpenter_beta", "karpenter_v1")

check = Check(
    __name__,
    title="The controller does not run on Karpenter nodes",
    phase="controller",
    severity="warning",
    why=(
        "When the controller's own node is drained, the controller stops in the middle of a replacement, and no new "
        "node is launched."
    ),
    how=(
        "Looks the node of each controller pod up among the nodes that Karpenter owns. It blocks if the upgrade "
        "replaces the nodes of all of them."
    ),
    reads=("controller_pods", "nodes"),
    says=("{count} controller pod runs on a Karpenter node", "{count} controller pods run on Karpenter nodes"),
    severity_at=dict.fromkeys((ALPHA_LEFT, CONVERTED, *hops_from("1.12")), "blocker"),
    sources=("aws/karpenter-provider-aws@v1.14.1:charts/karpenter/values.yaml",),
    remedy_tools=("kubectl",),
)


@check.judge
def judge(case: CheckContext) -> Iterator[JudgeResult]:
    if not case.inventory.controller_pods.items:
        yield NotApplicable("no pod of a controller was found")
    rolled = replaced_nodes(case)
    if not rolled or any((pod.spec.node_name or "") not in rolled for pod in case.inventory.controller_pods.items):
        yield SeverityCap("warning")
    owners = {node.name: node.owner for node in case.ownership.nodes}
    for pod in case.inventory.controller_pods.items:
        owner = owners.get(pod.spec.node_name or "", "")
        if owner in OWNERS:
            yield Evidence(
                kind="Pod",
                namespace=pod.namespace,
                name=pod.name,
                path="spec.nodeName",
                seen=f"{pod.spec.node_name} ({owner})",
                wanted="a node of a managed node group, or Fargate",
                data={"node": pod.spec.node_name or ""},
            )


@check.advise
def advise(_case: CheckContext, evidence: tuple[Evidence, ...]) -> Iterator[Remedy]:
    nodes = dict.fromkeys(row.value("node") for row in evidence)
    pods = (
        ObjectDelete(
            target=ChangeTarget(row.kind, row.name, row.namespace),
            alone=True,
            final="its Deployment makes another pod",
            done=f"no pod of the controller runs on {row.value('node')}",
        )
        for row in evidence
    )
    note = "Make room in a managed node group first, and keep the chart's affinity against karpenter.sh/nodepool"
    yield in_cluster(group(*map(_cordoned, nodes), *pods, notes=(note,)))


def _cordoned(name: str) -> ObjectPatch:
    target = ChangeTarget("Node", name)
    undo = ObjectPatch(target=target, body={"spec": {"unschedulable": None}}, when="after")
    return ObjectPatch(target=target, body={"spec": {"unschedulable": True}}, undo=undo, done=f"{name} takes no pods")

"""Fails for each group of nodes that a second autoscaler scales: cluster-autoscaler or EKS Auto Mode."""

from collections.abc import Iterator

from migrations_app.checks.base import Check, CheckContext, Evidence, JudgeResult, NotApplicable, Remedy, Unknown
from migrations_app.checks.changes import group
from migrations_app.checks.evidence import at_object
from migrations_app.checks.remedies.commands import in_cluster
from migrations_app.checks.remedies.controller_network import stop_autoscaler
from migrations_app.checks.remedies.observations import read_command
from migrations_app.inventory.facts.controller import OTHER_AUTOSCALER, is_other_autoscaler
from migrations_app.karpenter import kinds
from migrations_app.karpenter.versions import minor_order

GROUP = "spec.template.spec.nodeClassRef.group"
check = Check(
    __name__,
    title="Only one autoscaler runs",
    phase="controller",
    severity="warning",
    why=(
        "Two autoscalers launch nodes for the same pending pods, and each removes nodes that the other needs. Before "
        "1.1 a controller also acts on NodePools of EKS Auto Mode."
    ),
    how=(
        "Reads cluster-autoscaler's pods and ready Deployments, and, before 1.1, NodePools whose node class is of "
        "EKS Auto Mode."
    ),
    reads=("controller", "pods", "deployments", "nodepools"),
    says=("{count} object is scaled by a second autoscaler", "{count} objects are scaled by a second autoscaler"),
    sources=(
        "kubernetes-sigs/karpenter@v1.1.5:pkg/utils/nodeclaim/nodeclaim.go",
        "aws/karpenter-provider-aws@v1.14.1:website/content/en/preview/getting-started/migrating-from-cas/_index.md",
    ),
    remedy_tools=("kubectl",),
)


@check.judge
def judge(case: CheckContext) -> Iterator[JudgeResult]:
    if not case.inventory.controller.items:
        yield NotApplicable("there is no Karpenter Deployment")
        return
    yield from _other_autoscalers(case)
    running = case.running.release
    managed = [pool for pool in case.inventory.nodepools.items if pool.get(GROUP) == kinds.AUTO_MODE_GROUP]
    if managed and running is None:
        yield Unknown(f"whether the controller acts on pools of EKS Auto Mode is not known: {case.running.how}")
    elif running is not None and minor_order(running.minor) < (1, 1):
        for pool in managed:
            wanted = "Karpenter 1.1 or later beside EKS Auto Mode"
            yield at_object(pool, GROUP, seen=kinds.AUTO_MODE_GROUP, wanted=wanted)


def _other_autoscalers(case: CheckContext) -> Iterator[Evidence]:
    """Other autoscalers, found by their running pods, or by the status of a Deployment if its pods were not found."""
    autoscalers: dict[tuple[str, str, str], tuple[str, str]] = {}
    for workload in filter(is_other_autoscaler, case.inventory.deployments.items):
        if ready := workload.status and workload.status.ready_replicas:
            autoscalers["Deployment", workload.namespace, workload.name] = "status.readyReplicas", f"{ready} ready"
    for pods in case.inventory.pods.items:
        name = pods.owner_name or next(iter(pods.samples), "")
        if OTHER_AUTOSCALER in name:
            autoscalers[pods.owner_kind or "Pod", pods.namespace, name] = "status.replicas", f"{pods.count} pods run"
    wanted = "scaled to 0 once Karpenter does its work"
    for (kind, space, name), (path, seen) in autoscalers.items():
        yield Evidence(kind=kind, namespace=space, name=name, path=path, seen=seen, wanted=wanted)


@check.advise
def advise(case: CheckContext, evidence: tuple[Evidence, ...]) -> Iterator[Remedy]:
    others = [row for row in evidence if row.kind != "NodePool"]
    if others:
        note = "Stops the other autoscaler; its node groups keep the size they have"
        yield in_cluster(group(*(stop_autoscaler(case.inventory, row) for row in others), notes=(note,)))
    if len(others) < len(evidence):
        columns, note = f"custom-columns=NAME:.metadata.name,GROUP:.{GROUP}", "Whose pools these are"
        yield in_cluster(read_command("kubectl", "get", kinds.NODE_POOL.crd_name, "-o", columns, notes=(note,)))

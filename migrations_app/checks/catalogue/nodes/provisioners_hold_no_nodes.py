"""Fails for each node of a Provisioner that is to be deleted: the node is deleted with it."""

from collections import Counter
from collections.abc import Iterator, Mapping

from migrations_app.checks.base import Check, CheckContext, Evidence, JudgeResult, NotApplicable, Remedy
from migrations_app.checks.remedies.commands import in_cluster, names_shown
from migrations_app.checks.remedies.observations import read_command
from migrations_app.checks.shared.replaced_nodes import groups_on_nodes
from migrations_app.karpenter import kinds
from migrations_app.karpenter.hops import ALPHA_LEFT

check = Check(
    __name__,
    title="No Provisioner owns nodes",
    phase="rollout",
    severity="warning",
    why=(
        "Deleting a Provisioner drains all of its nodes at once, and new nodes are launched only for pods that are "
        "already pending."
    ),
    reads=("provisioners", "nodes", "pods"),
    says=("{count} node is still owned by a Provisioner", "{count} nodes are still owned by Provisioners"),
    how=(
        "Finds the nodes of each Provisioner by label, owner and provider id, and the workloads with all of their "
        "pods on them; not for workloads with more than 50 nodes."
    ),
    hops=(ALPHA_LEFT,),
    resolved_by=("taint_and_drift", "roll_nodes", "forced_deletion"),
    sources=("aws/karpenter-provider-aws@v1.14.1:website/content/en/v1.0/upgrading/v1beta1-migration.md",),
    remedy_tools=("kubectl",),
)


@check.judge
def judge(case: CheckContext) -> Iterator[JudgeResult]:
    if not case.inventory.provisioners.items:
        yield NotApplicable("no Provisioner is left")
    pools = {node.name: node.pool for node in case.ownership.nodes if node.owner == "karpenter_alpha"}
    nodes, alone = Counter(pools.values()), _workloads_only_here(case, pools)
    for provisioner in case.inventory.provisioners.items:
        if nodes[provisioner.name]:
            yield Evidence(
                kind="Provisioner",
                name=provisioner.name,
                path="metadata.name",
                seen=f"nodes: {nodes[provisioner.name]}, workloads that run on them alone: {alone[provisioner.name]}",
                wanted="no node, before it is deleted",
                count=nodes[provisioner.name],
            )


def _workloads_only_here(case: CheckContext, pools: Mapping[str, str]) -> Counter[str]:
    """By Provisioner, the number of workloads that run only on its nodes."""
    workloads: set[tuple[str, str, str, str]] = set()
    for situation in groups_on_nodes(case, pools, wanted=lambda group: group.nodes):
        if not situation.exact or situation.pods != situation.group.count:
            continue
        owners = {pools[name] for name in situation.nodes}
        if len(owners) == 1:
            group = situation.group
            named = group.owner_name or next(iter(group.samples), "")
            workloads.add((owners.pop(), group.namespace, group.owner_kind, named))
    return Counter(pool for pool, *_ in workloads)


@check.advise
def advise(_case: CheckContext, evidence: tuple[Evidence, ...]) -> Iterator[Remedy]:
    selector = f"karpenter.sh/provisioner-name in ({','.join(names_shown(evidence))})"
    note = "Emptied by the fixes of old_provisioners_fenced and legacy_machines_gone, in this order; this only looks"
    yield in_cluster(
        read_command("kubectl", "get", kinds.MACHINE.crd_name, "-l", selector, "-o", "wide", notes=(note,))
    )

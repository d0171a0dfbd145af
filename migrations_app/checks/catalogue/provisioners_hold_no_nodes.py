"""No Provisioner that is to be deleted still stands behind nodes."""

from collections import defaultdict
from collections.abc import Iterator

from migrations_app.checks.base import Case, Check
from migrations_app.checks.remedies import kubectl, names
from migrations_app.checks.rolled import There, there
from migrations_app.checks.values import Evidence, NotApplicable, Remedy, Word
from migrations_app.karpenter.hop_spans import ALPHA_LEFT

check = Check(
    __name__,
    title="No Provisioner stands behind nodes",
    phase="rollout",
    severity="warning",
    why=(
        "Deleting it drains all of these nodes at the same moment, and new ones are launched only for pods that "
        "already hang pending."
    ),
    reads=("provisioners", "nodes", "pods"),
    says=("{count} node goes when its Provisioner is deleted", "{count} nodes go when their Provisioners are deleted"),
    how=(
        "The nodes of each Provisioner by label, owner and provider id, and the workloads all of whose pods run on "
        "them; of workloads with more than 50 nodes that is not told."
    ),
    hops=(ALPHA_LEFT,),
    resolved_by=("taint_and_drift", "manual_rolling", "forced_deletion"),
    sources=("aws/karpenter-provider-aws@v1.14.1:website/content/en/v1.0/upgrading/v1beta1-migration.md",),
)


@check.judge
def judge(case: Case) -> Iterator[Word]:
    if not case.inventory.provisioners.items:
        yield NotApplicable("no Provisioner is left")
    nodes: dict[str, set[str]] = defaultdict(set)
    for node in case.ownership.nodes:
        if node.owner == "karpenter_alpha":
            nodes[node.pool].add(node.name)
    for one in case.inventory.provisioners.items:
        mine = nodes[one.name]
        if mine:
            whole = {_workload(group) for group in there(case, mine) if _is_whole(group)}
            yield Evidence(
                kind="Provisioner",
                name=one.name,
                path="metadata.name",
                seen=f"nodes: {len(mine)}, workloads that run on them alone: {len(whole)}",
                wanted="no node, before it is deleted",
                count=len(mine),
            )


def _is_whole(found: There) -> bool:
    return found.exact and found.pods == found.group.count


def _workload(found: There) -> tuple[str, str, str]:
    group = found.group
    return group.namespace, group.owner_kind, group.owner_name or next(iter(group.samples), "")


@check.advise
def advise(_case: Case, evidence: tuple[Evidence, ...]) -> Iterator[Remedy]:
    yield kubectl(
        "# Empty each before it is deleted: fence it, then replace its Machines one by one",
        f"for pool in {names(evidence)}; do",
        "  kubectl get machines.karpenter.sh -l karpenter.sh/provisioner-name=$pool",
        "done",
    )

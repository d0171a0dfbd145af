"""No pod on a node that the hop replaces keeps data on that node's disk."""

from collections.abc import Iterator

from migrations_app.checks.base import Check, CheckContext, Evidence, JudgeResult, NotApplicable, Remedy
from migrations_app.checks.changes import PersonTask, group
from migrations_app.checks.remedies.commands import NAMES_SHOWN, in_cluster
from migrations_app.checks.remedies.observations import shown
from migrations_app.checks.shared.replaced_nodes import BOUND, NOTHING_ROLLED, rolled_nodes, there
from migrations_app.checks.shell import no_option
from migrations_app.inventory.objects.karpenter import PodGroup
from migrations_app.karpenter.hops import ALPHA_LEFT, hops_from

check = Check(
    __name__,
    title="No pod keeps data on a node to be replaced",
    phase="rollout",
    severity="info",
    why="The disk of a node goes with the node: what a pod wrote there is gone.",
    reads=("pods", "nodes"),
    says=("{count} pod keeps data on its node", "{count} pods keep data on their nodes"),
    how=(
        "Volumes of kind hostPath, and of StatefulSets and bare pods emptyDir on disk, where the hop replaces the "
        "node; an emptyDir of other workloads is taken for scratch space, and DaemonSets go with their node."
    ),
    hops=hops_from(ALPHA_LEFT),
    sources=("Kubernetes documentation, Volumes and Safely Drain a Node",),
    remedy_tools=("kubectl",),
)
KEEPS_STATE = ("", "StatefulSet")


@check.judge
def judge(case: CheckContext) -> Iterator[JudgeResult]:
    nodes = rolled_nodes(case)
    if not nodes:
        yield NotApplicable(NOTHING_ROLLED)
    for one in there(case, nodes, wanted=_local):
        if kinds := _local(one.group):
            yield one.evidence(
                path="spec.volumes", seen=" and ".join(kinds), wanted="a PersistentVolumeClaim, or a copy"
            )
            if not one.exact:
                yield BOUND


def _local(group: PodGroup) -> list[str]:
    kept = ("hostPath", "emptyDir") if group.owner_kind in KEEPS_STATE else ("hostPath",)
    return [kind for kind in group.storage if kind in kept]


@check.advise
def advise(_case: CheckContext, evidence: tuple[Evidence, ...]) -> Iterator[Remedy]:
    task = PersonTask(
        what="copy what may not be lost before the node is replaced",
        why="only the owners know whether the data may go",
        where="the volumes of these workloads",
    )
    looks = (
        shown("kubectl", "-n", no_option(row.namespace), "get", row.kind.lower(), no_option(row.name), "-o", "yaml")
        for row in evidence[:NAMES_SHOWN]
    )
    yield in_cluster(group(task, *looks))

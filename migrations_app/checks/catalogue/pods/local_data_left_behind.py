"""Fails for each pod with data on the disk of a node that the upgrade replaces."""

from collections.abc import Iterator

from migrations_app.checks.base import Check, CheckContext, Evidence, JudgeResult, NotApplicable, Remedy
from migrations_app.checks.changes import PersonTask, group
from migrations_app.checks.remedies.commands import NAMES_SHOWN, in_cluster
from migrations_app.checks.remedies.observations import read_command
from migrations_app.checks.shared.replaced_nodes import (
    NODES_PARTLY_KNOWN,
    NOTHING_REPLACED,
    groups_on_nodes,
    replaced_nodes,
)
from migrations_app.checks.shell import no_option
from migrations_app.inventory.objects.karpenter import PodGroup
from migrations_app.karpenter.hops import ALPHA_LEFT, hops_from

check = Check(
    __name__,
    title="No pod keeps data on a node that is replaced",
    phase="rollout",
    severity="info",
    why="The disk is deleted with its node, and what a pod wrote there is lost.",
    reads=("pods", "nodes"),
    says=("{count} pod loses the data on its node's disk", "{count} pods lose the data on their nodes' disks"),
    how=(
        "Reads hostPath volumes, and emptyDir volumes on disk of StatefulSets and bare pods, where the upgrade "
        "replaces the node. An emptyDir of other workloads counts as scratch space, and DaemonSets end with their "
        "node."
    ),
    hops=hops_from(ALPHA_LEFT),
    sources=("Kubernetes documentation, Volumes and Safely Drain a Node",),
    remedy_tools=("kubectl",),
)
KEEPS_STATE = ("", "StatefulSet")


@check.judge
def judge(case: CheckContext) -> Iterator[JudgeResult]:
    nodes = replaced_nodes(case)
    if not nodes:
        yield NotApplicable(NOTHING_REPLACED)
    for situation in groups_on_nodes(case, nodes, wanted=_local):
        if kinds := _local(situation.group):
            yield situation.evidence(
                path="spec.volumes", seen=" and ".join(kinds), wanted="a PersistentVolumeClaim, or a copy"
            )
            if not situation.exact:
                yield NODES_PARTLY_KNOWN


def _local(group: PodGroup) -> list[str]:
    lasting = ("hostPath", "emptyDir") if group.owner_kind in KEEPS_STATE else ("hostPath",)
    return [kind for kind in group.storage if kind in lasting]


@check.advise
def advise(_case: CheckContext, evidence: tuple[Evidence, ...]) -> Iterator[Remedy]:
    task = PersonTask(
        what="copy what may not be lost before the node is replaced",
        why="only the owners know whether the data may go",
        where="the volumes of these workloads",
    )
    looks = (
        read_command(
            "kubectl", "-n", no_option(row.namespace), "get", row.kind.lower(), no_option(row.name), "-o", "yaml"
        )
        for row in evidence[:NAMES_SHOWN]
    )
    yield in_cluster(group(task, *looks))

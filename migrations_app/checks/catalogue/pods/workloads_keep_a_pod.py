"""Fails for each workload with one pod, on a node that the upgrade replaces."""

from collections import Counter
from collections.abc import Iterator

from migrations_app.checks.base import Check, CheckContext, Evidence, JudgeResult, NotApplicable, Remedy
from migrations_app.checks.changes import ObjectPatch, PersonTask, group, seen_patch
from migrations_app.checks.remedies.commands import in_cluster
from migrations_app.checks.remedies.observations import undo_comments
from migrations_app.checks.remedies.placement import workload_target
from migrations_app.checks.shared.replaced_nodes import NOTHING_REPLACED, groups_on_nodes, replaced_nodes
from migrations_app.inventory.facts.controller import OTHER_AUTOSCALER
from migrations_app.inventory.objects.karpenter import PodGroup
from migrations_app.karpenter.hops import ALPHA_LEFT, hops_from

check = Check(
    __name__,
    title="No workload on a node that is replaced has only one pod",
    phase="rollout",
    severity="info",
    why="While its node is replaced no other pod serves: the workload is down until its next pod is ready.",
    reads=("pods", "nodes"),
    says=("{count} single-replica workload will be down", "{count} single-replica workloads will be down"),
    how="Reads workloads with one unfinished pod on a replaced node, but no DaemonSet, Job or cluster-autoscaler.",
    hops=hops_from(ALPHA_LEFT),
    sources=(
        "Kubernetes documentation, Disruptions",
        "aws/karpenter-provider-aws@v1.14.1:website/content/en/v1.0/upgrading/v1beta1-migration.md",
    ),
    remedy_tools=("kubectl",),
)
SCALED = ("Deployment", "StatefulSet")


@check.judge
def judge(case: CheckContext) -> Iterator[JudgeResult]:
    nodes = replaced_nodes(case)
    if not nodes:
        yield NotApplicable(NOTHING_REPLACED)
        return
    pods: Counter[tuple[str, str, str]] = Counter()
    for each in case.inventory.pods.items:
        pods[_workload(each)] += each.count
    for situation in groups_on_nodes(case, nodes, wanted=lambda pod_group: pods[_workload(pod_group)] == 1):
        if situation.group.owner_kind not in ("", "Job") and OTHER_AUTOSCALER not in situation.group.owner_name:
            yield situation.evidence(path="spec.replicas", seen="1 pod", wanted="a second one")


def _workload(pods: PodGroup) -> tuple[str, str, str]:
    return pods.namespace, pods.owner_kind, pods.owner_name


@check.advise
def advise(_case: CheckContext, evidence: tuple[Evidence, ...]) -> Iterator[Remedy]:
    steps = [_scale_up(row) if row.kind in SCALED else _manual_task(row) for row in evidence]
    note = "For the time of the rollout, where the workload can run twice; else replace its node in a quiet hour"
    back = undo_comments(group(*steps), "To take the second pod away again:")
    yield in_cluster(group(*steps, notes=(note, *back)))


def _scale_up(row: Evidence) -> ObjectPatch:
    target = workload_target(row)
    once, twice = {"spec": {"replicas": 1}}, {"spec": {"replicas": 2}}
    done = f"two pods of {row.kind} {row.namespace}/{row.name} run"
    return seen_patch(target, twice, tree=once, done=done, undo_when="after")


def _manual_task(row: Evidence) -> PersonTask:
    return PersonTask(
        what=f"run {row.kind} {row.name} in {row.namespace} twice, or replace its node in a quiet hour",
        why="what sets the number of its pods is not known here",
        where=f"{row.kind} {row.name}",
    )

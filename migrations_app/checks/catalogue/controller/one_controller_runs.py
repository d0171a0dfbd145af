"""Fails unless there is exactly one Karpenter Deployment, and all its pods are ready and of its newest template."""

from collections.abc import Iterator

from migrations_app.checks.base import Check, CheckContext, Evidence, JudgeResult, Remedy, SeverityCap, Unknown
from migrations_app.checks.changes import Observation, PersonTask, group
from migrations_app.checks.evidence import at_deployment_of
from migrations_app.checks.remedies.commands import in_cluster
from migrations_app.checks.remedies.observations import read_command
from migrations_app.checks.shell import no_option
from migrations_app.inventory.objects.karpenter import Workload

check = Check(
    __name__,
    title="Exactly one Karpenter controller runs",
    phase="controller",
    severity="blocker",
    why="Two controllers, or two releases in one Deployment, work against each other; without one no node is replaced.",
    how="Counts the Karpenter Deployments of all namespaces, their ready replicas, and pods of an older template.",
    reads=("controller",),
    says=(
        "{count} controller Deployment is missing, surplus or not ready",
        "{count} controller Deployments are surplus or not ready",
    ),
    sources=("aws/karpenter-provider-aws#7276", "kubernetes/kubectl@v0.30.0:pkg/polymorphichelpers/rollout_status.go"),
    remedy_tools=("kubectl",),
)
SURPLUS, STOPPED, OLDER = "metadata.namespace", "spec.replicas", "status.replicas"
TASKS = {
    SURPLUS: ("take its Helm release out, or the other one", "the cluster does not show which one manages the nodes"),
    STOPPED: ("scale it up, or install its chart again", "how many replicas were meant stands in the Helm values"),
    OLDER: ("let its new pods start, or roll the upgrade back with helm", "only their logs say what fails"),
}


@check.judge
def judge(case: CheckContext) -> Iterator[JudgeResult]:
    controllers = case.inventory.controller.items
    if not controllers:
        yield Evidence(kind="Deployment", name="karpenter", seen="absent", wanted="one Deployment with ready pods")
    surplus, results = controllers[1:], [row for first in controllers[:1] for row in _replica_results(first)]
    for extra in surplus:
        seen = f"{extra.namespace}, scaled to 0" if extra.has_no_pods else extra.namespace
        yield at_deployment_of(extra, SURPLUS, seen=seen, wanted=f"only that in {controllers[0].namespace}")
    left_by_a_move = surplus and all(extra.has_no_pods for extra in surplus)
    yield from results or ([SeverityCap("warning")] if left_by_a_move else [])


def _replica_results(workload: Workload) -> Iterator[JudgeResult]:
    status, wanted = workload.status, workload.spec.replicas or 1
    if status is None:
        return (yield Unknown(f"Deployment {workload.name}: status.readyReplicas is not there"))
    if workload.metadata.deleting:
        yield at_deployment_of(workload, "metadata.deletionTimestamp", seen="being deleted", wanted="absent")
    ready, older = status.ready_replicas or 0, status.older_pods
    if workload.spec.replicas == 0:
        yield at_deployment_of(workload, STOPPED, seen="0", wanted="1 or more")
    elif older > 0:
        yield at_deployment_of(
            workload, OLDER, seen=f"{older} of an older template, {ready} ready", wanted="the newest one alone"
        )
    elif ready < wanted:
        yield at_deployment_of(workload, "status.readyReplicas", seen=str(ready), wanted=str(wanted))


@check.advise
def advise(_case: CheckContext, evidence: tuple[Evidence, ...]) -> Iterator[Remedy]:
    yield in_cluster(group(*dict.fromkeys(step for row in evidence for step in _steps(row))))


def _steps(row: Evidence) -> Iterator[Observation | PersonTask]:
    home, ours = ("kubectl", "-n", no_option(row.namespace)), ("-l", "app.kubernetes.io/name=karpenter")
    if not row.namespace:
        return (yield read_command("kubectl", "get", "deployments", "-A", *ours))
    yield read_command(*home, "describe", "deployment", no_option(row.name))
    if row.path == OLDER:
        yield read_command(*home, "get", "replicasets,pods", *ours, "-o", "wide")
    if row.path in TASKS:
        what = f"Deployment {row.namespace}/{row.name}: {TASKS[row.path][0]}"
        yield PersonTask(what=what, why=TASKS[row.path][1], where="its events and logs")

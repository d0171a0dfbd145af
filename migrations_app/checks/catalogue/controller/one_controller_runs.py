"""Fails if no Karpenter Deployment runs, if more than one does, or if replicas are not ready."""

from collections.abc import Iterator

from migrations_app.checks.base import Check, CheckContext, Evidence, JudgeResult, Remedy, Unknown
from migrations_app.checks.changes import Observation, PersonTask, group
from migrations_app.checks.remedies.commands import in_cluster
from migrations_app.checks.remedies.observations import read_command
from migrations_app.checks.shell import no_option
from migrations_app.inventory.objects.karpenter import Workload

check = Check(
    __name__,
    title="Exactly one Karpenter controller runs",
    phase="controller",
    severity="blocker",
    why=(
        "Two controllers manage the same instances against each other; without one no node is replaced, drained or "
        "converted."
    ),
    how="Counts the Karpenter Deployments of all namespaces and their ready replicas.",
    reads=("controller",),
    says=(
        "{count} controller Deployment is missing, surplus or not ready",
        "{count} controller Deployments are surplus or not ready",
    ),
    sources=("aws/karpenter-provider-aws@v1.14.1:website/content/en/preview/upgrading/upgrade-guide.md",),
    remedy_tools=("kubectl",),
)


@check.judge
def judge(case: CheckContext) -> Iterator[JudgeResult]:
    controllers = case.inventory.controller.items
    if not controllers:
        yield Evidence(kind="Deployment", name="karpenter", seen="absent", wanted="one Deployment with ready pods")
    for extra in controllers[1:]:
        yield _evidence(
            extra, path="metadata.namespace", seen=extra.namespace, wanted=f"only that in {controllers[0].namespace}"
        )
    for workload in controllers[:1]:
        if workload.status is None:
            yield Unknown(f"Deployment {workload.name}: status.readyReplicas is not there")
            continue
        ready, wanted = workload.status.ready_replicas or 0, workload.spec.replicas or 1
        if workload.spec.replicas == 0 or ready < wanted:
            yield _evidence(workload, path="status.readyReplicas", seen=str(ready), wanted=str(wanted))


def _evidence(workload: Workload, *, path: str, seen: str, wanted: str) -> Evidence:
    return Evidence(
        kind="Deployment", namespace=workload.namespace, name=workload.name, path=path, seen=seen, wanted=wanted
    )


@check.advise
def advise(_case: CheckContext, evidence: tuple[Evidence, ...]) -> Iterator[Remedy]:
    list_all = read_command("kubectl", "get", "deployments", "-A", "-l", "app.kubernetes.io/name=karpenter")
    looks = (_described(row) if row.namespace else list_all for row in evidence)
    extra = (_chosen(row) for row in evidence if row.path == "metadata.namespace")
    yield in_cluster(group(*looks, *extra))


def _described(row: Evidence) -> Observation:
    return read_command("kubectl", "-n", no_option(row.namespace), "describe", "deployment", no_option(row.name))


def _chosen(row: Evidence) -> PersonTask:
    return PersonTask(
        what=f"take the Helm release of {row.namespace}/{row.name} out, or the other one",
        why="the cluster does not show which of the two manages the nodes",
        where="the namespaces of both, and the events of the NodeClaims",
    )

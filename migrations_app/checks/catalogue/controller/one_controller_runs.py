"""Exactly one Karpenter controller runs, and all of its replicas are ready."""

from collections.abc import Iterator

from migrations_app.checks.base import Check, CheckContext, Evidence, JudgeResult, Remedy, Unknown
from migrations_app.checks.remedies.commands import kubectl
from migrations_app.checks.shell import word
from migrations_app.inventory.objects.karpenter import Workload

check = Check(
    __name__,
    title="Exactly one controller runs",
    phase="controller",
    severity="blocker",
    why=(
        "Two controllers fight over the same instances; "
        "none at all means that nothing will be replaced, drained or converted."
    ),
    how="The Karpenter Deployments of all namespaces are counted, with their ready replicas.",
    reads=("controller",),
    says=("{count} Deployment is one too many, or not ready", "{count} Deployments are too many, or not ready"),
    sources=("aws/karpenter-provider-aws@v1.14.1:website/content/en/preview/upgrading/upgrade-guide.md",),
    remedy_tools=("kubectl",),
)


@check.judge
def judge(case: CheckContext) -> Iterator[JudgeResult]:
    every = case.inventory.controller.items
    if not every:
        yield Evidence(kind="Deployment", name="karpenter", seen="absent", wanted="one Deployment with ready pods")
    for extra in every[1:]:
        yield _evidence(
            extra, path="metadata.namespace", seen=extra.namespace, wanted=f"only that in {every[0].namespace}"
        )
    for workload in every[:1]:
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
    yield kubectl(
        *(
            f"kubectl -n {word(row.namespace)} describe deployment {word(row.name)}  # {row.path}"
            if row.namespace
            else "kubectl get deployments -A -l app.kubernetes.io/name=karpenter"
            for row in evidence
        )
    )

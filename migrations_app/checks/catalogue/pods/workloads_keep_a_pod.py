"""No workload on nodes that the hop replaces consists of one pod alone."""

from collections import Counter
from collections.abc import Iterator

from migrations_app.checks.base import Check, CheckContext, Evidence, JudgeResult, NotApplicable, Remedy
from migrations_app.checks.remedies.commands import NAMES_SHOWN, kubectl
from migrations_app.checks.shared.replaced_nodes import NOTHING_ROLLED, rolled_nodes, there
from migrations_app.checks.shell import word
from migrations_app.inventory.objects.karpenter import PodGroup
from migrations_app.karpenter.hops import ALPHA_LEFT, hops_from

check = Check(
    __name__,
    title="No workload on a node to be replaced is a single pod",
    phase="rollout",
    severity="info",
    why="While its node is replaced there is no other pod to answer: it is away until its next one is ready.",
    reads=("pods", "nodes"),
    says=(
        "{count} workload is away while its node is replaced",
        "{count} workloads are away while their node is replaced",
    ),
    how="Workloads, but for DaemonSets and Jobs, with one pod that is not finished, where the hop replaces its node.",
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
    nodes = rolled_nodes(case)
    if not nodes:
        yield NotApplicable(NOTHING_ROLLED)
        return
    pods: Counter[tuple[str, str, str]] = Counter()
    for group in case.inventory.pods.items:
        pods[_workload(group)] += group.count
    for one in there(case, nodes, wanted=lambda group: pods[_workload(group)] == 1):
        if one.group.owner_kind not in ("", "Job"):
            yield one.evidence(path="spec.replicas", seen="1 pod", wanted="a second one")


def _workload(group: PodGroup) -> tuple[str, str, str]:
    return group.namespace, group.owner_kind, group.owner_name


@check.advise
def advise(_case: CheckContext, evidence: tuple[Evidence, ...]) -> Iterator[Remedy]:
    yield kubectl(
        "# For the time of the rollout, where the workload can run twice; else replace its node in a quiet hour",
        *(
            f"kubectl -n {word(row.namespace)} scale {word(row.kind.lower())} {word(row.name)} --replicas=2"
            if row.kind in SCALED
            else f"# {row.namespace}: {row.kind} {row.name}"
            for row in evidence[:NAMES_SHOWN]
        ),
    )

"""Fails for each pod without a controller on a node that the upgrade replaces."""

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
from migrations_app.karpenter.hops import ALPHA_LEFT, hops_from

check = Check(
    __name__,
    title="No bare pod runs on a node that is replaced",
    phase="rollout",
    severity="info",
    why="No controller recreates a bare pod: it is deleted with its node and does not come back.",
    reads=("pods", "nodes"),
    says=("{count} bare pod is deleted with its node", "{count} bare pods are deleted with their nodes"),
    how="Reads pods without ownerReferences where the upgrade replaces their node.",
    hops=hops_from(ALPHA_LEFT),
    severity_at={ALPHA_LEFT: "warning"},
    sources=(
        "Kubernetes documentation, Safely Drain a Node",
        "aws/karpenter-provider-aws@v1.14.1:website/content/en/v1.0/upgrading/v1beta1-migration.md",
    ),
    remedy_tools=("kubectl",),
)


@check.judge
def judge(case: CheckContext) -> Iterator[JudgeResult]:
    nodes = replaced_nodes(case)
    if not nodes:
        yield NotApplicable(NOTHING_REPLACED)
    for situation in groups_on_nodes(case, nodes, wanted=lambda group: not group.owner_kind):
        wanted = "a Deployment, a StatefulSet or a Job"
        yield situation.evidence(path="metadata.ownerReferences", seen="absent", wanted=wanted)
        if not situation.exact:
            yield NODES_PARTLY_KNOWN


@check.advise
def advise(_case: CheckContext, evidence: tuple[Evidence, ...]) -> Iterator[Remedy]:
    homes = dict.fromkeys(no_option(row.namespace) for row in evidence)
    columns = "custom-columns=NAME:.metadata.name,OWNER:.metadata.ownerReferences[0].kind,NODE:.spec.nodeName"
    task = PersonTask(
        what="keep the manifests of the pods without an owner, or let a controller run them",
        why="no controller recreates them, and the cluster does not say what they are for",
        where="the pods below whose OWNER is <none>",
    )
    looks = (read_command("kubectl", "-n", home, "get", "pods", "-o", columns) for home in list(homes)[:NAMES_SHOWN])
    yield in_cluster(group(task, *looks))

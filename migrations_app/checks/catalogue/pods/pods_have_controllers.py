"""Every pod on a node that the hop replaces has a controller that starts it anew elsewhere."""

from collections.abc import Iterator

from migrations_app.checks.base import Check, CheckContext, Evidence, JudgeResult, NotApplicable, Remedy
from migrations_app.checks.remedies.commands import NAMES_SHOWN, kubectl
from migrations_app.checks.shared.replaced_nodes import BOUND, NOTHING_ROLLED, rolled_nodes, there
from migrations_app.checks.shell import word
from migrations_app.karpenter.hops import ALPHA_LEFT, hops_from

check = Check(
    __name__,
    title="No bare pod runs on a node to be replaced",
    phase="rollout",
    severity="info",
    why="Nobody starts such a pod again: it goes with its node and does not come back.",
    reads=("pods", "nodes"),
    says=(
        "{count} pod without a controller goes with its node",
        "{count} pods without a controller go with their nodes",
    ),
    how="Pods without ownerReferences, where the hop replaces their node.",
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
    nodes = rolled_nodes(case)
    if not nodes:
        yield NotApplicable(NOTHING_ROLLED)
    for one in there(case, nodes, wanted=lambda group: not group.owner_kind):
        wanted = "a Deployment, a StatefulSet or a Job"
        yield one.evidence(path="metadata.ownerReferences", seen="absent", wanted=wanted)
        if not one.exact:
            yield BOUND


@check.advise
def advise(_case: CheckContext, evidence: tuple[Evidence, ...]) -> Iterator[Remedy]:
    homes = dict.fromkeys(row.namespace for row in evidence)
    columns = "NAME:.metadata.name,OWNER:.metadata.ownerReferences[0].kind,NODE:.spec.nodeName"
    yield kubectl(
        "# Those without an owner: keep the manifest, or let a controller run them",
        *(f"kubectl -n {word(home)} get pods -o custom-columns={columns}" for home in list(homes)[:NAMES_SHOWN]),
    )

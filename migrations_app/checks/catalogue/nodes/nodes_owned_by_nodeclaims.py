"""Every node of Karpenter's stands behind a NodeClaim."""

from collections.abc import Iterator

from migrations_app.checks.base import Check, CheckContext, Evidence, JudgeResult, NotApplicable, Remedy, Unknown
from migrations_app.checks.remedies.commands import NAMES_SHOWN, kubectl, names
from migrations_app.checks.shared.replaced_nodes import fenced
from migrations_app.inventory.facts.ownership import OwnedNode
from migrations_app.karpenter.hops import ALPHA_LEFT, hops_from

LOST = "node-without-claim"
check = Check(
    __name__,
    title="Every Karpenter node is owned by a NodeClaim",
    phase="rollout",
    severity="warning",
    why=(
        "From 0.33 on other nodes are not managed any more: "
        "no scale-down, no interruption handling, a finalizer that hangs."
    ),
    how="Nodes, Machines and NodeClaims are joined by provider id and owner.",
    reads=("nodes", "nodeclaims", "machines"),
    says=("{count} Karpenter node is not owned by a NodeClaim", "{count} Karpenter nodes are not owned by a NodeClaim"),
    hops=hops_from(ALPHA_LEFT),
    severity_at={ALPHA_LEFT: "blocker"},
    resolved_by=("taint_and_drift", "roll_nodes", "forced_deletion"),
    sources=(
        "aws/karpenter-provider-aws@v1.14.1:website/content/en/v1.0/upgrading/v1beta1-migration.md",
        "aws/karpenter-provider-aws@v0.33.12:pkg/providers/instance/instance.go",
    ),
    remedy_tools=("kubectl",),
)


@check.judge
def judge(case: CheckContext) -> Iterator[JudgeResult]:
    nodes = case.ownership.nodes
    mine = [node for node in nodes if node.owner.startswith("karpenter_")]
    unknown = [node for node in nodes if node.owner == "unknown"]
    if not mine and not unknown:
        yield NotApplicable("there is no node of Karpenter's")
    for node in mine:
        if node.owner == "karpenter_alpha" or LOST in node.anomalies:
            yield Evidence(
                kind="Node", name=node.name, path="metadata.ownerReferences", seen=_seen(node), wanted="NodeClaim"
            )
    if unknown:
        yield Unknown(f"{len(unknown)} nodes belong to nobody we know, first {unknown[0].name}")


def _seen(node: OwnedNode) -> str:
    if node.owner == "karpenter_alpha":
        return f"Machine {node.claim} of Provisioner {node.pool}" if node.claim else f"Provisioner {node.pool}"
    return f"no NodeClaim with its provider id, pool {node.pool}"


@check.advise
def advise(case: CheckContext, evidence: tuple[Evidence, ...]) -> Iterator[Remedy]:
    shown = {row.name for row in evidence[:NAMES_SHOWN]}
    pools = {node.pool for node in case.ownership.nodes if node.name in shown and node.owner == "karpenter_alpha"}
    yield kubectl(
        "# Once a NodePool that fits these pods is ready: fence the old pool, then one node after the other",
        *(fenced(one) for one in case.inventory.provisioners.items if one.name in pools),
        f"for node in {names(evidence)}; do",
        '  kubectl drain "$node" --ignore-daemonsets --delete-emptydir-data && kubectl delete node "$node"',
        "done",
    )

"""Fails for each node of Karpenter's without a NodeClaim that owns it."""

from collections.abc import Iterator

from migrations_app.checks.base import Check, CheckContext, Evidence, JudgeResult, NotApplicable, Remedy, Unknown
from migrations_app.checks.remedies.commands import NAMES_SHOWN, in_cluster
from migrations_app.checks.remedies.lost_nodes import delete_nodes
from migrations_app.checks.remedies.observations import read_command
from migrations_app.checks.shell import no_option
from migrations_app.inventory.facts.ownership import OwnedNode
from migrations_app.karpenter import kinds
from migrations_app.karpenter.hops import ALPHA_LEFT, hops_from

LOST = "node-without-claim"
WITH_MACHINES = "Nodes behind Machines go with these: legacy_machines_gone deletes one at a time; this only looks"
check = Check(
    __name__,
    title="Every Karpenter node is owned by a NodeClaim",
    phase="rollout",
    severity="warning",
    why=(
        "From 0.33 on other nodes are not managed: no scale-down, no interruption handling, and an orphaned finalizer."
    ),
    how="Matches nodes, Machines and NodeClaims by provider id and owner.",
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
    karpenter_nodes = [node for node in nodes if node.owner.startswith("karpenter_")]
    unknown = [node for node in nodes if node.owner == "unknown"]
    if not karpenter_nodes and not unknown:
        yield NotApplicable("there is no node of Karpenter's")
    for node in karpenter_nodes:
        if node.owner == "karpenter_alpha" or LOST in node.anomalies:
            yield Evidence(
                kind="Node",
                name=node.name,
                path="metadata.ownerReferences",
                seen=_current_owner(node),
                wanted="NodeClaim",
            )
    if unknown:
        yield Unknown(f"{len(unknown)} nodes have an unknown owner, first {unknown[0].name}")


def _current_owner(node: OwnedNode) -> str:
    if node.owner == "karpenter_alpha":
        return f"Machine {node.claim} of Provisioner {node.pool}" if node.claim else f"Provisioner {node.pool}"
    return f"no NodeClaim with its provider id, pool {node.pool}"


@check.advise
def advise(case: CheckContext, evidence: tuple[Evidence, ...]) -> Iterator[Remedy]:
    owned = {node.name: node for node in case.ownership.nodes}
    machines = [owned[row.name].claim for row in evidence if owned[row.name].owner == "karpenter_alpha"]
    if named := [no_option(name) for name in machines if name][:NAMES_SHOWN]:
        yield in_cluster(
            read_command("kubectl", "get", kinds.MACHINE.crd_name, *named, "-o", "wide", notes=(WITH_MACHINES,))
        )
    alone = [row for row in evidence if owned[row.name].owner != "karpenter_alpha" or not owned[row.name].claim]
    if alone:
        yield in_cluster(delete_nodes(case, alone))

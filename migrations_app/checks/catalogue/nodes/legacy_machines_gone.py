"""Fails for each alpha Machine that still exists."""

from collections.abc import Iterator

from migrations_app.checks.base import Check, CheckContext, Evidence, JudgeResult, Remedy
from migrations_app.checks.remedies.commands import in_cluster
from migrations_app.checks.remedies.karpenter_objects import delete_claims
from migrations_app.checks.remedies.lost_nodes import end_machines
from migrations_app.inventory.inventory import Inventory, once
from migrations_app.karpenter import kinds
from migrations_app.karpenter.hops import ALPHA_LEFT, hops_from
from migrations_app.karpenter.releases import serves

KIND = kinds.MACHINE
FIRST = ("pools_admit_provisioner_pods", "old_provisioners_fenced")
check = Check(
    __name__,
    title="No Machine is left",
    phase="rollout",
    severity="warning",
    why="A Machine never becomes a NodeClaim: replace its node on 0.32. Later no controller removes its finalizer.",
    how="Lists Machines in every version that was ever served.",
    reads=("machines",),
    says=("{count} Machine still exists", "{count} Machines still exist"),
    hops=hops_from(ALPHA_LEFT),
    severity_at={ALPHA_LEFT: "blocker"},
    resolved_by=("taint_and_drift", "roll_nodes", "forced_deletion"),
    sources=(
        "aws/karpenter-provider-aws@v1.14.1:website/content/en/preview/upgrading/upgrade-guide.md",
        "kubernetes-sigs/karpenter@v0.32.10:pkg/apis/v1alpha5",
    ),
    remedy_tools=("kubectl",),
)


@check.judge
def judge(case: CheckContext) -> Iterator[JudgeResult]:
    yield from _remaining(case.inventory)


@once
def _remaining(inventory: Inventory) -> tuple[Evidence, ...]:
    evidences: list[Evidence] = []
    for machine in inventory.machines.items:
        node = (machine.status and machine.status.node_name) or "no node"
        seen = "being deleted" if machine.metadata.deleting else f"behind {node}"
        evidences.append(
            Evidence(kind=KIND.kind, name=machine.name, seen=seen, wanted=f"a {KIND.successor} in its place")
        )
    return tuple(evidences)


@check.advise
def advise(case: CheckContext, evidence: tuple[Evidence, ...]) -> Iterator[Remedy]:
    running = case.running.release
    if running is not None and serves(running, "alpha") is False:
        yield in_cluster(end_machines(case.inventory, evidence, running=running))
        return
    note = "On 0.32, with a NodePool that fits ready: each deletion drains one node and terminates its instance"
    yield in_cluster(delete_claims(evidence, note, needs=FIRST))

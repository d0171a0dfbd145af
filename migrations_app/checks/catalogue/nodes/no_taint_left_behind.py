"""Fails for each node with a taint of Karpenter that no running process removes."""

from collections.abc import Iterator
from datetime import datetime, timedelta

from migrations_app.checks.base import Check, CheckContext, Evidence, JudgeResult, Remedy
from migrations_app.checks.changes import ChangeTarget, NodeTaint, group
from migrations_app.checks.remedies.commands import in_cluster
from migrations_app.inventory.facts.node_claims import moment
from migrations_app.inventory.inventory import Inventory, once
from migrations_app.inventory.objects.karpenter import KarpenterClaim, Node
from migrations_app.karpenter import labels

check = Check(
    __name__,
    title="No node has a stale Karpenter taint",
    phase="rollout",
    severity="warning",
    why="Such a node gets no pods and is billed: no controller removes the taint or replaces the node.",
    reads=("nodes", "nodeclaims"),
    says=("{count} node has a stale Karpenter taint", "{count} nodes have a stale Karpenter taint"),
    how=(
        "Reads nodes with the disruption taint of another release, or with it while neither they nor their NodeClaim "
        "are deleted and no condition of the NodeClaim gives the reason; and nodes with the unregistered taint after "
        "15 minutes."
    ),
    sources=("kubernetes-sigs/karpenter@v1.14.1:pkg/apis/v1/taints.go",),
    remedy_tools=("kubectl",),
)
PATIENCE = timedelta(minutes=15)
REASONS = ("DisruptionReason", "Drifted", "Expired", "Empty", "Consolidatable")
"""Conditions of claims: a node is tainted because of one of them before it is deleted."""


@check.judge
def judge(case: CheckContext) -> Iterator[JudgeResult]:
    now = moment(case.now)
    for node, claim in _tainted(case.inventory):
        for taint in node.spec.taints or ():
            reason = _reason(case, node, key=taint.key, claim=claim, now=now)
            if reason:
                yield Evidence(
                    kind="Node", name=node.name, path=f"spec.taints[{taint.key}]", seen=reason, wanted="absent"
                )


@once
def _tainted(inventory: Inventory) -> tuple[tuple[Node, KarpenterClaim | None], ...]:
    """The nodes with a taint, each with its claim."""
    nodes = [node for node in inventory.nodes.items if node.spec.taints]
    claims = {claim.provider_id: claim for claim in inventory.nodeclaims.items if claim.provider_id} if nodes else {}
    return tuple((node, claims.get(node.spec.provider_id or "")) for node in nodes)


def _reason(case: CheckContext, node: Node, *, key: str, claim: KarpenterClaim | None, now: datetime | None) -> str:
    running = case.running.release
    if key == labels.UNREGISTERED_TAINT:
        born = moment(node.metadata.creation_timestamp)
        return "not registered" if born and now and now - born > PATIENCE else ""
    if key not in (labels.DISRUPTION_TAINT, labels.DISRUPTED_TAINT):
        return ""
    if running and labels.retired(key, running, kind="taint"):
        return f"{running} does not know it"
    going = node.metadata.deleting or (claim is not None and claim.metadata.deleting)
    explained = claim is not None and any(claim.condition(word) == "True" for word in REASONS)
    return "" if going or explained else "nothing is being disrupted"


@check.advise
def advise(_case: CheckContext, evidence: tuple[Evidence, ...]) -> Iterator[Remedy]:
    steps = (
        NodeTaint(target=ChangeTarget("Node", row.name), key=_key(row), removed=True, done=f"{_key(row)} is gone")
        for row in evidence
    )
    note = "Where the node is to stay; one that never registered is better replaced"
    yield in_cluster(group(*steps, notes=(note,)))


def _key(row: Evidence) -> str:
    return row.path.removeprefix("spec.taints[").removesuffix("]")

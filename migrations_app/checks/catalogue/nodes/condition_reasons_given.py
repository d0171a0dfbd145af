"""Fails for each NodeClaim with a condition that has no reason, which 0.37 and later require."""

from collections.abc import Iterator

from migrations_app.checks.base import Check, CheckContext, Evidence, JudgeResult, NotApplicable, Remedy, Unknown
from migrations_app.checks.changes import ObjectPatch, group
from migrations_app.checks.remedies.commands import in_cluster
from migrations_app.checks.remedies.karpenter_objects import target_of
from migrations_app.inventory.facts.node_pools import own_claims
from migrations_app.inventory.inventory import Inventory, once
from migrations_app.inventory.objects.karpenter import KarpenterClaim
from migrations_app.karpenter.hops import ALPHA_LEFT, hops_from
from migrations_app.karpenter.versions import minor_order
from migrations_app.manifests import JsonMap

check = Check(
    __name__,
    title="Every NodeClaim condition has a reason",
    phase="rollout",
    severity="info",
    why="From 0.37 on the reason must not be empty: such a NodeClaim can be neither updated nor disrupted.",
    reads=("nodeclaims",),
    says=("{count} NodeClaim has a condition with no reason", "{count} NodeClaims have conditions with no reason"),
    how="Reads status.conditions of NodeClaims for empty reasons while 0.37 or later runs, which fills some in.",
    hops=hops_from(ALPHA_LEFT),
    sources=("aws/karpenter-provider-aws#6420", "kubernetes-sigs/karpenter#1285"),
    remedy_tools=("kubectl",),
)
DEMANDED = "0.37"


@check.judge
def judge(case: CheckContext) -> Iterator[JudgeResult]:
    running = case.running.release
    if running is None:
        yield Unknown(f"which release runs is not known: {case.running.how}")
    elif minor_order(running.minor) < minor_order(DEMANDED):
        yield NotApplicable(f"{DEMANDED} fills them in; ask again once it runs")
    else:
        yield from _without_reason(case.inventory)


@once
def _without_reason(inventory: Inventory) -> tuple[Evidence, ...]:
    rows: list[Evidence] = []
    for claim in own_claims(inventory):
        bare = [row.type for row in (claim.status and claim.status.conditions) or () if not row.reason]
        if bare:
            seen, path = f"none: {' '.join(bare)}", "status.conditions[].reason"
            rows.append(Evidence(kind="NodeClaim", name=claim.name, path=path, seen=seen, wanted="a reason"))
    return tuple(rows)


@check.advise
def advise(case: CheckContext, evidence: tuple[Evidence, ...]) -> Iterator[Remedy]:
    claims = {claim.name: claim for claim in own_claims(case.inventory)}
    steps = (
        ObjectPatch(
            target=target_of(row),
            body=tuple(_add_reasons(claims[row.name])),
            subresource="status",
            needs=("crds_match_controller",),
            final="the controller writes conditions anew where they change",
            done=f"each condition of NodeClaim {row.name} gives a reason",
        )
        for row in evidence
    )
    note = (
        "First bring the CRDs to the tag of the controller; where a claim stays as it is, its type becomes the reason"
    )
    yield in_cluster(group(*steps, notes=(note,)))


def _add_reasons(claim: KarpenterClaim) -> Iterator[JsonMap]:
    """Operations that add the missing reasons; the patch is refused if the list has changed since the scan."""
    for at, row in enumerate((claim.status and claim.status.conditions) or ()):
        if not row.reason:
            path = f"/status/conditions/{at}"
            yield {"op": "test", "path": f"{path}/type", "value": row.type}
            yield {"op": "add", "path": f"{path}/reason", "value": row.type}

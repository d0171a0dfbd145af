"""Fails for each NodePool without spec.disruption.budgets."""

from collections import Counter
from collections.abc import Iterator

from migrations_app.checks.base import Check, CheckContext, Evidence, JudgeResult, NotApplicable, Remedy
from migrations_app.checks.evidence import MAPS, at_field, split_malformed
from migrations_app.checks.remedies.karpenter_objects import change_remedies, merge_patch_of
from migrations_app.checks.shared.drift_hold import KNOWS_BUDGETS
from migrations_app.checks.tools import OBJECT_TOOLS
from migrations_app.inventory.facts.node_pools import BUDGETS, DEFAULT_PERCENT, at_once, own_claims, own_pools
from migrations_app.karpenter import labels
from migrations_app.karpenter.hops import ALPHA_LEFT, BETA_LEFT, CONVERTED
from migrations_app.karpenter.versions import minor_order

check = Check(
    __name__,
    title="Every NodePool has a disruption budget",
    phase="resources",
    severity="info",
    why=(
        "From 0.34 on Karpenter disrupts up to 10 % of the nodes of a NodePool without a budget at once, which may "
        "be more or fewer than before."
    ),
    how="Reads spec.disruption.budgets of each NodePool; the number of nodes follows from its NodeClaims.",
    reads=("nodepools", "nodeclaims"),
    says=("{count} NodePool has no disruption budget", "{count} NodePools have no disruption budget"),
    hops=(ALPHA_LEFT, CONVERTED, BETA_LEFT),
    sources=("aws/karpenter-provider-aws@v1.14.1:website/content/en/preview/upgrading/upgrade-guide.md",),
    remedy_tools=OBJECT_TOOLS,
)


@check.judge
def judge(case: CheckContext) -> Iterator[JudgeResult]:
    pools, to = own_pools(case.inventory), case.hop.release
    if minor_order(to.minor) < KNOWS_BUDGETS:
        return (yield NotApplicable(f"{to} has no budgets: its CRDs and its webhook drop them"))
    if not pools:
        yield NotApplicable("there is no NodePool of Karpenter's own yet")
    malformed, pools = split_malformed(pools, {BUDGETS: MAPS})
    yield from malformed
    nodes = Counter(claim.metadata.label(labels.NODEPOOL) for claim in own_claims(case.inventory))
    for pool in pools:
        if pool.get(BUDGETS) in (None, []):
            many = nodes[pool.name]
            seen = f"absent: {DEFAULT_PERCENT}%, which is {at_once(many)} of {many} nodes at once"
            yield at_field(pool, BUDGETS, seen=seen, wanted="budgets as the workloads bear them")


@check.advise
def advise(case: CheckContext, evidence: tuple[Evidence, ...]) -> Iterator[Remedy]:
    budgets = [{"nodes": f"{DEFAULT_PERCENT}%"}]
    line = merge_patch_of(BUDGETS, budgets, default=budgets)
    task, running = "write the budgets that are meant", case.running.release
    if running is not None and minor_order(running.minor) < KNOWS_BUDGETS:
        notes = (f"{running} keeps no budgets: only once the new CRDs are there",)
        yield from change_remedies(case, evidence, what=task, line=line, notes=notes, when="after")
    else:
        yield from change_remedies(case, evidence, what=task, line=line)

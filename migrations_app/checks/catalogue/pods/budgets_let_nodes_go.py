"""Fails for each NodePool with a budget of 0 nodes that covers every reason and every time."""

from collections.abc import Iterator

from migrations_app.checks.base import Check, CheckContext, Evidence, JudgeResult, NotApplicable, Remedy, Unknown
from migrations_app.checks.evidence import MAPS, at_field, split_malformed
from migrations_app.checks.remedies.karpenter_objects import change_remedies, merge_patch_of
from migrations_app.checks.tools import OBJECT_TOOLS
from migrations_app.inventory.facts.node_pools import (
    BUDGETS,
    closed_budgets,
    own_pools,
    unreadable_budgets,
    unreadable_schedules,
)
from migrations_app.karpenter.hops import ALPHA_LEFT, CONVERTED, hops_from

check = Check(
    __name__,
    title="Every NodePool allows disruption",
    phase="rollout",
    severity="warning",
    why="With a budget of 0 no node is replaced: drift, rollouts and consolidation stop without an error.",
    how=(
        "Reads budgets of 0 nodes for every reason, without a schedule or with schedules whose durations leave no time."
    ),
    reads=("nodepools",),
    says=("{count} NodePool allows no disruption", "{count} NodePools allow no disruption"),
    hops=hops_from(ALPHA_LEFT),
    # If drift was off, such a budget is meant to hold it back during the upgrade to 1.0.
    severity_at={CONVERTED: "info"},
    sources=(
        "aws/karpenter-provider-aws@v1.14.1:website/content/en/preview/concepts/disruption.md",
        "kubernetes-sigs/karpenter@v1.14.1:pkg/apis/v1/nodepool.go",
    ),
    remedy_tools=OBJECT_TOOLS,
)


@check.judge
def judge(case: CheckContext) -> Iterator[JudgeResult]:
    pools = own_pools(case.inventory)
    if not pools:
        yield NotApplicable("there is no NodePool of Karpenter's own yet")
    malformed, pools = split_malformed(pools, {BUDGETS: MAPS})
    yield from malformed
    for pool in pools:
        for place in unreadable_budgets(pool):
            yield Unknown(f"NodePool {pool.name}: {BUDGETS}[{place}].nodes is neither a number nor a share")
        for place in unreadable_schedules(pool):
            what = f"schedule or duration of {BUDGETS}[{place}]"
            yield Unknown(f"NodePool {pool.name}: {what} cannot be read; it may allow none")
        for place, limit in closed_budgets(pool):
            path = f"{BUDGETS}[{place}].nodes"
            yield at_field(pool, path, seen=limit, wanted="more than 0, or a schedule that leaves time")


@check.advise
def advise(case: CheckContext, evidence: tuple[Evidence, ...]) -> Iterator[Remedy]:
    notes = ("Only once the upgrade is done and replacement is wanted: nodes that drifted meanwhile go then",)
    line, what = merge_patch_of(BUDGETS, [{"nodes": "10%"}]), "raise the budget once replacement is wanted"
    yield from change_remedies(case, evidence, what=what, line=line, notes=notes, when="after")

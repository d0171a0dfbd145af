"""Fails for each NodePool that consolidates when empty or underutilized without waiting first."""

from collections.abc import Iterator

from migrations_app.checks.base import Check, CheckContext, Evidence, JudgeResult, NotApplicable, Remedy
from migrations_app.checks.evidence import MAP, TEXT, at_field, split_malformed
from migrations_app.checks.remedies.karpenter_objects import change_remedies, merge_patch_of
from migrations_app.checks.tools import OBJECT_TOOLS
from migrations_app.conversion.quantities import nanoseconds
from migrations_app.inventory.facts.node_pools import is_v1, own_pools, text
from migrations_app.inventory.objects.karpenter import NodePool
from migrations_app.karpenter.hops import BETA_LEFT, CONVERTED

check = Check(
    __name__,
    title="Every NodePool waits before it consolidates",
    phase="resources",
    severity="info",
    why=(
        "With consolidateAfter 0s a NodePool consolidates after every pod that ends: nodes are replaced more often "
        "than under v1beta1."
    ),
    how="Reads consolidateAfter of zero or none with WhenEmptyOrUnderutilized; 1.0 gives v1beta1 NodePools 0s.",
    reads=("nodepools",),
    says=("{count} NodePool consolidates without a wait", "{count} NodePools consolidate without a wait"),
    hops=(CONVERTED, BETA_LEFT),
    sources=(
        "aws/karpenter-provider-aws@v1.14.1:website/content/en/v1.0/upgrading/v1-migration.md",
        "kubernetes-sigs/karpenter@v1.0.9:pkg/apis/v1/nodepool_conversion.go",
    ),
    remedy_tools=OBJECT_TOOLS,
)
DISRUPTION = "spec.disruption"
POLICY, AFTER = f"{DISRUPTION}.consolidationPolicy", f"{DISRUPTION}.consolidateAfter"
RESTLESS = ("", "WhenUnderutilized", "WhenEmptyOrUnderutilized")


@check.judge
def judge(case: CheckContext) -> Iterator[JudgeResult]:
    pools = own_pools(case.inventory)
    if not pools:
        yield NotApplicable("there is no NodePool of Karpenter's own yet")
    malformed, pools = split_malformed(pools, {DISRUPTION: MAP, POLICY: TEXT, AFTER: TEXT})
    yield from malformed
    for pool in pools:
        if text(pool, POLICY) in RESTLESS and _without_wait(pool):
            beta = not is_v1(case.inventory.nodepools, pool)
            seen = "absent, 0s from 1.0 on" if beta else text(pool, AFTER) or "absent, which means 0s"
            yield at_field(pool, AFTER, seen=seen, wanted="a few minutes, such as 5m, once v1 is read")


def _without_wait(pool: NodePool) -> bool:
    delay = pool.get(AFTER)
    return delay is None or (isinstance(delay, str) and nanoseconds(delay) == 0)


@check.advise
def advise(case: CheckContext, evidence: tuple[Evidence, ...]) -> Iterator[Remedy]:
    notes = ("v1beta1 refuses the field beside WhenUnderutilized: only once 1.0 runs",)
    line = merge_patch_of(AFTER, "5m", default="0s")
    yield from change_remedies(case, evidence, what="set consolidateAfter to 5m", line=line, notes=notes)

"""Fails for each field of spec.disruption that v1 refuses or lacks."""

from collections.abc import Iterator

from migrations_app.checks.base import Check, CheckContext, Evidence, JudgeResult, NotApplicable, Remedy
from migrations_app.checks.evidence import MAP, TEXT, at_field, split_malformed
from migrations_app.checks.remedies.karpenter_objects import change_remedies, edit_task
from migrations_app.checks.tools import OBJECT_TOOLS
from migrations_app.inventory.facts.node_pools import is_v1, own_pools, text
from migrations_app.inventory.objects.karpenter import NodePool
from migrations_app.karpenter.hops import CONVERTED, hops_from

check = Check(
    __name__,
    title="Every NodePool sets consolidation as v1 requires",
    phase="resources",
    severity="blocker",
    why="v1 refuses a NodePool without consolidateAfter or with the old policy name; the webhook turns Never into 0s.",
    how="Reads spec.disruption of NodePools as v1, and consolidateAfter Never with WhenUnderutilized in v1beta1.",
    reads=("nodepools",),
    says=("{count} consolidation field does not meet v1", "{count} consolidation fields do not meet v1"),
    hops=hops_from(CONVERTED),
    sources=(
        "aws/karpenter-provider-aws@v1.14.1:website/content/en/v1.0/upgrading/v1-migration.md",
        "kubernetes-sigs/karpenter@v1.0.9:pkg/apis/v1/nodepool_conversion.go",
    ),
    remedy_tools=OBJECT_TOOLS,
)
DISRUPTION = "spec.disruption"
POLICY, AFTER = f"{DISRUPTION}.consolidationPolicy", f"{DISRUPTION}.consolidateAfter"
OLD = "WhenUnderutilized"


@check.judge
def judge(case: CheckContext) -> Iterator[JudgeResult]:
    pools = own_pools(case.inventory)
    if not pools:
        yield NotApplicable("there is no NodePool of Karpenter's own yet")
    malformed, pools = split_malformed(pools, {DISRUPTION: MAP, POLICY: TEXT, AFTER: TEXT})
    yield from malformed
    for pool in pools:
        yield from _v1(pool) if is_v1(case.inventory.nodepools, pool) else _beta(pool)


def _v1(pool: NodePool) -> Iterator[Evidence]:
    if text(pool, POLICY) == OLD:
        yield at_field(pool, POLICY, seen=OLD, wanted="WhenEmptyOrUnderutilized")
    if pool.get(DISRUPTION) and pool.get(AFTER) is None:
        yield at_field(pool, AFTER, seen="absent", wanted="a duration, or Never; 0s is what v1beta1 did")


def _beta(pool: NodePool) -> Iterator[Evidence]:
    if text(pool, POLICY) in ("", OLD) and text(pool, AFTER) == "Never":
        wanted = "consolidationPolicy WhenEmpty with Never; 1.0 makes 0s of it otherwise"
        yield at_field(pool, AFTER, seen=f"Never, beside {OLD}", wanted=wanted)


@check.advise
def advise(case: CheckContext, evidence: tuple[Evidence, ...]) -> Iterator[Remedy]:
    row = evidence[0]
    yield from change_remedies(case, evidence, what=f"set {row.path} to {row.wanted}", line=edit_task)

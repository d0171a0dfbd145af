"""Fails for each limit or weight of a NodePool that is not valid or has no effect."""

from collections.abc import Iterator

from migrations_app.checks.base import Check, CheckContext, Evidence, JudgeResult, NotApplicable, Remedy, Unknown
from migrations_app.checks.evidence import MAP, WHOLE, at_field, split_malformed
from migrations_app.checks.remedies.karpenter_objects import change_remedies, edit_task
from migrations_app.checks.tools import OBJECT_TOOLS
from migrations_app.conversion.quantities import billionths
from migrations_app.inventory.facts.node_pools import own_pools
from migrations_app.inventory.objects.karpenter import NodePool
from migrations_app.karpenter.hops import ALPHA_LEFT, hops_from

check = Check(
    __name__,
    title="Limits and weights of every pool are valid",
    phase="resources",
    severity="warning",
    why=(
        "Limits under resources, as in Provisioners, limit nothing; with a limit of 0 or a wrong weight Karpenter "
        "does not use the NodePool."
    ),
    how="Reads spec.limits and spec.weight of each NodePool; pools_have_room compares limits with what is in use.",
    reads=("nodepools",),
    says=("{count} NodePool limit or weight is not valid", "{count} NodePool limits or weights are not valid"),
    hops=hops_from(ALPHA_LEFT),
    sources=(
        "aws/karpenter-provider-aws@v1.14.1:website/content/en/v1.0/upgrading/v1beta1-migration.md",
        "aws/karpenter-provider-aws@v1.14.1:pkg/apis/crds/karpenter.sh_nodepools.yaml",
    ),
    remedy_tools=OBJECT_TOOLS,
)
LIMITS, WEIGHT = "spec.limits", "spec.weight"
FIRST, LAST = 1, 100


@check.judge
def judge(case: CheckContext) -> Iterator[JudgeResult]:
    pools = own_pools(case.inventory)
    if not pools:
        yield NotApplicable("there is no NodePool of Karpenter's own yet")
    malformed, pools = split_malformed(pools, {LIMITS: MAP, WEIGHT: WHOLE})
    yield from malformed
    for pool in pools:
        weight = pool.get(WEIGHT)
        if isinstance(weight, int) and not FIRST <= weight <= LAST:
            yield at_field(pool, WEIGHT, seen=weight, wanted=f"{FIRST} to {LAST}")
        limits = pool.get(LIMITS)
        for name, amount in (limits if isinstance(limits, dict) else {}).items():
            yield from _limit(pool, name, amount=amount)


def _limit(pool: NodePool, name: str, *, amount: object) -> Iterator[JudgeResult]:
    path = f"{LIMITS}.{name}"
    most = billionths(str(amount))
    if name == "resources" and isinstance(amount, dict):
        yield at_field(pool, path, seen=amount, wanted="the same one level up, below limits")
    elif most is None:
        yield Unknown(f"NodePool {pool.name}: {path} is no quantity")
    elif most <= 0:
        yield at_field(pool, path, seen=amount, wanted="more than 0: with it the pool launches nothing")


@check.advise
def advise(case: CheckContext, evidence: tuple[Evidence, ...]) -> Iterator[Remedy]:
    row = evidence[0]
    yield from change_remedies(case, evidence, what=f"correct {row.path}: {row.wanted}", line=edit_task)

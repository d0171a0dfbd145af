"""Limits and weights of every pool mean what they seem to mean."""

from collections.abc import Iterator
from typing import Any

from migrations_app.checks.base import Case, Check
from migrations_app.checks.changing import changed, edited
from migrations_app.checks.fields import MAP, WHOLE, cause, odd
from migrations_app.checks.values import CannotTell, Evidence, NotApplicable, Remedy, Word
from migrations_app.inventory.objects import NodePool
from migrations_app.inventory.pools import own_pools
from migrations_app.karpenter.conversion.quantities import billionths
from migrations_app.karpenter.hop_spans import ALPHA_LEFT, hops_from

check = Check(
    __name__,
    title="Limits and weights of every pool are valid",
    phase="resources",
    severity="warning",
    why="Limits below resources, as Provisioners had them, limit nothing; at its limit a pool launches no successor.",
    how="spec.limits and spec.weight of each NodePool, and its limits compared with status.resources.",
    reads=("nodepools",),
    says=("{count} limit or weight is not as it should be", "{count} limits and weights are not as they should be"),
    hops=hops_from(ALPHA_LEFT),
    sources=(
        "aws/karpenter-provider-aws@v1.14.1:website/content/en/v1.0/upgrading/v1beta1-migration.md",
        "aws/karpenter-provider-aws@v1.14.1:pkg/apis/crds/karpenter.sh_nodepools.yaml",
    ),
)
LIMITS, WEIGHT, USED = "spec.limits", "spec.weight", "status.resources"
FIRST, LAST = 1, 100


@check.judge
def judge(case: Case) -> Iterator[Word]:
    pools = own_pools(case.inventory)
    if not pools:
        yield NotApplicable("there is no NodePool of Karpenter's own yet")
    yield from odd(pools, {LIMITS: MAP, WEIGHT: WHOLE, USED: MAP})
    for pool in pools:
        weight = pool.get(WEIGHT)
        if isinstance(weight, int) and not FIRST <= weight <= LAST:
            yield cause(pool, WEIGHT, seen=weight, wanted=f"{FIRST} to {LAST}")
        limits, used = pool.get(LIMITS), pool.get(USED)
        for name, told in (limits if isinstance(limits, dict) else {}).items():
            yield from _limit(pool, name, told, used=used.get(name, 0) if isinstance(used, dict) else 0)


def _limit(pool: NodePool, name: str, told: Any, *, used: Any) -> Iterator[Word]:  # noqa: ANN401 - the API's own JSON
    path = f"{LIMITS}.{name}"
    if name == "resources" and isinstance(told, dict):
        yield cause(pool, path, seen=told, wanted="the same one level up, below limits")
        return
    most, now = billionths(str(told)), billionths(str(used))
    if most is None:
        yield CannotTell(f"NodePool {pool.name}: {path} is no quantity")
    elif now is None:
        yield CannotTell(f"NodePool {pool.name}: {USED}.{name} is no quantity")
    elif now >= most and (now > 0 or most == 0):
        yield cause(pool, path, seen=f"{told}, and {used} in use", wanted="room for the successors of nodes")


@check.advise
def advise(case: Case, evidence: tuple[Evidence, ...]) -> Iterator[Remedy]:
    row = evidence[0]
    yield from changed(case, evidence, what=f"correct {row.path}: {row.wanted}", line=edited)

"""Fails for each NodePool whose limits have no room for one more node of its average size."""

from collections import Counter
from collections.abc import Iterator
from typing import Any

from migrations_app.checks.base import Check, CheckContext, Evidence, JudgeResult, NotApplicable, Remedy, Unknown
from migrations_app.checks.changes import Change
from migrations_app.checks.remedies.commands import NAMES_SHOWN
from migrations_app.checks.remedies.karpenter_objects import change_remedies, merge_patch_of
from migrations_app.checks.shared.replaced_nodes import NOTHING_REPLACED, replaced_nodes
from migrations_app.checks.tools import OBJECT_TOOLS
from migrations_app.conversion import quantities
from migrations_app.inventory.facts.node_pools import own_pools
from migrations_app.inventory.objects.karpenter import NodePool
from migrations_app.karpenter.hops import ALPHA_LEFT, hops_from

check = Check(
    __name__,
    title="Every NodePool has room for one more node",
    phase="rollout",
    severity="warning",
    why="Karpenter launches the replacement before it drains the old node: a NodePool at its limits replaces nothing.",
    reads=("nodepools", "nodes"),
    says=("{count} NodePool has no room for one more node", "{count} NodePools have no room for one more node"),
    how=(
        "Compares spec.limits with status.resources of each NodePool; a node counts with the average size of that "
        "NodePool."
    ),
    hops=hops_from(ALPHA_LEFT),
    sources=("aws/karpenter-provider-aws@v1.14.1:website/content/en/preview/concepts/nodepools.md",),
    remedy_tools=OBJECT_TOOLS,
)


@check.judge
def judge(case: CheckContext) -> Iterator[JudgeResult]:
    if not replaced_nodes(case):
        yield NotApplicable(NOTHING_REPLACED)
        return
    nodes = Counter(node.pool for node in case.ownership.nodes if node.owner.startswith("karpenter_"))
    for pool in own_pools(case.inventory):
        results = tuple(_limits(pool, nodes[pool.name]))
        yield from [result for result in results if isinstance(result, Evidence)][:1] or results


def _limits(pool: NodePool, nodes: int) -> Iterator[JudgeResult]:
    limits, used = pool.get("spec.limits", {}), pool.get("status.resources", {})
    for resource, limit in limits.items() if isinstance(limits, dict) else ():
        taken = used.get(resource, "0") if isinstance(used, dict) else None
        yield from _full_limit(pool, resource, limit=limit, taken=taken, nodes=nodes)


def _full_limit(pool: NodePool, resource: str, *, limit: Any, taken: Any, nodes: int) -> Iterator[JudgeResult]:  # noqa: ANN401 - plain JSON of the object
    most, now = quantities.read(str(limit)), quantities.read(str(taken))
    path = f"spec.limits.{resource}"
    if most is None or now is None:
        yield Unknown(f"NodePool {pool.name}: {path} or status.resources.{resource} cannot be read")
    elif now[0] + (now[0] // nodes if nodes else 1) > most[0]:
        seen = f"{limit}, {taken} of it used by {nodes} nodes"
        evidence = Evidence(kind="NodePool", name=pool.name, path=path, seen=seen, wanted="room for one node more")
        yield evidence.with_data(limit=str(limit))


@check.advise
def advise(case: CheckContext, evidence: tuple[Evidence, ...]) -> Iterator[Remedy]:
    seen = [f"NodePool {row.name}, {row.path}: {row.seen}" for row in evidence[:NAMES_SHOWN]]
    yield from change_remedies(case, evidence, what="raise spec.limits for the rollout", line=_raise_limit, notes=seen)


def _raise_limit(row: Evidence) -> Change:
    return merge_patch_of("spec.limits", {row.path.removeprefix("spec.limits."): _doubled(row)})(row)


def _doubled(row: Evidence) -> str:
    """The limit doubled, because for a while every node may exist twice."""
    amount = row.value("limit")
    most = quantities.read(amount)
    return str(-(-2 * most[0] // 10**9)) if most else amount

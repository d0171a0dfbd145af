"""Fails for each NodePool whose disruption karpdash held for a pause and did not release."""

from collections.abc import Iterator
from typing import Any

from migrations_app.checks.base import Check, CheckContext, Evidence, JudgeResult, NotApplicable, Remedy
from migrations_app.checks.changes import ChangeTarget, ObjectPatch, PersonTask
from migrations_app.checks.evidence import at_object
from migrations_app.checks.remedies.commands import in_cluster
from migrations_app.checks.remedies.karpenter_objects import RESOURCES
from migrations_app.inventory.facts.disruption_hold import HELD, NO_NODES, is_held_by_us
from migrations_app.inventory.facts.node_pools import BUDGETS, own_pools
from migrations_app.manifests import JsonMap
from migrations_app.manifests.nesting import parse_json

check = Check(
    __name__,
    title="No NodePool stays held by karpdash",
    phase="cleanup",
    severity="warning",
    why="A NodePool that was held for a pause and never let go neither drifts nor consolidates, and nobody is told.",
    how="The annotation karpdash.io/held-budgets, which karpdash sets with a hold and takes off when it restores.",
    reads=("nodepools",),
    says=("{count} NodePool is still held", "{count} NodePools are still held"),
    sources=("aws/karpenter-provider-aws@v1.0.14:pkg/apis/crds/karpenter.sh_nodepools.yaml",),
    remedy_tools=("kubectl",),
    resolved_by=("release_disruption",),
)


@check.judge
def judge(case: CheckContext) -> Iterator[JudgeResult]:
    pools = own_pools(case.inventory)
    if not pools:
        yield NotApplicable("there is no NodePool of Karpenter's own yet")
    for pool in pools:
        if is_held_by_us(pool):
            before = pool.metadata.annotation(HELD) or ""
            evidence = at_object(pool, "metadata.annotations", seen=HELD, wanted="its budgets as before")
            yield evidence.with_data(before=before, changed="" if pool.get(BUDGETS) == NO_NODES else "yes")


@check.advise
def advise(_case: CheckContext, evidence: tuple[Evidence, ...]) -> Iterator[Remedy]:
    for row in evidence:
        yield in_cluster(_restore_budgets(row))


def _restore_budgets(row: Evidence) -> ObjectPatch | PersonTask:
    """The same as the action does: budgets that were changed since the hold stay, and unknown budgets are not
    guessed."""
    target = ChangeTarget(row.kind, row.name, resource=RESOURCES["NodePool"][1])
    body: JsonMap = {"metadata": {"annotations": {HELD: None}}}
    seen: JsonMap = {"metadata": {"annotations": {HELD: row.value("before")}}}
    if row.value("changed"):
        words = "its budgets were changed since the hold and stay as they are"
        return ObjectPatch(target=target, body=body, seen=seen, when="after", final=words)
    is_known, budgets = _former_budgets(row.value("before"))
    if not is_known:
        return PersonTask(
            target=target, when="after", what=f"restore {BUDGETS} of NodePool {row.name}, then remove {HELD}",
            why="the annotation does not say what the budgets were; until then no node of the pool is disrupted",
        )  # fmt: skip
    body["spec"] = {"disruption": {"budgets": budgets}}
    seen["spec"] = {"disruption": {"budgets": NO_NODES}}
    return ObjectPatch(target=target, body=body, seen=seen, when="after", final="it restores what was before the hold")


def _former_budgets(text: str) -> tuple[bool, Any]:
    """Whether the annotation contains the former budgets, and these budgets."""
    try:
        budgets = parse_json(text)
    except ValueError:
        return False, None
    return budgets is None or isinstance(budgets, list), budgets

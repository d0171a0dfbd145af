"""Fails for each NodePool, and each Provisioner to be replaced, without a capacity type."""

import json
from collections.abc import Iterator
from typing import Any

from migrations_app.checks.base import Check, CheckContext, Evidence, JudgeResult, NotApplicable, Remedy, Unknown
from migrations_app.checks.changes import ObjectPatch
from migrations_app.checks.evidence import at_field
from migrations_app.checks.remedies.karpenter_objects import append_patch, append_undo, change_remedies, target_of
from migrations_app.checks.shared.node_pools import ALPHA_GONE, alpha_is_past
from migrations_app.checks.tools import OBJECT_TOOLS
from migrations_app.inventory.facts.node_pools import own_pools
from migrations_app.inventory.objects.karpenter import NodePool, WholeObject
from migrations_app.karpenter import labels
from migrations_app.karpenter.hops import ALPHA_LEFT

FIRST = "0.32"
check = Check(
    __name__,
    title="Every NodePool sets its capacity type",
    phase="resources",
    severity="info",
    why="A Provisioner without one launched on-demand only; a NodePool without one launches Spot where it is cheaper.",
    how="Searches the requirements of each NodePool, and of Provisioners to be replaced, for the capacity type.",
    reads=("nodepools", "provisioners"),
    says=(
        "{count} NodePool sets no capacity type: Spot is possible",
        "{count} NodePools set no capacity type: Spot is possible",
    ),
    severity_at={FIRST: "warning", ALPHA_LEFT: "warning"},
    sources=(
        "aws/karpenter-provider-aws@v1.14.1:website/content/en/v1.0/upgrading/v1beta1-migration.md",
        "aws/karpenter-provider-aws@v0.32.10:pkg/providers/instance/instance.go",
    ),
    remedy_tools=OBJECT_TOOLS,
)
REQUIREMENTS = "spec.template.spec.requirements"
NOTE = "Nodes launched before will drift where the new requirement does not admit them"
WANTED = f"{labels.CAPACITY_TYPE} In [{labels.ON_DEMAND}] or with {labels.SPOT}"


@check.judge
def judge(case: CheckContext) -> Iterator[JudgeResult]:
    if case.hop.name == ALPHA_LEFT and alpha_is_past(case):  # at later hops the check is only a reminder
        yield ALPHA_GONE
        return
    own: list[WholeObject] = [*own_pools(case.inventory)]
    own += case.inventory.provisioners.items if case.hop.name in (FIRST, ALPHA_LEFT) else ()
    if not own:
        yield NotApplicable("there is no pool of Karpenter's own")
    for pool in own:
        path = REQUIREMENTS if isinstance(pool, NodePool) else "spec.requirements"
        rows = pool.get(path, [])
        if not isinstance(rows, list):
            yield Unknown(f"{type(pool).__name__} {pool.name}: {path} is no list")
        elif not any(_has_capacity_type(row) for row in rows):
            yield at_field(pool, path, seen="absent", wanted=WANTED)


def _has_capacity_type(row: Any) -> bool:  # noqa: ANN401 - the tree is the API's own JSON
    return isinstance(row, dict) and row.get("key") == labels.CAPACITY_TYPE


@check.advise
def advise(case: CheckContext, evidence: tuple[Evidence, ...]) -> Iterator[Remedy]:
    pools: dict[tuple[str, str], WholeObject] = {
        ("NodePool", nodepool.name): nodepool for nodepool in case.inventory.nodepools.items
    }
    pools |= {("Provisioner", pool.name): pool for pool in case.inventory.provisioners.items}
    value = {"key": labels.CAPACITY_TYPE, "operator": "In", "values": [labels.ON_DEMAND]}
    task = f"add the requirement {json.dumps(value, separators=(',', ':'))}"

    def added(row: Evidence) -> ObjectPatch:
        whole_object, target = pools[row.kind, row.name], target_of(row)
        undo = ObjectPatch(target=target, body=tuple(append_undo(whole_object, row.path, value=value)))
        body = tuple(append_patch(whole_object, row.path, value=value))
        return ObjectPatch(target=target, body=body, undo=undo, done=f"{row.path} has it")

    yield from change_remedies(case, evidence, what=task, line=added, notes=(NOTE,))

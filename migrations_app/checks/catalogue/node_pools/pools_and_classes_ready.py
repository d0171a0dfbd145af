"""Fails for each NodePool or EC2NodeClass whose condition Ready is not True, or whose status lacks what is needed."""

from collections.abc import Iterator
from typing import Any

from migrations_app.checks.base import Check, CheckContext, Evidence, JudgeResult, NotApplicable, Remedy, Unknown
from migrations_app.checks.evidence import MAPS, at_field, split_malformed
from migrations_app.checks.remedies.karpenter_objects import describe_remedy
from migrations_app.inventory.facts.node_classes import unresolved_lists
from migrations_app.inventory.facts.node_pools import is_v1, own_pools, rows
from migrations_app.inventory.objects.karpenter import EC2NodeClass, NodePool
from migrations_app.karpenter.hops import ALPHA_LEFT, CONVERTED, hops_from
from migrations_app.karpenter.versions import minor_order

check = Check(
    __name__,
    title="Every NodePool and node class is ready",
    phase="resources",
    severity="warning",
    why="From 1.0 on Karpenter does not use what is not ready: drained nodes get no replacement there.",
    how="Reads the condition Ready of NodePools and EC2NodeClasses, with its reasons; without it what selectors found.",
    reads=("nodepools", "ec2nodeclasses"),
    says=("{count} NodePool or node class is not ready", "{count} NodePools and node classes are not ready"),
    hops=hops_from(ALPHA_LEFT),
    severity_at={CONVERTED: "blocker"},
    sources=(
        "aws/karpenter-provider-aws@v1.14.1:website/content/en/v1.0/upgrading/v1-migration.md",
        "aws/karpenter-provider-aws@v1.14.1:pkg/apis/v1/ec2nodeclass_status.go",
    ),
    remedy_tools=("kubectl",),
)
CONDITIONS = "status.conditions"
READY = f"{CONDITIONS}[Ready].status"
WRITTEN = (1, 0)


@check.judge
def judge(case: CheckContext) -> Iterator[JudgeResult]:
    inventory = case.inventory
    pools, classes, running = own_pools(inventory), inventory.ec2nodeclasses.items, case.running.release
    writes = running is None or minor_order(running.minor) >= WRITTEN
    if not pools and not classes:
        yield NotApplicable("there is no NodePool and no EC2NodeClass yet")
    malformed, pools = split_malformed(pools, {CONDITIONS: MAPS})
    others, classes = split_malformed(classes, {CONDITIONS: MAPS})
    yield from (*malformed, *others)
    for pool in pools:
        yield from _readiness(pool, has_condition=writes and is_v1(inventory.nodepools, pool))
    for ec2_node_class in classes:
        yield from _readiness(ec2_node_class, has_condition=writes and is_v1(inventory.ec2nodeclasses, ec2_node_class))


def _readiness(owner: NodePool | EC2NodeClass, *, has_condition: bool) -> Iterator[JudgeResult]:
    """Evidence if the condition Ready is not True; if it is absent, Unknown with `has_condition`, else what is missing.

    v1beta1, and a controller before 1.0 whatever its CRDs serve, has it only on node classes, from 0.37 on.
    """
    conditions: dict[str, dict[str, Any]] = {}
    for place, row in rows(owner, CONDITIONS):
        if isinstance(row.get("type"), str):
            conditions[row["type"]] = row
        else:
            yield Unknown(f"{type(owner).__name__} {owner.name}: {CONDITIONS}[{place}].type is not a text")
    if "Ready" not in conditions:
        if has_condition:
            yield Unknown(f"{type(owner).__name__} {owner.name}: {READY} is absent")
        for name in () if has_condition else unresolved_lists(owner):
            yield at_field(owner, f"status.{name}", seen="none", wanted="what the terms in spec select")
    elif conditions["Ready"].get("status") != "True":
        unmet = sorted(str(kind) for kind, row in conditions.items() if row.get("status") != "True" and kind != "Ready")
        reason = ", ".join(unmet) or str(conditions["Ready"].get("message") or conditions["Ready"].get("reason") or "")
        yield at_field(owner, READY, seen=f"{conditions['Ready'].get('status')} {reason}".strip(), wanted="True")


@check.advise
def advise(_case: CheckContext, evidence: tuple[Evidence, ...]) -> Iterator[Remedy]:
    for kind in ("EC2NodeClass", "NodePool"):
        if evidences := [row for row in evidence if row.kind == kind]:
            yield describe_remedy(evidences, "Conditions or events name what is missing: image, network, role or class")

"""Fails for each default of a Provisioner that the NodePool of the same name does not set."""

from collections.abc import Iterator

from migrations_app.checks.base import Check, CheckContext, Evidence, JudgeResult, NotApplicable, Remedy
from migrations_app.checks.evidence import MAPS, TEXT, TEXTS, at_field, split_malformed
from migrations_app.checks.remedies.karpenter_objects import change_remedies, edit_task
from migrations_app.checks.shared.conversion_findings import conversion_items
from migrations_app.checks.shared.node_pools import ALPHA_GONE, alpha_is_past
from migrations_app.checks.tools import OBJECT_TOOLS
from migrations_app.inventory.facts.node_pools import (
    DISRUPTION,
    REQUIREMENTS,
    TEMPLATE_LABELS,
    lost_defaults,
    own_pools,
)
from migrations_app.karpenter.hops import ALPHA_LEFT

check = Check(
    __name__,
    title="Every NodePool keeps the defaults of its Provisioner",
    phase="resources",
    severity="warning",
    why=(
        "The alpha webhook set operating system, architecture and instance types, and no node expired by default. A "
        "NodePool without these settings launches any type, consolidates, and replaces nodes every 30 days."
    ),
    how="Compares the requirements that the webhook would add, and disruption, with the Provisioner of the same name.",
    reads=("nodepools", "provisioners"),
    says=("{count} default changes with NodePools", "{count} defaults change with NodePools"),
    hops=(ALPHA_LEFT,),
    sources=(
        "aws/karpenter-provider-aws@v1.14.1:website/content/en/v1.0/upgrading/v1beta1-migration.md",
        "aws/karpenter-provider-aws@v0.32.10:pkg/apis/v1alpha5/provisioner.go",
    ),
    remedy_tools=OBJECT_TOOLS,
)
TIMES = dict.fromkeys((f"{DISRUPTION}.expireAfter", f"{DISRUPTION}.consolidationPolicy"), TEXT)
DRIFT = "Nodes that no longer fit will drift"
SHAPES = {REQUIREMENTS: MAPS, **TIMES, TEMPLATE_LABELS: TEXTS}


@check.judge
def judge(case: CheckContext) -> Iterator[JudgeResult]:
    if alpha_is_past(case):
        return (yield ALPHA_GONE)
    pools = own_pools(case.inventory)
    if not pools:
        yield NotApplicable("there is no NodePool of Karpenter's own yet")
    malformed, pools = split_malformed(pools, SHAPES)
    yield from malformed
    for lost in lost_defaults(pools, conversion_items(case.inventory, generation="alpha")):
        yield at_field(lost.pool, lost.path, seen=lost.seen, wanted=lost.wanted)


@check.advise
def advise(case: CheckContext, evidence: tuple[Evidence, ...]) -> Iterator[Remedy]:
    task = f"write {evidence[0].wanted} into {evidence[0].path} of NodePool {evidence[0].name}"
    yield from change_remedies(case, evidence, what=task, line=edit_task, notes=(DRIFT,))

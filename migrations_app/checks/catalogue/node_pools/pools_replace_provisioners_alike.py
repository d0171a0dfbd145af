"""Fails for each default of a Provisioner that the NodePool of the same name does not set."""

from collections.abc import Iterator

from migrations_app.checks.base import Check, CheckContext, Evidence, JudgeResult, NotApplicable, Remedy
from migrations_app.checks.evidence import MAPS, TEXT, TEXTS, apart, cause
from migrations_app.checks.remedies.karpenter_objects import changed, edited
from migrations_app.checks.shared.conversion_findings import items
from migrations_app.checks.shared.node_pools import PAST, alpha_is_past
from migrations_app.checks.tools import OBJECT_TOOLS
from migrations_app.conversion.findings import FindingCollector
from migrations_app.conversion.provisioner import defaults, requirement_text
from migrations_app.inventory.facts.node_pools import REQUIREMENTS, own_pools, rows, strings, text
from migrations_app.inventory.objects.karpenter import NodePool
from migrations_app.karpenter import labels
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
DISRUPTION = "spec.disruption"
LABELS = "spec.template.metadata.labels"
TIMES = dict.fromkeys((f"{DISRUPTION}.expireAfter", f"{DISRUPTION}.consolidationPolicy"), TEXT)
SHAPES = {REQUIREMENTS: MAPS, **TIMES, LABELS: TEXTS}


@check.judge
def judge(case: CheckContext) -> Iterator[JudgeResult]:
    if alpha_is_past(case):
        yield PAST
        return
    pools = own_pools(case.inventory)
    if not pools:
        yield NotApplicable("there is no NodePool of Karpenter's own yet")
    strange, pools = apart(pools, SHAPES)
    yield from strange
    trees = [tree for item in items(case.inventory, generation="alpha") for tree in item.objects]
    before = {tree["metadata"]["name"]: tree["spec"]["disruption"] for tree in trees if tree["kind"] == "NodePool"}
    for pool in pools:
        yield from _requirements(pool)
        if pool.name in before:
            yield from _disruption(pool, before[pool.name])


def _requirements(pool: NodePool) -> Iterator[Evidence]:
    requirements = [row for _, row in rows(pool, REQUIREMENTS) if isinstance(row.get("key"), str)]
    for missing in defaults(requirements, strings(pool, LABELS), notes=FindingCollector("NodePool", pool.name)):
        # pools_state_capacity_type reports that key, at every hop.
        if missing["key"] != labels.CAPACITY_TYPE:
            yield cause(pool, REQUIREMENTS, seen=f"nothing about {missing['key']}", wanted=requirement_text(missing))


def _disruption(pool: NodePool, before: dict[str, str]) -> Iterator[Evidence]:
    for field, default in (("consolidationPolicy", "WhenUnderutilized"), ("expireAfter", "720h")):
        now = text(pool, f"{DISRUPTION}.{field}") or default
        then = before.get(field) or default  # the converter leaves out what is the default of v1beta1
        if now == default and then not in (default, "720h0m0s"):
            yield cause(pool, f"{DISRUPTION}.{field}", seen=now, wanted=f"{then}, as the Provisioner had it")


@check.advise
def advise(case: CheckContext, evidence: tuple[Evidence, ...]) -> Iterator[Remedy]:
    task = f"write {evidence[0].wanted} into {evidence[0].path} of NodePool {evidence[0].name}"
    yield from changed(case, evidence, what=task, line=edited, notes=("Nodes that no longer fit will drift",))

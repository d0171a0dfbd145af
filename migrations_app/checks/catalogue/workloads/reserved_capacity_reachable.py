"""Fails for each pod or NodePool that requires on-demand only while a node class selects capacity reservations."""

from collections.abc import Iterator

from migrations_app.checks.base import Check, CheckContext, Evidence, JudgeResult, NotApplicable, Remedy
from migrations_app.checks.changes import Change, group
from migrations_app.checks.remedies.commands import remedies_of
from migrations_app.checks.remedies.placement import object_manager, patch_requirements, workload_edit_task
from migrations_app.checks.shared.node_pools import requirements
from migrations_app.checks.tools import OBJECT_TOOLS
from migrations_app.inventory.facts.workloads import POD_PARTS, placement_mentions
from migrations_app.karpenter import labels
from migrations_app.karpenter.hops import hops_from
from migrations_app.manifests import JsonMap

check = Check(
    __name__,
    title="Pods and NodePools can use reserved capacity",
    phase="workloads",
    severity="info",
    why="From 1.3 on reserved is a capacity type: what requires on-demand only leaves reservations unused.",
    reads=(*POD_PARTS, "nodepools", "ec2nodeclasses"),
    says=("{count} pod or NodePool excludes reserved capacity", "{count} pods or NodePools exclude reserved capacity"),
    how=(
        "Reads capacityReservationSelectorTerms of node classes; where there are some, selectors and requirements of "
        "karpenter.sh/capacity-type with on-demand and without reserved."
    ),
    hops=hops_from("1.3"),
    sources=("aws/karpenter-provider-aws@v1.14.1:website/content/en/preview/upgrading/upgrade-guide.md",),
    remedy_tools=OBJECT_TOOLS,
)
TERMS = "spec.capacityReservationSelectorTerms"


@check.judge
def judge(case: CheckContext) -> Iterator[JudgeResult]:
    if not any(ec2nodeclass.get(TERMS) for ec2nodeclass in case.inventory.ec2nodeclasses.items):
        yield NotApplicable(f"no EC2NodeClass sets {TERMS}")
        return
    for mention in placement_mentions(case.inventory, {labels.CAPACITY_TYPE}):
        if _lacks_reserved(mention.value.removeprefix("In ").split(" ")):
            yield Evidence(
                kind=mention.kind,
                namespace=mention.namespace,
                name=mention.name,
                path=mention.path,
                seen=f"{mention.key} {mention.value}",
                wanted=f"{labels.RESERVED} beside {labels.ON_DEMAND}",
                count=mention.count,
            )
    for row in requirements(case.inventory):
        if row.key == labels.CAPACITY_TYPE and row.operator == "In" and _lacks_reserved(row.values):
            seen, wanted = " ".join(row.values), f"{labels.RESERVED} beside {labels.ON_DEMAND}"
            yield Evidence(kind=row.kind, name=row.name, path=row.path, seen=seen, wanted=wanted)


def _lacks_reserved(values: list[str] | tuple[str, ...]) -> bool:
    return labels.ON_DEMAND in values and labels.RESERVED not in values


@check.advise
def advise(case: CheckContext, evidence: tuple[Evidence, ...]) -> Iterator[Remedy]:
    steps = dict.fromkeys(_step(case, row) for row in evidence)
    task = f"list {evidence[0].wanted} in {labels.CAPACITY_TYPE}"
    yield from remedies_of(group(*steps, what=task), object_manager(case.inventory, evidence[0]))


def _step(case: CheckContext, row: Evidence) -> Change:
    if row.namespace:
        return workload_edit_task(row, row.wanted, why="a selector takes one value only, an affinity several")
    return patch_requirements(case.inventory, row, fix=_fixed)


def _fixed(requirement: JsonMap) -> JsonMap:
    values = requirement.get("values")
    kind = requirement.get("key") == labels.CAPACITY_TYPE and requirement.get("operator") == "In"
    if not kind or not isinstance(values, list) or not _lacks_reserved(values):
        return requirement
    return requirement | {"values": [*values, labels.RESERVED]}

"""Fails for each selector or requirement that lists the accelerator inferentia and neither trainium nor inferentia2."""

from collections.abc import Iterator

from migrations_app.checks.base import Check, CheckContext, Evidence, JudgeResult, Remedy
from migrations_app.checks.changes import Change, group
from migrations_app.checks.remedies.commands import remedies_of
from migrations_app.checks.remedies.placement import object_manager, patch_requirements, workload_edit_task
from migrations_app.checks.shared.node_pools import requirements
from migrations_app.checks.tools import OBJECT_TOOLS
from migrations_app.inventory.facts.workloads import POD_PARTS, placement_mentions
from migrations_app.karpenter.hops import BETA_LEFT
from migrations_app.manifests import JsonMap

check = Check(
    __name__,
    title="Selectors name each Neuron accelerator",
    phase="workloads",
    severity="warning",
    why=(
        "Up to 1.0 Karpenter labels every Neuron accelerator inferentia. From 1.1 on it labels trainium and "
        "inferentia2 by their own names: what selects or excludes inferentia alone no longer means those nodes."
    ),
    reads=(*POD_PARTS, "nodepools"),
    says=(
        "{count} pod or pool names only inferentia and misses trainium and inferentia2",
        "{count} pods or pools name only inferentia and miss trainium and inferentia2",
    ),
    how=(
        "Reads selectors and requirements of karpenter.k8s.aws/instance-accelerator-name that list inferentia, in or "
        "out, without the others."
    ),
    hops=(BETA_LEFT,),
    sources=("aws/karpenter-provider-aws@v1.14.1:website/content/en/preview/upgrading/upgrade-guide.md",),
    remedy_tools=OBJECT_TOOLS,
)
KEY = "karpenter.k8s.aws/instance-accelerator-name"
OLD, NEW, LISTS = "inferentia", ("trainium", "inferentia2"), ("In", "NotIn")
WANTED = f"{' or '.join(NEW)} as well, where the nodes have them"


@check.judge
def judge(case: CheckContext) -> Iterator[JudgeResult]:
    for mention in placement_mentions(case.inventory, {KEY}):
        if _inferentia_alone(mention.value.split(" ")):
            yield Evidence(
                kind=mention.kind,
                namespace=mention.namespace,
                name=mention.name,
                path=mention.path,
                seen=f"{KEY} {mention.value}",
                wanted=WANTED,
                count=mention.count,
            )
    for row in requirements(case.inventory):
        if row.key == KEY and row.operator in LISTS and _inferentia_alone(row.values):
            seen = " ".join((row.key, row.operator, *row.values))
            yield Evidence(kind=row.kind, name=row.name, path=row.path, seen=seen, wanted=WANTED)


def _inferentia_alone(values: list[str] | tuple[str, ...]) -> bool:
    return OLD in values and not set(NEW) & set(values)


@check.advise
def advise(case: CheckContext, evidence: tuple[Evidence, ...]) -> Iterator[Remedy]:
    steps = dict.fromkeys(_step(case, row) for row in evidence)
    task = f"list {' and '.join(NEW)} beside {OLD} in {KEY}"
    yield from remedies_of(group(*steps, what=task), object_manager(case.inventory, evidence[0]))


def _step(case: CheckContext, row: Evidence) -> Change:
    if row.namespace:
        return workload_edit_task(row, f"an affinity with {OLD} {' '.join(NEW)}", why="a selector takes one value only")
    return patch_requirements(case.inventory, row, fix=_fixed)


def _fixed(row: JsonMap) -> JsonMap:
    ours = row.get("key") == KEY and row.get("operator") in LISTS and isinstance(row.get("values"), list)
    return row | {"values": [*row["values"], *NEW]} if ours and _inferentia_alone(row["values"]) else row

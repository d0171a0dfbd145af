"""Fails for each workload or NodePool that uses a beta label of Kubernetes, such as beta.kubernetes.io/arch."""

from collections.abc import Iterator

from migrations_app.checks.base import Check, CheckContext, Evidence, JudgeResult, Remedy
from migrations_app.checks.changes import Change, group
from migrations_app.checks.remedies.commands import remedies_of
from migrations_app.checks.remedies.placement import (
    is_selector,
    object_manager,
    patch_requirements,
    patch_selector,
    workload_edit_task,
)
from migrations_app.checks.shared.node_pools import requirements
from migrations_app.checks.tools import OBJECT_TOOLS
from migrations_app.inventory.facts.workloads import POD_PARTS, placement_mentions
from migrations_app.karpenter.hops import ALPHA_LEFT
from migrations_app.karpenter.labels import ALIASES
from migrations_app.manifests import JsonMap

check = Check(
    __name__,
    title="No workload or NodePool uses beta labels of Kubernetes",
    phase="workloads",
    severity="info",
    why=(
        "Karpenter treats them as the stable ones, the scheduler does not: on a node without the old label such a "
        "pod stays pending, or nodes are launched that it cannot use."
    ),
    reads=(*POD_PARTS, "nodepools", "provisioners"),
    says=("{count} pod or NodePool uses a beta node label", "{count} pods or NodePools use beta node labels"),
    how="Reads selectors, affinities, spread keys and requirements with beta.kubernetes.io or failure-domain labels.",
    hops=("0.32", ALPHA_LEFT),
    sources=(
        "kubernetes-sigs/karpenter@v0.37.7:pkg/apis/v1beta1/labels.go",
        "Kubernetes documentation, Well-Known Labels, Annotations and Taints",
    ),
    remedy_tools=OBJECT_TOOLS,
)


@check.judge
def judge(case: CheckContext) -> Iterator[JudgeResult]:
    for mention in placement_mentions(case.inventory, ALIASES.keys()):
        yield Evidence(
            kind=mention.kind,
            namespace=mention.namespace,
            name=mention.name,
            path=mention.path,
            seen=f"{mention.key} {mention.value}".rstrip(),
            wanted=ALIASES[mention.key],
            count=mention.count,
            data={"label": mention.key, "stable": ALIASES[mention.key], "value": mention.value},
        )
    for row in requirements(case.inventory):
        if row.key in ALIASES:
            seen = " ".join((row.key, row.operator, *row.values))
            data = {"label": row.key, "stable": ALIASES[row.key]}
            yield Evidence(kind=row.kind, name=row.name, path=row.path, seen=seen, wanted=ALIASES[row.key], data=data)


@check.advise
def advise(case: CheckContext, evidence: tuple[Evidence, ...]) -> Iterator[Remedy]:
    steps = dict.fromkeys(_step(case, row) for row in evidence)
    task = f"write {evidence[0].value('stable')} in the place of {evidence[0].value('label')}"
    yield from remedies_of(group(*steps, what=task), object_manager(case.inventory, evidence[0]))


def _step(case: CheckContext, row: Evidence) -> Change:
    if not row.namespace:
        return patch_requirements(case.inventory, row, fix=_fixed)
    if is_selector(row):
        label, value = row.value("label"), row.value("value")
        return patch_selector(row, {label: None, row.value("stable"): value}, had={label: value})
    return workload_edit_task(row, row.wanted, why="the whole term is written anew")


def _fixed(requirement: JsonMap) -> JsonMap:
    return requirement | {"key": ALIASES.get(str(requirement.get("key")), requirement.get("key"))}

"""Fails for each selector or requirement with a node label that the target version does not set."""

from collections.abc import Iterator

from migrations_app.checks.base import Check, CheckContext, Evidence, JudgeResult, Remedy
from migrations_app.checks.changes import Change, group
from migrations_app.checks.remedies.commands import remedies_of
from migrations_app.checks.remedies.placement import object_manager, patch_requirements, workload_edit_task
from migrations_app.checks.shared.node_pools import requirements
from migrations_app.checks.shared.placement_effects import SOURCES, effect_without_label
from migrations_app.checks.tools import OBJECT_TOOLS
from migrations_app.inventory.facts.workloads import POD_PARTS, placement_mentions
from migrations_app.karpenter import labels
from migrations_app.karpenter.hops import ALPHA_LEFT, hops_from

check = Check(
    __name__,
    title="No workload or NodePool uses a removed label",
    phase="workloads",
    severity="warning",
    why=(
        "New nodes lack the label: a pod that selects it stays pending, a DaemonSet has no pod on them, a preference "
        "has no effect."
    ),
    reads=(*POD_PARTS, "nodepools", "provisioners"),
    says=("{count} pod or NodePool uses a removed label", "{count} pods or NodePools use a removed label"),
    how=(
        "Reads selectors, affinities, spread keys and requirements with a label that ended before the target "
        "version; workloads_select_current_labels checks karpenter.sh/provisioner-name."
    ),
    hops=hops_from(ALPHA_LEFT),
    sources=SOURCES,
    remedy_tools=OBJECT_TOOLS,
)


@check.judge
def judge(case: CheckContext) -> Iterator[JudgeResult]:
    retired_keys = _retired_keys(case)
    for mention in placement_mentions(case.inventory, retired_keys):
        affects = effect_without_label(mention, case.hop.release) != "none"
        if affects and not mention.value.startswith("DoesNotExist"):
            yield Evidence(
                kind=mention.kind,
                namespace=mention.namespace,
                name=mention.name,
                path=mention.path,
                seen=f"{mention.key} {mention.value}".rstrip(),
                wanted=labels.replacement(mention.key, kind="label") or "a label that nodes have",
                count=mention.count,
            )
    for row in requirements(case.inventory):
        if row.key in retired_keys:
            seen = " ".join((row.key, row.operator, *row.values))
            yield Evidence(kind=row.kind, name=row.name, path=row.path, seen=seen, wanted="without it")


def _retired_keys(case: CheckContext) -> set[str]:
    retired_keys = {row.key for row in labels.KEYS if row.kind == "label" and row.retired_in(case.hop.release)}
    return retired_keys - {labels.PROVISIONER_NAME}


@check.advise
def advise(case: CheckContext, evidence: tuple[Evidence, ...]) -> Iterator[Remedy]:
    steps = dict.fromkeys(_step(case, row) for row in evidence)
    task = "ask for instance family, size or CPU in its place"
    yield from remedies_of(group(*steps, what=task), object_manager(case.inventory, evidence[0]))


def _step(case: CheckContext, row: Evidence) -> Change:
    if row.namespace:
        return workload_edit_task(
            row, "instance family, size or CPU in the place of it", why="what stands in its place is a choice"
        )
    return patch_requirements(
        case.inventory,
        row,
        fix=lambda requirement: None if requirement.get("key") in _retired_keys(case) else requirement,
    )

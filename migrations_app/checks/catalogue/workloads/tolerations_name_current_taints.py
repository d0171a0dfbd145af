"""Fails for each toleration with the disruption taint of the generation before and without the current one."""

from collections.abc import Iterator

from migrations_app.checks.base import Check, CheckContext, Evidence, JudgeResult, Remedy
from migrations_app.checks.changes import group
from migrations_app.checks.remedies.commands import remedies_of, workload_manager
from migrations_app.checks.remedies.placement import add_toleration
from migrations_app.checks.tools import OBJECT_TOOLS
from migrations_app.inventory.facts.workloads import POD_PARTS, placement_mentions
from migrations_app.karpenter import labels
from migrations_app.karpenter.hops import CONVERTED, hops_from

check = Check(
    __name__,
    title="No toleration uses an outdated disruption taint",
    phase="workloads",
    severity="warning",
    why=(
        "The taint of a node that is drained changes its key with 0.32 and again with 1.0: pods that should stay "
        "until the end are evicted with all others."
    ),
    reads=POD_PARTS,
    says=("{count} pod tolerates an outdated disruption taint", "{count} pods tolerate an outdated disruption taint"),
    how=(
        "Reads tolerations of templates with node.kubernetes.io/unschedulable at 0.32, and of pods and templates "
        "with karpenter.sh/disruption from 1.0 on, without the next key."
    ),
    hops=("0.32", *hops_from(CONVERTED)),
    sources=(
        "aws/karpenter-provider-aws@v1.14.1:website/content/en/v1.0/upgrading/v1-migration.md",
        "aws/karpenter-provider-aws@v1.14.1:website/content/en/preview/upgrading/upgrade-guide.md",
    ),
    remedy_tools=OBJECT_TOOLS,
)


@check.judge
def judge(case: CheckContext) -> Iterator[JudgeResult]:
    old_key, new_key = _keys(case)
    mentions = placement_mentions(case.inventory, {old_key, new_key})
    current = {(mention.kind, mention.namespace, mention.name) for mention in mentions if mention.key == new_key}
    for mention in mentions:
        if mention.key == old_key and (mention.kind, mention.namespace, mention.name) not in current:
            yield Evidence(
                kind=mention.kind,
                namespace=mention.namespace,
                name=mention.name,
                path=mention.path,
                seen=mention.key,
                wanted=new_key,
                count=mention.count,
            )


def _keys(case: CheckContext) -> tuple[str, str]:
    if case.hop.name == "0.32":
        return labels.UNSCHEDULABLE_TAINT, labels.DISRUPTION_TAINT
    return labels.DISRUPTION_TAINT, labels.DISRUPTED_TAINT


@check.advise
def advise(case: CheckContext, evidence: tuple[Evidence, ...]) -> Iterator[Remedy]:
    old_key, new_key = _keys(case)
    task = f"tolerate {new_key} as well, if the toleration is really wanted"
    steps = dict.fromkeys(add_toleration(case.inventory, row, old=old_key, new=new_key) for row in evidence)
    yield from remedies_of(group(*steps, what=task), workload_manager(case.inventory, evidence[0]))

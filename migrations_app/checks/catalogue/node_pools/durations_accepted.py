"""Fails for each duration of a NodePool that does not match the pattern of the CRD."""

from collections.abc import Iterator

from migrations_app.checks.base import Check, CheckContext, Evidence, JudgeResult, NotApplicable, Remedy, Unknown
from migrations_app.checks.evidence import MAPS, TEXT, at_field, split_malformed
from migrations_app.checks.remedies.karpenter_objects import change_remedies, edit_task
from migrations_app.checks.tools import OBJECT_TOOLS
from migrations_app.conversion.quantities import NEVER, is_crd_duration
from migrations_app.inventory.facts.node_pools import own_pools, rows, text
from migrations_app.inventory.objects.karpenter import NodePool
from migrations_app.karpenter.hops import ALPHA_LEFT, hops_from

check = Check(
    __name__,
    title="The API accepts every duration",
    phase="resources",
    severity="blocker",
    why=(
        "The API accepts only hours, minutes and seconds: with 30d a new NodePool is refused, and an old one cannot "
        "be updated."
    ),
    how="Compares the durations of each NodePool with the pattern of its CRD.",
    reads=("nodepools",),
    says=("{count} duration is not valid", "{count} durations are not valid"),
    hops=hops_from(ALPHA_LEFT),
    sources=(
        "aws/karpenter-provider-aws@v1.14.1:website/content/en/v1.0/upgrading/v1beta1-migration.md",
        "aws/karpenter-provider-aws@v1.14.1:pkg/apis/crds/karpenter.sh_nodepools.yaml",
    ),
    remedy_tools=OBJECT_TOOLS,
)
BUDGETS = "spec.disruption.budgets"
NEVER_TOO = ("spec.disruption.consolidateAfter", "spec.disruption.expireAfter", "spec.template.spec.expireAfter")
GRACE = "spec.template.spec.terminationGracePeriod"
WANTED = "whole hours, minutes and seconds, such as 720h"


@check.judge
def judge(case: CheckContext) -> Iterator[JudgeResult]:
    pools = own_pools(case.inventory)
    if not pools:
        yield NotApplicable("there is no NodePool of Karpenter's own yet")
    malformed, pools = split_malformed(pools, dict.fromkeys((*NEVER_TOO, GRACE), TEXT) | {BUDGETS: MAPS})
    yield from malformed
    for pool in pools:
        for path in (*NEVER_TOO, GRACE):
            duration = text(pool, path)
            if duration and (not is_crd_duration(duration) or (path == GRACE and duration == NEVER)):
                yield at_field(pool, path, seen=duration, wanted=WANTED)
        yield from _budgets(pool)


def _budgets(pool: NodePool) -> Iterator[JudgeResult]:
    for place, budget in rows(pool, BUDGETS):
        duration, path = budget.get("duration"), f"{BUDGETS}[{place}].duration"
        if duration is not None and not isinstance(duration, str):
            yield Unknown(f"NodePool {pool.name}: {path} is not {TEXT}")
        elif duration is not None and (duration == NEVER or not is_crd_duration(duration)):
            yield at_field(pool, path, seen=duration, wanted=WANTED)


@check.advise
def advise(case: CheckContext, evidence: tuple[Evidence, ...]) -> Iterator[Remedy]:
    row = evidence[0]
    yield from change_remedies(case, evidence, what=f"spell {row.path} with {WANTED}, not {row.seen}", line=edit_task)

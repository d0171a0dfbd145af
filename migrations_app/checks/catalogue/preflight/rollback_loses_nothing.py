"""Fails for each field of a NodePool that exists only in v1 and is lost when an older release writes the object."""

from collections.abc import Iterator

from migrations_app.checks.base import Check, CheckContext, Evidence, JudgeResult, NotApplicable, Remedy
from migrations_app.checks.changes import Observation
from migrations_app.checks.evidence import at_object
from migrations_app.checks.remedies.commands import in_cluster
from migrations_app.inventory.objects.karpenter import NodePool
from migrations_app.karpenter import kinds
from migrations_app.karpenter.hops import CONVERTED

check = Check(
    __name__,
    title="A rollback loses no setting",
    phase="preflight",
    severity="info",
    why="v1beta1 has no such fields: they are lost once the older release has written the NodePool.",
    how=(
        "Reads fields of NodePools that only v1 has: reasons of budgets, grace period, consolidateAfter with "
        "WhenUnderutilized."
    ),
    reads=("nodepools",),
    says=("{count} NodePool field would be lost by a rollback", "{count} NodePool fields would be lost by a rollback"),
    hops=(CONVERTED,),
    sources=("aws/karpenter-provider-aws@v1.14.1:website/content/en/v1.0/upgrading/v1-migration.md",),
    remedy_tools=("kubectl",),
)
GRACE = "spec.template.spec.terminationGracePeriod"
AFTER = "spec.disruption.consolidateAfter"


@check.judge
def judge(case: CheckContext) -> Iterator[JudgeResult]:
    part = case.inventory.nodepools
    if not part.items:
        yield NotApplicable("there is no NodePool yet")
    for pool in part.items:
        for path, seen in _only_v1(pool):
            yield at_object(pool, path, seen=seen, wanted="written down, to be set again after a rollback")


def _only_v1(pool: NodePool) -> Iterator[tuple[str, str]]:
    budgets = pool.get("spec.disruption.budgets", [])
    for place, budget in enumerate(budgets if isinstance(budgets, list) else []):
        reasons = budget.get("reasons") if isinstance(budget, dict) else None
        if reasons:
            reason_names = ", ".join(map(str, reasons)) if isinstance(reasons, list) else str(reasons)
            yield f"spec.disruption.budgets[{place}].reasons", reason_names
    if pool.get(GRACE) is not None:
        yield GRACE, str(pool.get(GRACE))
    after = pool.get(AFTER)
    if pool.get("spec.disruption.consolidationPolicy") == "WhenEmptyOrUnderutilized" and after not in (None, "0s"):
        yield AFTER, str(after)


@check.advise
def advise(_case: CheckContext, _evidence: tuple[Evidence, ...]) -> Iterator[Remedy]:
    note = (
        "Keep the values, to be written again by kubectl edit: kubectl apply refuses this file once its objects changed"
    )
    command = ("kubectl", "get", f"{kinds.NODE_POOL.crd_name},{kinds.EC2_NODE_CLASS.crd_name}", "-o", "yaml")
    yield in_cluster(Observation(pipe=(command,), into="before-the-upgrade.yaml", notes=(note,)))

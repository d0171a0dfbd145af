"""Going back over the hop would lose no setting of a pool."""

from collections.abc import Iterator

from migrations_app.checks.base import Check, CheckContext, Evidence, JudgeResult, NotApplicable, Remedy
from migrations_app.checks.changes import Observation
from migrations_app.checks.evidence import at
from migrations_app.checks.remedies.commands import in_cluster
from migrations_app.inventory.objects.karpenter import NodePool
from migrations_app.karpenter.hops import CONVERTED

check = Check(
    __name__,
    title="Going back would lose no setting",
    phase="preflight",
    severity="info",
    why="v1beta1 has no place for these fields: once the older release has written a pool, they are gone.",
    how="Fields of NodePools that only v1 has: reasons of budgets, grace period, consolidateAfter beside utilisation.",
    reads=("nodepools",),
    says=(
        "{count} field of a pool would be lost on the way back",
        "{count} fields of pools would be lost on the way back",
    ),
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
            yield at(pool, path, seen=seen, wanted="written down, to be set again after a way back")


def _only_v1(pool: NodePool) -> Iterator[tuple[str, str]]:
    budgets = pool.get("spec.disruption.budgets", [])
    for place, one in enumerate(budgets if isinstance(budgets, list) else []):
        reasons = one.get("reasons") if isinstance(one, dict) else None
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
    note = "Keep what there is before the hop, CRDs and objects; applied again they bring the fields back"
    whole = ("kubectl", "get", "crd,nodepools,ec2nodeclasses,nodeclaims", "-o", "yaml")
    yield in_cluster(Observation(pipe=(whole,), into="before-the-hop.yaml", notes=(note,)))

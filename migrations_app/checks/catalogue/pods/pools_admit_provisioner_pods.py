"""Fails for each Provisioner with pods that no ready NodePool admits."""

from collections.abc import Iterator

from migrations_app.checks.base import Check, CheckContext, Evidence, JudgeResult, NotApplicable, Remedy
from migrations_app.checks.remedies.successors import successor_commands
from migrations_app.checks.shared.replaced_nodes import taint_remedies
from migrations_app.checks.tools import OBJECT_TOOLS
from migrations_app.inventory.facts.node_pools import misfit, own_pools
from migrations_app.inventory.objects.karpenter import NodePool, Provisioner
from migrations_app.karpenter.hops import ALPHA_LEFT

ROLLS_ON = "0.32"
check = Check(
    __name__,
    title="Every Provisioner has a NodePool for its pods",
    phase="rollout",
    severity="blocker",
    why="Once the Provisioner is tainted or deleted, pods that no NodePool admits stay pending.",
    reads=("provisioners", "nodepools"),
    says=("{count} Provisioner has no NodePool for its pods", "{count} Provisioners have no NodePool for their pods"),
    how=(
        "Compares each Provisioner with every NodePool: whether the NodePool has taints that the Provisioner has "
        "not, lacks its labels, or excludes all values of one of its requirements."
    ),
    hops=(ALPHA_LEFT,),
    resolved_by=("convert_and_apply",),
    sources=(
        "aws/karpenter-provider-aws@v1.14.1:website/content/en/v1.0/upgrading/v1beta1-migration.md",
        "aws/karpenter-provider-aws#7188",
    ),
    remedy_tools=OBJECT_TOOLS,
)


@check.judge
def judge(case: CheckContext) -> Iterator[JudgeResult]:
    running, provisioners = case.running.release, case.inventory.provisioners.items
    if not provisioners:
        yield NotApplicable("no Provisioner is left")
        return
    if running is not None and running.minor != ROLLS_ON:
        yield NotApplicable(f"NodePools take over on {ROLLS_ON}, and {running} runs")
        return
    pools = [pool for pool in own_pools(case.inventory) if not pool.metadata.deleting]
    for provisioner in provisioners:
        reasons = [_reason(provisioner, pool) for pool in pools]
        if all(reasons):
            seen = min(reasons, key=len) if reasons else "there is no NodePool"
            yield Evidence(
                kind="Provisioner", name=provisioner.name, path="spec", seen=seen, wanted="a NodePool that fits"
            )


def _reason(provisioner: Provisioner, pool: NodePool) -> str:
    if any(row.get("type") == "Ready" and row.get("status") == "False" for row in _conditions(pool)):
        return f"NodePool {pool.name} is not ready"
    reason = misfit(provisioner, pool)
    return f"NodePool {pool.name} {reason}" if reason else ""


def _conditions(pool: NodePool) -> list[dict[str, object]]:
    conditions = pool.get("status.conditions", [])
    return [row for row in conditions if isinstance(row, dict)] if isinstance(conditions, list) else []


@check.advise
def advise(case: CheckContext, evidence: tuple[Evidence, ...]) -> Iterator[Remedy]:
    yield successor_commands()
    named = {row.name for row in evidence}
    yield from taint_remedies(
        [provisioner for provisioner in case.inventory.provisioners.items if provisioner.name in named]
    )

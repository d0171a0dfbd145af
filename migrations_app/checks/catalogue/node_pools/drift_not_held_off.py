"""Fails for each NodePool without a budget of 0 nodes where the drift gate is off today: 1.0 has no such gate."""

from collections.abc import Iterator

from migrations_app.checks.base import Check, CheckContext, Evidence, JudgeResult, NotApplicable, Remedy, Unknown
from migrations_app.checks.remedies.commands import remedies_of
from migrations_app.checks.shared.drift_hold import drift_hold, is_held
from migrations_app.checks.tools import OBJECT_TOOLS
from migrations_app.inventory.facts.controller import FEATURE_GATES, given_gates, installation
from migrations_app.inventory.facts.managers import managed
from migrations_app.inventory.facts.node_pools import own_pools
from migrations_app.karpenter.controller_settings import drift_is_on
from migrations_app.karpenter.hops import CONVERTED
from migrations_app.karpenter.versions import minor_order

check = Check(
    __name__,
    title="No NodePool relies on drift being off",
    phase="resources",
    severity="blocker",
    why="From 1.0 on drift is always on: every drifted node is replaced as soon as the controller starts.",
    how="Where the drift gate is off, searches each NodePool for a budget of 0 nodes.",
    reads=("controller", "nodepools"),
    says=("{count} NodePool starts to drift with the upgrade", "{count} NodePools start to drift with the upgrade"),
    hops=(CONVERTED,),
    sources=("aws/karpenter-provider-aws@v1.14.1:website/content/en/v1.0/upgrading/v1-migration.md",),
    remedy_tools=OBJECT_TOOLS,
)


@check.judge
def judge(case: CheckContext) -> Iterator[JudgeResult]:
    running, controller = case.running.release, installation(case.inventory)
    if running is None or controller is None:
        yield Unknown(f"whether drift is on is not known: {case.running.how}")
    elif minor_order(running.minor) < (0, 33):
        yield NotApplicable(f"{running} has nodes replaced on the way; ask again on 0.33 to 0.37")
    elif (gates := given_gates(controller)) is not None and not gates.text:
        yield Unknown(f"{gates.path} is empty or taken from an object that is not read")
    elif not drift_is_on(running, feature_gates=gates.text if gates else None):
        for pool in own_pools(case.inventory):
            if not is_held(pool):
                yield Evidence(
                    kind="NodePool",
                    name=pool.name,
                    path="spec.disruption.budgets",
                    seen=f"drift is off by {FEATURE_GATES}, no budget of 0 nodes",
                    wanted='a budget with nodes "0" until drift is wanted',
                )


@check.advise
def advise(case: CheckContext, evidence: tuple[Evidence, ...]) -> Iterator[Remedy]:
    named = {row.name for row in evidence}
    pools = [pool for pool in own_pools(case.inventory) if pool.name in named]
    hold = drift_hold(pools, case.running.release)
    if hold:
        yield from remedies_of(hold, managed(pools[0].metadata))

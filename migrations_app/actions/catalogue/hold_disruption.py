"""Lets Karpenter take no node away by itself: a budget of no nodes, which keeps what the budgets were before."""

from collections.abc import Iterator

from migrations_app.actions.base import Action, Parameter, Parameters, PlanningContext, Unavailable
from migrations_app.actions.changes import ObjectTarget, RbacNeed
from migrations_app.actions.conditions import value_at
from migrations_app.actions.plan import Step
from migrations_app.actions.targets.disruption_hold import (
    BUDGETS,
    NAMES,
    hold_step,
    pool_target,
    pools_named,
    refuse_without_budgets,
)
from migrations_app.actions.undo import bare
from migrations_app.inventory.facts.disruption_hold import NO_NODES, is_held_by_us
from migrations_app.inventory.inventory import Inventory
from migrations_app.inventory.objects.karpenter import NodePool
from migrations_app.karpenter import kinds

action = Action(
    __name__,
    title="Hold Karpenter's own disruption",
    button="Hold Karpenter's own disruption",
    why="Drift and consolidation go on while a rollout is paused; a budget of no nodes holds them.",
    risk="low",
    parts=("controller", "nodepools"),
    may=(RbacNeed(verb="patch", group=kinds.NODE_POOL.group, plural=kinds.NODE_POOL.plural),),
    parameters=(Parameter(NAMES, "Which NodePools (default: all)?", False, of="nodepools", many=True),),
    beside=True,
    sources=(
        "aws/karpenter-provider-aws@v0.37.8:pkg/apis/crds/karpenter.sh_nodepools.yaml",
        "aws/karpenter-provider-aws@v1.0.14:pkg/apis/crds/karpenter.sh_nodepools.yaml",
    ),
)


@action.reads
def reads(inventory: Inventory, parameters: Parameters) -> Iterator[ObjectTarget]:
    yield from (bare(pool_target(inventory, pool)) for pool in _free(inventory, parameters))


@action.prepare
def prepare(scene: PlanningContext, parameters: Parameters) -> Iterator[Step]:
    refuse_without_budgets(scene)
    for pool in _free(scene.inventory, parameters):
        read = scene.objects.get(bare(pool_target(scene.inventory, pool)))
        if read is None:
            raise Unavailable(f"NodePool {pool.name} could not be read, or is gone", code="not_seen")
        if value_at(read, BUDGETS) != NO_NODES:
            yield hold_step(scene, pool, read=read)


def _free(inventory: Inventory, parameters: Parameters) -> tuple[NodePool, ...]:
    """Those that karpdash does not hold yet."""
    return tuple(pool for pool in pools_named(inventory, parameters) if not is_held_by_us(pool))

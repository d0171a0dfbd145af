"""Restores the former budgets of NodePools that karpdash holds. Budgets that people changed since then stay."""

from collections.abc import Iterator

from migrations_app.actions.base import Action, Parameter, Parameters, PlanningContext, Unavailable
from migrations_app.actions.changes import ObjectTarget, RbacNeed
from migrations_app.actions.plan import Step
from migrations_app.actions.targets.disruption_hold import NAMES, pool_target, pools_named, release_step
from migrations_app.actions.undo import without_uid
from migrations_app.inventory.facts.disruption_hold import is_held_by_us
from migrations_app.inventory.inventory import Inventory
from migrations_app.inventory.objects.karpenter import NodePool
from migrations_app.karpenter import kinds

action = Action(
    __name__,
    title="Restore the budgets of held NodePools",
    button="Restore budgets ({count} NodePools)",
    why="A NodePool that stays held neither drifts nor consolidates: old nodes stay, and empty ones are paid for.",
    risk="low",
    parts=("nodepools",),
    may=(RbacNeed(verb="patch", group=kinds.NODE_POOL.group, plural=kinds.NODE_POOL.plural),),
    parameters=(
        Parameter(NAMES, "Which NodePools (default: all that karpdash holds)?", False, of="nodepools", many=True),
    ),
    beside=True,
    sources=("aws/karpenter-provider-aws@v1.0.14:pkg/apis/crds/karpenter.sh_nodepools.yaml",),
)


@action.reads
def reads(inventory: Inventory, parameters: Parameters) -> Iterator[ObjectTarget]:
    yield from (without_uid(pool_target(inventory, pool)) for pool in _held_pools(inventory, parameters))


@action.prepare
def prepare(context: PlanningContext, parameters: Parameters) -> Iterator[Step]:
    for pool in _held_pools(context.inventory, parameters):
        read = context.objects.get(without_uid(pool_target(context.inventory, pool)))
        if read is None:
            raise Unavailable(f"NodePool {pool.name} could not be read, or is gone", code="not_seen")
        yield release_step(context, pool, read=read)


def _held_pools(inventory: Inventory, parameters: Parameters) -> tuple[NodePool, ...]:
    return tuple(pool for pool in pools_named(inventory, parameters) if is_held_by_us(pool))

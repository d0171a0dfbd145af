"""Sets budgets of no nodes, so that Karpenter removes no node by itself. An annotation keeps the former budgets."""

from collections.abc import Iterator

from migrations_app.actions.base import Action, Parameter, Parameters, PlanningContext, Unavailable
from migrations_app.actions.changes import ObjectTarget, RbacNeed
from migrations_app.actions.conditions import value_at
from migrations_app.actions.plan import Step
from migrations_app.actions.targets.disruption_hold import (
    BUDGETS,
    MARK,
    NAMES,
    hold_step,
    pool_target,
    pools_named,
    refuse_without_budgets,
)
from migrations_app.actions.undo import without_uid
from migrations_app.inventory.facts.disruption_hold import NO_NODES
from migrations_app.inventory.inventory import Inventory
from migrations_app.inventory.objects.karpenter import NodePool
from migrations_app.karpenter import kinds
from migrations_app.manifests import JsonMap

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
    yield from (without_uid(pool_target(inventory, pool)) for pool in pools_named(inventory, parameters))


@action.prepare
def prepare(context: PlanningContext, parameters: Parameters) -> Iterator[Step]:
    refuse_without_budgets(context)
    pools = [(pool, _read(context, pool)) for pool in pools_named(context.inventory, parameters)]
    not_held = [(pool, read) for pool, read in pools if value_at(read, BUDGETS) != NO_NODES]
    changed_names = ", ".join(pool.name for pool, read in not_held if value_at(read, MARK) is not None)
    if changed_names:
        words = (
            f"NodePools {changed_names}: held before, and their budgets were changed since; restore the budgets first"
        )
        raise Unavailable(words, code="changed")
    yield from (hold_step(context, pool, read=read) for pool, read in not_held)


def _read(context: PlanningContext, pool: NodePool) -> JsonMap:
    read = context.objects.get(without_uid(pool_target(context.inventory, pool)))
    if read is None:
        raise Unavailable(f"NodePool {pool.name} could not be read, or is gone", code="not_seen")
    return read

"""Rolls a rollout back: the inverse of each step that took effect, newest first (A35)."""

from collections.abc import Iterator
from typing import Any

import msgspec

from migrations_app.actions.base import Action, Parameters, PlanningContext, Unavailable, refuse_unread
from migrations_app.actions.changes import ObjectTarget, deletion
from migrations_app.actions.plan import Forecast, Step
from migrations_app.actions.targets import nodes
from migrations_app.actions.targets.pool_nodes import gate_after_deletion, node_limits
from migrations_app.actions.undo import UndoStep, inverses, left_alone, without_uid
from migrations_app.inventory.inventory import Inventory
from migrations_app.karpenter import kinds

action = Action(
    __name__,
    title="Roll back a rollout",
    button="Roll back {count} steps",
    why="Every step that took effect is undone, newest first, where nobody else wrote in between.",
    risk="medium",
    parts=(),
    # It needs the permissions for undoing the other actions, and each of those declares them itself.
    may=(),
)


OPERATION = "operation"
"""The field of an Application with which a sync is started; Argo CD removes it when the sync has ended."""
PARTS_OF_NODES = ("nodes", "machines", "nodeclaims", "pods", "controller_pods")
"""What has to be read before a NodePool is deleted again: it takes its nodes along."""


@action.prepare
def prepare(context: PlanningContext, _parameters: Parameters) -> Iterator[Step]:
    undo_steps = _undo_steps(context)
    if not undo_steps:
        raise Unavailable("nothing of that rollout took effect", code="nothing_to_do")
    if not any(undo_step.sends for undo_step in undo_steps):
        raise Unavailable(f"nothing can be undone: {undo_steps[0].step.note}", code="nothing_to_do")
    for undo_step in undo_steps:
        _refuse_syncing(context, undo_step)
        pool = _deleted_pool(undo_step)
        yield undo_step.step if pool is None else _pool_deletion(context.inventory, undo_step.step, pool=pool)


def _undo_steps(context: PlanningContext) -> tuple[UndoStep, ...]:
    """The newest step comes first: a rollout stops at a step whose outcome is not known."""
    undone = inverses(context.applied, objects=context.objects, made=context.made, helm=context.helm)
    return (*left_alone(context.unsettled), *undone)


def _refuse_syncing(context: PlanningContext, undo_step: UndoStep) -> None:
    """Raises Unavailable if Argo CD still runs a sync of an Application whose undo has to start one: Argo CD goes on
    with the version that the running one began with, and starts no other.
    """
    change = undo_step.step.change
    if change is None or OPERATION not in change.body:
        return
    read = context.objects.get(without_uid(change.target)) or {}
    if read.get(OPERATION) is not None:
        words = "is being synced: wait until the sync has ended, or terminate it in Argo CD; then roll back"
        raise Unavailable(f"{change.target.display_name} {words}", code="busy")


def _deleted_pool(undo_step: UndoStep) -> ObjectTarget | None:
    target = undo_step.deletes
    return target if target is not None and target.plural == kinds.NODE_POOL.plural else None


def _nodes_of(inventory: Inventory, pool: ObjectTarget) -> tuple[str, ...]:
    removals = nodes.karpenter_nodes(inventory)
    return tuple(removal.name for removal in removals if removal.pool == (kinds.NODE_POOL.kind, pool.name))


def _pool_deletion(inventory: Inventory, step: Step, *, pool: ObjectTarget) -> Step:
    """The deletion of a created NodePool, with the limits and the gate of a forced deletion: its nodes drain at once.

    Raises Unavailable if its nodes could not be read, and if the controller runs on one of them or does not run."""
    for name in PARTS_OF_NODES:
        refuse_unread(inventory.part(name), name)
    names = _nodes_of(inventory, pool)
    nodes.refuse_controllers(inventory, names)
    more: dict[str, Any] = {"at_most": tuple(node_limits(inventory, pool.kind, name=pool.name))}
    if names:
        more["title"] = f"{step.title}, with {nodes.counted(len(names), 'node')} at once"
        more |= {"change": deletion(pool, foreground=True), "after": gate_after_deletion(pool), "risk": "destructive"}
    return msgspec.structs.replace(step, **more)


@action.forecasts
def forecast_steps(context: PlanningContext, _parameters: Parameters) -> Forecast:
    """The nodes of pools that would be deleted again, and what stays unchanged."""
    undo_steps = _undo_steps(context)
    deleted = tuple(pool for undo_step in undo_steps if (pool := _deleted_pool(undo_step)))
    names = {name for pool in deleted for name in _nodes_of(context.inventory, pool)}
    kept = tuple(_kept(undo_step) for undo_step in undo_steps if not undo_step.sends)
    return Forecast(nodes=len(names), pods=None if names else 0, cannot_be_undone=kept)


def _kept(undo_step: UndoStep) -> str:
    return f"{undo_step.step.title}: {undo_step.step.note}"

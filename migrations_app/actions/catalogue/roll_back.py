"""Rolls a rollout back: the inverse of each step that took effect, newest first (A35)."""

from collections.abc import Iterator

from migrations_app.actions.base import Action, Parameters, PlanningContext, Unavailable
from migrations_app.actions.plan import Forecast, Step
from migrations_app.actions.undo import UndoStep, inverses, left_alone
from migrations_app.inventory.facts.ownership import ownership
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


@action.prepare
def prepare(context: PlanningContext, _parameters: Parameters) -> Iterator[Step]:
    undo_steps = _undo_steps(context)
    if not undo_steps:
        raise Unavailable("nothing of that rollout took effect", code="nothing_to_do")
    if not any(undo_step.sends for undo_step in undo_steps):
        raise Unavailable(f"nothing can be undone: {undo_steps[0].step.note}", code="nothing_to_do")
    yield from (undo_step.step for undo_step in undo_steps)


@action.forecasts
def forecast_steps(context: PlanningContext, _parameters: Parameters) -> Forecast:
    """The nodes of pools that would be deleted again, and what stays unchanged."""
    undo_steps = _undo_steps(context)
    pools = {
        target.name
        for undo_step in undo_steps
        if (target := undo_step.deletes) and target.plural == kinds.NODE_POOL.plural
    }
    nodes = sum(node.pool in pools for node in ownership(context.inventory).nodes) if pools else 0
    return Forecast(
        nodes=nodes,
        pods=None if nodes else 0,
        cannot_be_undone=tuple(_kept(undo_step) for undo_step in undo_steps if not undo_step.sends),
    )


def _undo_steps(context: PlanningContext) -> tuple[UndoStep, ...]:
    """The newest step comes first: a rollout stops at a step whose outcome is not known."""
    undone = inverses(context.applied, objects=context.objects, made=context.made, helm=context.helm)
    return (*left_alone(context.unsettled), *undone)


def _kept(undo_step: UndoStep) -> str:
    return f"{undo_step.step.title}: {undo_step.step.note}"

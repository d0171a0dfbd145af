"""The inventory after a change."""

from collections.abc import Iterable
from itertools import groupby
from typing import TypeAlias

from migrations_app.checks.changes import (
    AwsCall,
    Change,
    ChangeGroup,
    DeliveryPause,
    DeliveryResume,
    HelmChange,
    IamStatements,
    KarpdashAction,
    NodeTaint,
    ObjectAnnotations,
    ObjectApply,
    ObjectDelete,
    ObjectLabels,
    ObjectPatch,
    Observation,
    PersonTask,
    QueryRename,
)
from migrations_app.inventory.inventory import Inventory
from migrations_app.readiness.plan.effects.deletion import deleted
from migrations_app.readiness.plan.effects.helm import upgraded
from migrations_app.readiness.plan.effects.iam import permitted
from migrations_app.readiness.plan.effects.not_shown import NotShown, Why
from migrations_app.readiness.plan.effects.objects import applied, marked, patched, switched, tainted
from migrations_app.readiness.plan.effects.queries import renamed
from migrations_app.readiness.plan.effects.rights import bound

OfObject: TypeAlias = (
    ObjectPatch
    | ObjectApply
    | ObjectDelete
    | ObjectLabels
    | ObjectAnnotations
    | NodeTaint
    | QueryRename
    | DeliveryPause
    | DeliveryResume
)


def effect(inventory: Inventory, change: Change) -> Inventory | NotShown:
    """The inventory when the change, and what follows from it by itself, is done. It is another value with no fact
    remembered but positions, or why none can be told: nothing is half-done."""
    match change:
        case ChangeGroup():
            return after_all(inventory, change.steps)
        case HelmChange():
            return upgraded(inventory, change)
        case IamStatements():
            return permitted(inventory, change)
        case PersonTask() | Observation() | AwsCall() | KarpdashAction():
            return NotShown(_unseen(change), change.what)
    return _of_object(inventory, change)


def _of_object(inventory: Inventory, change: OfObject) -> Inventory | NotShown:
    match change:
        case ObjectPatch():
            return patched(inventory, change)
        case ObjectApply():
            return applied(inventory, change)
        case ObjectDelete():
            return deleted(inventory, (change,))
        case ObjectLabels() | ObjectAnnotations():
            return marked(inventory, change)
        case NodeTaint():
            return tainted(inventory, change)
        case QueryRename():
            return renamed(inventory, change)
        case DeliveryPause() | DeliveryResume():
            return switched(inventory, change)


def _unseen(change: PersonTask | Observation | AwsCall | KarpdashAction) -> Why:
    match change:
        case PersonTask():
            return "for_a_person"
        case Observation():
            return "reads_only"
        case AwsCall():
            return "in_aws"
        case KarpdashAction():
            return "own_action"


def after_all(inventory: Inventory, changes: Iterable[Change]) -> Inventory | NotShown:
    """After all of them in this order; what only reads is passed over, where something else changes beside it."""
    steps = list(changes)
    here, any_effect = inventory, False
    for kind, run in groupby(steps, type):
        if kind is ObjectDelete:
            after = deleted(here, [step for step in run if isinstance(step, ObjectDelete)])
        elif kind is Observation and len(steps) > 1:
            continue
        else:
            after = _one_by_one(here, run, group_steps=steps)
        if isinstance(after, NotShown):
            return after
        here, any_effect = after, True
    return here if any_effect else NotShown("reads_only")


def _one_by_one(inventory: Inventory, run: Iterable[Change], *, group_steps: list[Change]) -> Inventory | NotShown:
    here = inventory
    for step in run:
        after = bound(here, step, group_steps=group_steps) if isinstance(step, ObjectApply) else None
        after = after or effect(here, step)
        if isinstance(after, NotShown):
            return after
        here = after
    return here

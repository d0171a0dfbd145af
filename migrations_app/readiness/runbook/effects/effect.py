"""Computes the inventory after a change, for changes of every kind."""

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
from migrations_app.readiness.runbook.effects.deletion import without_objects
from migrations_app.readiness.runbook.effects.helm import with_helm_upgrade
from migrations_app.readiness.runbook.effects.iam import with_policy
from migrations_app.readiness.runbook.effects.objects import (
    with_delivery_switched,
    with_manifest,
    with_marks,
    with_patch,
    with_taint,
)
from migrations_app.readiness.runbook.effects.queries import with_metrics_renamed
from migrations_app.readiness.runbook.effects.rights import with_role_bound
from migrations_app.readiness.runbook.effects.unknown_effect import NotShown, UnknownEffectReason

ObjectLevelChange: TypeAlias = (
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
    """Returns the inventory after the change and after what follows from it, or the reason why it is not known.

    The result is a new value; `inventory` stays as it is. Of cached facts only the positions of objects are kept.
    """
    match change:
        case ChangeGroup():
            return effect_of_all(inventory, change.steps)
        case HelmChange():
            return with_helm_upgrade(inventory, change)
        case IamStatements():
            return with_policy(inventory, change)
        case PersonTask() | Observation() | AwsCall() | KarpdashAction():
            return NotShown(_why_not_shown(change), change.what)
    return _object_effect(inventory, change)


def _object_effect(inventory: Inventory, change: ObjectLevelChange) -> Inventory | NotShown:
    match change:
        case ObjectPatch():
            return with_patch(inventory, change)
        case ObjectApply():
            return with_manifest(inventory, change)
        case ObjectDelete():
            return without_objects(inventory, (change,))
        case ObjectLabels() | ObjectAnnotations():
            return with_marks(inventory, change)
        case NodeTaint():
            return with_taint(inventory, change)
        case QueryRename():
            return with_metrics_renamed(inventory, change)
        case DeliveryPause() | DeliveryResume():
            return with_delivery_switched(inventory, change)


def _why_not_shown(change: PersonTask | Observation | AwsCall | KarpdashAction) -> UnknownEffectReason:
    match change:
        case PersonTask():
            return "for_a_person"
        case Observation():
            return "reads_only"
        case AwsCall():
            return "in_aws"
        case KarpdashAction():
            return "own_action"


def effect_of_all(inventory: Inventory, changes: Iterable[Change]) -> Inventory | NotShown:
    """Returns the inventory after all changes in this order, or the reason of the first one whose effect is not known.

    A change that only reads is skipped if there are others.
    """
    steps = list(changes)
    current, any_effect = inventory, False
    for kind, same_kind in groupby(steps, type):
        if kind is ObjectDelete:
            after = without_objects(current, [step for step in same_kind if isinstance(step, ObjectDelete)])
        elif kind is Observation and len(steps) > 1:
            continue
        else:
            after = _one_by_one(current, same_kind, group_steps=steps)
        if isinstance(after, NotShown):
            return after
        current, any_effect = after, True
    return current if any_effect else NotShown("reads_only")


def _one_by_one(inventory: Inventory, steps: Iterable[Change], *, group_steps: list[Change]) -> Inventory | NotShown:
    current = inventory
    for step in steps:
        after = with_role_bound(current, step, group_steps=group_steps) if isinstance(step, ObjectApply) else None
        after = after or effect(current, step)
        if isinstance(after, NotShown):
            return after
        current = after
    return current

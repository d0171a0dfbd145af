"""Names the objects that destructive plans delete, by uid: from a scan's forecast and from a plan.

Only actions whose objects a scan can name beforehand are covered; actions that end pods or instances are not.
"""

from collections.abc import Collection
from typing import Final

import msgspec

from migrations_app.actions.plan import Plan
from migrations_app.readiness.report import LegacyObject, Report

FORECAST: Final[tuple[str, ...]] = ("remove_legacy",)
"""The actions whose objects a scan forecasts."""


class DestroyedObject(msgspec.Struct, frozen=True, kw_only=True):
    """An object that will be deleted. `manager` is the tool that keeps it; empty for none."""

    kind: str
    name: str
    uid: str
    manager: str = ""


def forecast_objects(report: Report) -> tuple[DestroyedObject, ...] | None:
    """Returns all objects that the actions of FORECAST may delete, now or once unused; None if not all were read."""
    legacy_objects = report.legacy_objects
    if isinstance(legacy_objects, msgspec.UnsetType) or legacy_objects is None:
        return None
    return tuple(map(_object, legacy_objects))


def _object(legacy: LegacyObject) -> DestroyedObject:
    return DestroyedObject(kind=legacy.kind, name=legacy.name, uid=legacy.uid, manager=legacy.manager)


def deleted_objects(plan: Plan) -> tuple[DestroyedObject, ...] | None:
    """Returns the objects that the plan deletes; None if a step does anything else or has no uid."""
    objects = []
    for step in plan.steps:
        change = step.change
        if change is None or change.verb != "delete" or not change.target.uid or change.target.namespace:
            return None
        target = change.target
        objects.append(DestroyedObject(kind=target.kind, name=target.name, uid=target.uid, manager=step.manager))
    return tuple(objects)


def are_all_shown(deletes: Collection[DestroyedObject] | None, shown_objects: Collection[DestroyedObject]) -> bool:
    """Returns whether there are objects, and each was shown with the same uid and the same tool."""
    return bool(deletes) and set(deletes or ()) <= set(shown_objects)

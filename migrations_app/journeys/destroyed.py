"""Which objects plans that delete are about, by uid: as scans forecast them, and as a plan says.

Only an action whose objects a scan can name beforehand is here. Nothing that ends pods or instances is.
"""

from collections.abc import Collection
from typing import Final

import msgspec

from migrations_app.actions.plan import Plan
from migrations_app.readiness.report import LegacyObject, Report

FORECAST: Final[tuple[str, ...]] = ("remove_legacy",)
"""The actions whose objects are forecast."""


class DestroyedObject(msgspec.Struct, frozen=True, kw_only=True):
    """One object that is to be deleted. `manager` is the tool that keeps it; empty for none."""

    kind: str
    name: str
    uid: str
    manager: str = ""


def forecast_objects(report: Report) -> tuple[DestroyedObject, ...] | None:
    """What the actions of FORECAST would delete at most, now or once nothing uses it; None where not all was read."""
    legacy_objects = report.legacy_objects
    if isinstance(legacy_objects, msgspec.UnsetType) or legacy_objects is None:
        return None
    return tuple(map(_object, legacy_objects))


def _object(legacy: LegacyObject) -> DestroyedObject:
    return DestroyedObject(kind=legacy.kind, name=legacy.name, uid=legacy.uid, manager=legacy.manager)


def deleted_objects(plan: Plan) -> tuple[DestroyedObject, ...] | None:
    """The objects that the plan deletes; None if a step does anything else, or names no uid."""
    objects = []
    for step in plan.steps:
        change = step.change
        if change is None or change.verb != "delete" or not change.target.uid or change.target.namespace:
            return None
        target = change.target
        objects.append(DestroyedObject(kind=target.kind, name=target.name, uid=target.uid, manager=step.manager))
    return tuple(objects)


def only_shown(deletes: Collection[DestroyedObject] | None, shown_objects: Collection[DestroyedObject]) -> bool:
    """Whether there are objects and each of them was shown: the same uid, kept by the same tool."""
    return bool(deletes) and set(deletes or ()) <= set(shown_objects)

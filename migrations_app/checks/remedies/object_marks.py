"""Labels and annotations set and taken off, each with what brings back what was there."""

from collections.abc import Mapping, Sequence
from typing import TypeVar

from msgspec.structs import replace

from migrations_app.checks.changes import ChangeTarget, ObjectAnnotations, ObjectLabels

M = TypeVar("M", ObjectLabels, ObjectAnnotations)
Marks = Mapping[str, str]


def labelled(
    target: ChangeTarget, had: Marks | None, *, given: Marks | None = None, removed: Sequence[str] = ()
) -> ObjectLabels:
    """The change of the labels of an object that has those in `had`."""
    change = ObjectLabels(target=target, given=dict(given or {}), removed=tuple(removed), done=_done(given, removed))
    return _reversible(change, had or {})


def annotated(
    target: ChangeTarget, had: Marks | None, *, given: Marks | None = None, removed: Sequence[str] = ()
) -> ObjectAnnotations:
    """The change of the annotations of an object that has those in `had`."""
    change = ObjectAnnotations(
        target=target, given=dict(given or {}), removed=tuple(removed), done=_done(given, removed)
    )
    return _reversible(change, had or {})


def _reversible(change: M, had: Marks) -> M:
    touched = (*change.given, *change.removed)
    back = {key: had[key] for key in touched if key in had}
    new = tuple(key for key in change.given if key not in had)
    return replace(change, undo=replace(change, given=back, removed=new, done=""))


def _done(given: Marks | None, removed: Sequence[str]) -> str:
    told = (*(f"{key} is {value}" for key, value in (given or {}).items()), *(f"{key} is gone" for key in removed))
    return ", ".join(told)

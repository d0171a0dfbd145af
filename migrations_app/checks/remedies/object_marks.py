"""Changes of labels and annotations, each with the undo that restores the former values."""

from collections.abc import Mapping, Sequence
from typing import TypeVar

from msgspec.structs import replace

from migrations_app.checks.changes import ChangeTarget, ObjectAnnotations, ObjectLabels

M = TypeVar("M", ObjectLabels, ObjectAnnotations)
Marks = Mapping[str, str]


def change_labels(
    target: ChangeTarget, current: Marks | None, *, given: Marks | None = None, removed: Sequence[str] = ()
) -> ObjectLabels:
    """Changes labels of an object; `current` are its labels now."""
    change = ObjectLabels(target=target, given=dict(given or {}), removed=tuple(removed), done=_done(given, removed))
    return _with_undo(change, current or {})


def change_annotations(
    target: ChangeTarget, current: Marks | None, *, given: Marks | None = None, removed: Sequence[str] = ()
) -> ObjectAnnotations:
    """Changes annotations of an object; `current` are its annotations now."""
    change = ObjectAnnotations(
        target=target, given=dict(given or {}), removed=tuple(removed), done=_done(given, removed)
    )
    return _with_undo(change, current or {})


def _with_undo(change: M, current: Marks) -> M:
    touched = (*change.given, *change.removed)
    former = {key: current[key] for key in touched if key in current}
    added = tuple(key for key in change.given if key not in current)
    return replace(change, undo=replace(change, given=former, removed=added, done=""))


def _done(values: Marks | None, removed: Sequence[str]) -> str:
    states = (*(f"{key} is {value}" for key, value in (values or {}).items()), *(f"{key} is gone" for key in removed))
    return ", ".join(states)

"""An object as it was read -> the manifest that brings it back, without what only the server writes.

The inverse of steps that took effect: what takes each back, and whether somebody else wrote in between (A35).
"""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass

import msgspec

from migrations_app.actions.base import Unavailable
from migrations_app.actions.changes import RISKS, Change, ObjectTarget, Risk
from migrations_app.actions.conditions import (
    Condition,
    Deleted,
    Exists,
    Field,
    FieldEquals,
    ListContains,
    Terminating,
    Tree,
    holds,
)
from migrations_app.actions.plan import Step

LEFT_OUT = (
    "managedFields",
    "resourceVersion",
    "uid",
    "generation",
    "creationTimestamp",
    "selfLink",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
)
"""Of the metadata: what only the server writes, and refuses or ignores when an object is put back."""
SECRET = ("data", "stringData")


def restorable(read: Tree) -> Tree:
    """The object as a manifest that can be applied again; the values of a Secret are not in it."""
    metadata = {key: value for key, value in (read.get("metadata") or {}).items() if key not in LEFT_OUT}
    kept: Tree = {key: value for key, value in read.items() if key != "status"} | {"metadata": metadata}
    if read.get("kind") == "Secret":
        kept = {key: value for key, value in kept.items() if key not in SECRET}
    return kept


MOST_NAMED = 5


@dataclass(frozen=True, slots=True)
class UndoStep:
    """One step of the way back; one that sends nothing says in its note why."""

    step: Step

    @property
    def sends(self) -> bool:
        return self.step.change is not None

    @property
    def deletes(self) -> ObjectTarget | None:
        """What it deletes; None where it deletes nothing."""
        change = self.step.change
        return change.target if change is not None and change.verb == "delete" else None


def inverses(
    applied: tuple[Step, ...], *, objects: Mapping[ObjectTarget, Tree], made: Mapping[str, str]
) -> Iterator[UndoStep]:
    """The way back for each step, in the order given (newest first). Raises Unavailable naming the step that has none,
    or the object that others changed since."""
    written: set[tuple[str, Field]] = set()
    for step in applied:
        if step.change is None:
            continue
        yield _inverse(step, step.change, objects=objects, made=made, written=written)
        written |= {(step.change.target.path, field) for field in _fields(step.brings)}


def _inverse(
    step: Step,
    change: Change,
    *,
    objects: Mapping[ObjectTarget, Tree],
    made: Mapping[str, str],
    written: set[tuple[str, Field]],
) -> UndoStep:
    if step.undo is None:
        return _left(step, step.note or "nothing takes it back") if step.skippable else _refuse_final(step)
    read = objects.get(bare(change.target))
    undo = _tied(step, step.undo, made=made)
    if undo.verb == "create":
        return _again(step, undo, read=read)
    if _is_gone(undo, read):
        if undo.verb == "delete":
            return _left(step, "it is gone already")
        raise Unavailable(f"{undo.target.said} is gone or was made anew since", code="changed")
    _refuse_changed(step, change, read=read, written=written, uid=undo.target.uid)
    over = {field for path, field in written if path == change.target.path}
    return _sent(step, undo, over=over)


def bare(target: ObjectTarget) -> ObjectTarget:
    """The same target by its name alone: how a scene files what it read."""
    return msgspec.structs.replace(target, uid="")


def _refuse_final(step: Step) -> UndoStep:
    raise Unavailable(f"nothing takes this step back: {step.title}", code="no_way_back")


def _tied(step: Step, undo: Change, *, made: Mapping[str, str]) -> Change:
    """What we made is deleted by its uid only, never what has taken its name since."""
    if undo.verb == "create" or undo.target.uid:
        return undo
    uid = made.get(step.id, "")
    if not uid:
        raise Unavailable(f"what this step made is not known by its uid: {step.title}", code="no_way_back")
    return msgspec.structs.replace(undo, target=msgspec.structs.replace(undo.target, uid=uid))


def _is_gone(undo: Change, read: Tree | None) -> bool:
    return holds(Deleted(), read, uid=undo.target.uid)


def _again(step: Step, undo: Change, *, read: Tree | None) -> UndoStep:
    """What was deleted is made again, unless somebody did that already."""
    if read is None:
        return _sent(step, undo)
    if _content(read) == _content(undo.body):
        return _left(step, "somebody made it again as it was")
    raise Unavailable(f"{undo.target.said} was made anew with other content", code="changed")


def _content(tree: Tree) -> Tree:
    return {key: value for key, value in restorable(tree).items() if key != "metadata"}


def _refuse_changed(
    step: Step, change: Change, *, read: Tree | None, written: set[tuple[str, Field]], uid: str
) -> None:
    """Each field has to be as our step left it; what a later step of ours wrote over is that step's matter."""
    path = change.target.path
    own = [one for one in step.brings if not any((path, field) in written for field in _fields((one,)))]
    undone = [one for one in own if not holds(one, read, uid=uid)]
    if undone:
        where = ", ".join(dict.fromkeys(_said(one) for one in undone[:MOST_NAMED]))
        raise Unavailable(f"{change.target.said} was changed by others since: {where}", code="changed")


def _fields(conditions: tuple[Condition, ...]) -> tuple[Field, ...]:
    return tuple(one.field for one in conditions if isinstance(one, FieldEquals | ListContains))


def _said(condition: Condition) -> str:
    match condition:
        case FieldEquals(field=field) | ListContains(field=field):
            return ".".join(field)
        case Exists() | Terminating() | Deleted():
            return "the object itself"


def _sent(step: Step, undo: Change, *, over: Collection[Field] = ()) -> UndoStep:
    """The step back, which itself can be taken back where it changes fields of one and the same object.

    It does not rest on the fields `over` that the steps back before it change.
    """
    fields = dict.fromkeys((*step.rests_on, *_fields(step.brings)))
    change = step.change
    again = change if change is not None and change.verb in ("patch", "apply") and undo.verb == "patch" else None
    return UndoStep(
        Step(
            id="",
            title=f"Take back: {step.title}",
            change=undo,
            rests_on=tuple(field for field in fields if field not in over),
            brings=step.undo_brings,
            undo=again,
            undo_brings=step.brings if again else (),
            risk=_risk(step, undo),
            skippable=step.skippable,
            note=step.note,
            manager=step.manager,
        )
    )


def _risk(step: Step, undo: Change) -> Risk:
    """What was made may be in use by now, so its deletion is never a small thing."""
    return max(step.risk, "high", key=RISKS.index) if undo.verb == "delete" else step.risk


def _left(step: Step, why: str) -> UndoStep:
    return UndoStep(Step(id="", title=f"Left as it is: {step.title}", note=why))

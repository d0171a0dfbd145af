"""Undo: the manifest that restores an object, and the inverse steps of a rollback, which are refused if another writer
changed the object since (A35).
"""

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import NoReturn

import msgspec

from migrations_app.actions.base import Unavailable
from migrations_app.actions.changes import RISKS, ObjectTarget, PlannedRequest, Risk
from migrations_app.actions.conditions import (
    Condition,
    Deleted,
    Exists,
    Field,
    FieldEquals,
    ListContains,
    Terminating,
    all_hold,
    holds,
    successor_note,
)
from migrations_app.actions.helm.request import HelmProposal, run_of
from migrations_app.actions.helm.step import helm_step
from migrations_app.actions.plan import Step
from migrations_app.karpenter import kinds
from migrations_app.manifests import JsonMap

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
"""Metadata fields that only the server writes, and that it refuses or ignores when an object is restored."""
SECRET = ("data", "stringData")


def restorable(read: JsonMap) -> JsonMap:
    """The object as a manifest that can be applied again; values of a Secret are left out."""
    metadata = {key: value for key, value in (read.get("metadata") or {}).items() if key not in LEFT_OUT}
    fields: JsonMap = {key: value for key, value in read.items() if key != "status"} | {"metadata": metadata}
    if read.get("kind") == "Secret":
        fields = {key: value for key, value in fields.items() if key not in SECRET}
    return fields


MAX_NAMED = 5


@dataclass(frozen=True, slots=True)
class UndoStep:
    """One step of a rollback; if it sends nothing, its note says why."""

    step: Step

    @property
    def sends(self) -> bool:
        return self.step.change is not None

    @property
    def deletes(self) -> ObjectTarget | None:
        """What it deletes; None if it deletes nothing."""
        change = self.step.change
        return change.target if change is not None and change.verb == "delete" else None


def inverses(
    applied: tuple[Step, ...],
    *,
    objects: Mapping[ObjectTarget, JsonMap],
    made: Mapping[str, str],
    helm: HelmProposal | None = None,
) -> Iterator[UndoStep]:
    """Yields the inverse of each step, in the given order (newest first). `helm` is the dry run of the rollback.

    A replaced node stays replaced; the other steps are undone. A step whose object is as it was before it, such as
    after a rollback that was stopped, sends nothing. Raises Unavailable with a step that has no undo, or with an object
    that another writer changed since.
    """
    written: set[tuple[str, Field]] = set()
    for step in applied:
        if step.change is None:
            continue
        if step.change.verb == "helm":
            yield _helm_rollback(step, step.change, objects=objects, made=made, helm=helm)
            continue
        if _is_undone(step, step.change, objects=objects, written=written):
            yield _skipped_step(step, f"{step.change.target.display_name} is as it was before already")
            continue
        yield _inverse(step, step.change, objects=objects, made=made, written=written)
        written |= {(step.change.target.path, field) for field in _fields(step.postconditions)}


def _is_undone(
    step: Step, change: PlannedRequest, *, objects: Mapping[ObjectTarget, JsonMap], written: set[tuple[str, Field]]
) -> bool:
    """Whether the object, by uid, has everything that the undo would set, and no undo before it changes that."""
    undo = step.undo
    if undo is None or undo.verb != "patch" or not undo.target.uid:
        return False
    moves = any((change.target.path, field) in written for field in _fields(step.undo_postconditions))
    read = objects.get(without_uid(change.target))
    return not moves and all_hold(step.undo_postconditions, read, uid=undo.target.uid)


def left_alone(unsettled: Iterable[Step]) -> Iterator[UndoStep]:
    """A step that sends nothing for each one whose outcome is not known: undoing it could undo what others did."""
    for step in unsettled:
        change = step.change
        if change is None:
            continue
        advice = "look at it, and change it back yourself if it was"
        if change.verb == "helm":
            advice = "roll back Karpenter's Helm release by its own action, or mend it yourself"
        yield _skipped_step(step, f"whether it changed {change.target.display_name} is not known: {advice}")


def _inverse(
    step: Step,
    change: PlannedRequest,
    *,
    objects: Mapping[ObjectTarget, JsonMap],
    made: Mapping[str, str],
    written: set[tuple[str, Field]],
) -> UndoStep:
    if step.undo is None:
        may_stay = step.skippable or (change.verb == "delete" and change.target.kind == kinds.NODE.kind)
        if not may_stay:
            _refuse_final(step)
        return _skipped_step(step, step.note or "no undo")
    read = objects.get(without_uid(change.target))
    undo = _bound_to_uid(step, step.undo, made=made)
    if undo.verb == "create":
        return _recreate(step, undo, read=read)
    if _is_gone(undo, read):
        if undo.verb == "delete":
            return _skipped_step(step, f"it is gone already{successor_note(undo.target, read)}")
        raise Unavailable(f"{undo.target.display_name} was deleted, or created again, since", code="changed")
    _refuse_changed(step, change, read=read, written=written, uid=undo.target.uid)
    over = {field for path, field in written if path == change.target.path}
    return _undo_step(step, undo, over=over)


def _helm_rollback(
    step: Step,
    change: PlannedRequest,
    *,
    objects: Mapping[ObjectTarget, JsonMap],
    made: Mapping[str, str],
    helm: HelmProposal | None,
) -> UndoStep:
    """The rollback of a run of helm. Raises Unavailable if the release was changed since."""
    if step.undo is None:
        _refuse_final(step)
    _refuse_changed(step, change, read=objects.get(change.target), written=set(), uid=made.get(step.id, ""))
    rollback = run_of(step.undo.body)
    if helm is None or (helm.run.before, helm.run.to) != (rollback.before, rollback.to):
        raise Unavailable(f"the release is not as this step left it: {step.title}", code="changed")
    return UndoStep(helm_step(helm, title=f"Undo: {step.title}"))


def without_uid(target: ObjectTarget) -> ObjectTarget:
    """The same target without uid, as used for the keys of PlanningContext.objects."""
    return msgspec.structs.replace(target, uid="")


def _refuse_final(step: Step) -> NoReturn:
    raise Unavailable(f"this step cannot be undone: {step.title}", code="no_way_back")


def _bound_to_uid(step: Step, undo: PlannedRequest, *, made: Mapping[str, str]) -> PlannedRequest:
    """The undo, limited by uid to the object that karpdash created, never a later object with the same name."""
    if undo.verb == "create" or undo.target.uid:
        return undo
    uid = made.get(step.id, "")
    if not uid:
        raise Unavailable(
            f"the uid of the object that this step created is not known: {step.title}", code="no_way_back"
        )
    return msgspec.structs.replace(undo, target=msgspec.structs.replace(undo.target, uid=uid))


def _is_gone(undo: PlannedRequest, read: JsonMap | None) -> bool:
    return holds(Deleted(), read, uid=undo.target.uid)


def _recreate(step: Step, undo: PlannedRequest, *, read: JsonMap | None) -> UndoStep:
    """The step that creates the deleted object again; a step that sends nothing if that was done already."""
    if read is None:
        return _undo_step(step, undo)
    if _content(read) == _content(undo.body):
        return _skipped_step(step, "somebody made it again as it was")
    raise Unavailable(f"{undo.target.display_name} was created again with other content", code="changed")


def _content(tree: JsonMap) -> JsonMap:
    return {key: value for key, value in restorable(tree).items() if key != "metadata"}


def _refuse_changed(
    step: Step, change: PlannedRequest, *, read: JsonMap | None, written: set[tuple[str, Field]], uid: str
) -> None:
    """Raises Unavailable unless each field is as the step left it; fields that a later step overwrote belong to that
    step.
    """
    path = change.target.path
    own_conditions = [
        postcondition
        for postcondition in step.postconditions
        if not any((path, field) in written for field in _fields((postcondition,)))
    ]
    unmet = [condition for condition in own_conditions if not holds(condition, read, uid=uid)]
    if unmet:
        where = ", ".join(dict.fromkeys(_place_of(condition) for condition in unmet[:MAX_NAMED]))
        raise Unavailable(f"{change.target.display_name} was changed by others since: {where}", code="changed")


def _fields(conditions: tuple[Condition, ...]) -> tuple[Field, ...]:
    return tuple(condition.field for condition in conditions if isinstance(condition, FieldEquals | ListContains))


def _place_of(condition: Condition) -> str:
    match condition:
        case FieldEquals(field=field) | ListContains(field=field):
            return ".".join(field)
        case Exists() | Terminating() | Deleted():
            return "the object itself"


def _undo_step(step: Step, undo: PlannedRequest, *, over: Collection[Field] = ()) -> UndoStep:
    """The undo step, which can itself be undone if it changes fields of the same object.

    It does not depend on the fields `over`, which earlier undo steps change.
    """
    fields = dict.fromkeys((*step.preconditions, *_fields(step.postconditions)))
    change = step.change
    again = change if change is not None and change.verb in ("patch", "apply") and undo.verb == "patch" else None
    return UndoStep(
        Step(
            id="",
            title=f"Undo: {step.title}",
            change=undo,
            preconditions=tuple(field for field in fields if field not in over),
            postconditions=step.undo_postconditions,
            undo=again,
            undo_postconditions=step.postconditions if again else (),
            risk=_risk(step, undo),
            skippable=step.skippable,
            after=step.undo_after,
            note=step.note,
            manager=step.manager,
        )
    )


def _risk(step: Step, undo: PlannedRequest) -> Risk:
    """The risk of the undo: deleting a created object is at least high, since it may be in use by now."""
    return max(step.risk, "high", key=RISKS.index) if undo.verb == "delete" else step.risk


def _skipped_step(step: Step, reason: str) -> UndoStep:
    return UndoStep(Step(id="", title=f"Left as it is: {step.title}", note=reason))

"""Merge patches from the current object to the wanted one, and the steps made from them, with conditions and undo.

A merge patch replaces whole lists, so a step depends on the complete list that it changes.
"""

from collections.abc import Iterator
from typing import Any

from migrations_app.actions.changes import ObjectTarget, PlannedRequest, application, creation, deletion, merge
from migrations_app.actions.conditions import Condition, Exists, Field, FieldEquals, Terminating, fields_digest
from migrations_app.actions.plan import Step
from migrations_app.manifests import JsonMap
from migrations_app.manifests.patches import merge_patch_undo

HEAD = (("apiVersion",), ("kind",), ("metadata", "name"), ("metadata", "namespace"))
"""Fields that identify an object and are not part of a change."""


def between(before: JsonMap, after: JsonMap) -> JsonMap:
    """The merge patch from `before` to `after`; empty if they are equal."""
    patch: JsonMap = {key: None for key in before if after.get(key) is None and before[key] is not None}
    for key, new_value in after.items():
        old_value = before.get(key)
        if new_value is None or new_value == old_value:
            continue
        inner = (
            between(old_value, new_value) if isinstance(old_value, dict) and isinstance(new_value, dict) else new_value
        )
        if inner != {} or old_value is None:
            patch[key] = inner
    return patch


def leaves(patch: JsonMap, *, at: Field = ()) -> Iterator[tuple[Field, Any]]:
    """Every field that the patch sets, with its value; None if it removes the field."""
    for key, value in patch.items():
        if isinstance(value, dict) and value:
            yield from leaves(value, at=(*at, key))
        else:
            yield (*at, key), value


def field_conditions(patch: JsonMap) -> tuple[Condition, ...]:
    """The conditions that a read shows once the patch has taken effect."""
    return tuple(FieldEquals(field=field, value=value) for field, value in leaves(patch))


def patch_step(target: ObjectTarget, before: JsonMap, *, patch: JsonMap, **more: Any) -> Step:  # noqa: ANN401 - the other fields of a Step
    """A step that sends the patch, depends on exactly the fields that it sets, and can be undone."""
    undo_body = merge_patch_undo(patch, before)
    preconditions = tuple(field for field, _ in leaves(patch))
    return Step(
        id="",
        change=merge(target, patch),
        preconditions=preconditions,
        digest=fields_digest(before, preconditions),
        postconditions=field_conditions(patch),
        undo=merge(target, undo_body),
        undo_postconditions=field_conditions(undo_body),
        **more,
    )


def create_step(target: ObjectTarget, body: JsonMap, **more: Any) -> Step:  # noqa: ANN401 - the other fields of a Step
    """A step that creates the object. Its undo deletes it; the journal holds the uid of the created object."""
    fields_set = field_conditions(without_head(body)) or (Exists(),)
    return Step(
        id="",
        change=creation(target, body),
        digest=fields_digest(None, ()),
        postconditions=fields_set,
        undo=deletion(target),
        undo_postconditions=(Terminating(),),
        **more,
    )


def apply_step(target: ObjectTarget, before: JsonMap, *, body: JsonMap, **more: Any) -> Step:  # noqa: ANN401 - the other fields of a Step
    """A step of server-side apply to an existing object; its undo restores the fields (A34)."""
    applied_fields = without_head(body)
    undo_body = merge_patch_undo(applied_fields, before)
    preconditions = tuple(field for field, _ in leaves(applied_fields))
    return Step(
        id="",
        change=application(target, body),
        preconditions=preconditions,
        digest=fields_digest(before, preconditions),
        postconditions=field_conditions(applied_fields),
        undo=merge(target, undo_body),
        undo_postconditions=field_conditions(undo_body),
        **more,
    )


def delete_step(
    target: ObjectTarget,
    *,
    foreground: bool = False,
    preconditions: tuple[Field, ...] = (),
    **more: Any,  # noqa: ANN401 - the other fields of a Step
) -> Step:
    """A step that deletes the object; it cannot be undone."""
    change: PlannedRequest = deletion(target, foreground=foreground)
    return Step(id="", change=change, preconditions=preconditions, postconditions=(Terminating(),), **more)


def without_head(body: JsonMap) -> JsonMap:
    """The body without the fields that only identify the object."""
    fields = {key: value for key, value in body.items() if (key,) not in HEAD}
    metadata = {key: value for key, value in (body.get("metadata") or {}).items() if ("metadata", key) not in HEAD}
    return fields | {"metadata": metadata} if metadata else {key: fields[key] for key in fields if key != "metadata"}


def set_at(tree: JsonMap, field: Field, *, value: Any) -> JsonMap:  # noqa: ANN401 - plain JSON
    """A copy of the tree with that value at the field; maps on the path are copied or created."""
    key, *rest = field
    inner = tree.get(key)
    below = set_at(inner if isinstance(inner, dict) else {}, tuple(rest), value=value) if rest else value
    return tree | {key: below}

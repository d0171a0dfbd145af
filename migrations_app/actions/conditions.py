"""Conditions on one object as read: what a plan depends on, and what a request must have achieved."""

import hashlib
from collections.abc import Iterable
from typing import Any

import msgspec

from migrations_app.actions.changes import ActionValue, ObjectTarget
from migrations_app.conversion.metadata import CONTROLLER_ANNOTATIONS
from migrations_app.manifests import JsonMap

Field = tuple[str, ...]
"""The path to a field as a tuple of keys, since keys may contain dots."""


class FieldEquals(ActionValue, frozen=True, tag="held"):
    """The field has this value; None: it is absent or null. The order of lists matters."""

    field: Field
    value: Any = None


class ListContains(ActionValue, frozen=True, tag="within"):
    """The list at the field contains (or with `absent` does not contain) an element with all these members."""

    field: Field
    element: Any
    absent: bool = False


class Exists(ActionValue, frozen=True, tag="exists"):
    """The object exists; with `marks` it has these annotations."""

    marks: dict[str, str] = {}


class Terminating(ActionValue, frozen=True, tag="leaving"):
    """The object is being deleted or is gone."""


class Deleted(ActionValue, frozen=True, tag="gone"):
    """The object is gone, or another object has its name."""


Condition = FieldEquals | ListContains | Exists | Terminating | Deleted


def holds(condition: Condition, read: JsonMap | None, *, uid: str = "") -> bool:
    """Whether the condition holds for the object as read; `read` None: it does not exist. `uid` identifies the
    intended object.
    """
    existing = read if read is not None and (not uid or value_at(read, ("metadata", "uid")) == uid) else None
    match condition:
        case Deleted():
            return existing is None
        case Terminating():
            return existing is None or value_at(existing, ("metadata", "deletionTimestamp")) is not None
        case Exists(marks=marks):
            return existing is not None and all(
                value_at(existing, ("metadata", "annotations", key)) == text for key, text in marks.items()
            )
        case FieldEquals(field=field, value=value):
            return existing is not None and value_at(existing, field) == value
        case ListContains(field=field, element=element, absent=absent):
            return existing is not None and _within(value_at(existing, field), element) is not absent


def all_hold(conditions: Iterable[Condition], read: JsonMap | None, *, uid: str = "") -> bool:
    """Whether all conditions hold; False without any, since that proves nothing."""
    results = [holds(condition, read, uid=uid) for condition in conditions]
    return bool(results) and all(results)


def successor_note(target: ObjectTarget, read: JsonMap | None) -> str:
    """Text that another object has the name of the intended one, which is gone; empty if none has."""
    uid = str(value_at(read, ("metadata", "uid")) or "")
    if not target.uid or uid in ("", target.uid):
        return ""
    return f": another {target.kind} has the name {target.name} now, and stays"


def value_at(tree: Any, field: Field) -> Any:  # noqa: ANN401 - the tree is the API's own JSON
    """The value at the field; None if it is absent. A numeric step is an index into a list."""
    node = tree
    for step in field:
        if isinstance(node, dict):
            node = node.get(step)
        elif isinstance(node, list) and step.isdecimal() and int(step) < len(node):
            node = node[int(step)]
        else:
            return None
    return node


def fields_digest(read: JsonMap | None, fields: Iterable[Field]) -> str:
    """A digest of exactly these fields: equal for two reads that agree in them, whatever else changed (A02, T16)."""
    values = [[list(field), value_at(read, field)] for field in fields]
    body = msgspec.json.encode([read is not None, values], order="deterministic")
    return hashlib.sha256(body).hexdigest()


def content_digest(read: JsonMap | None) -> str:
    """A digest of what people write into an object: its labels, annotations and spec.

    Annotations that only controllers write are left out, and so is the status. None and an object without content have
    the same digest.
    """
    annotations = value_at(read, ("metadata", "annotations")) or {}
    content = [
        value_at(read, ("metadata", "labels")) or {},
        {key: text for key, text in annotations.items() if key not in CONTROLLER_ANNOTATIONS},
        value_at(read, ("spec",)) or {},
    ]
    return hashlib.sha256(msgspec.json.encode(content, order="deterministic")).hexdigest()


def _within(value: Any, element: Any) -> bool:  # noqa: ANN401 - as above
    return isinstance(value, list) and any(_matches(item, element) for item in value)


def _matches(item: Any, expected: Any) -> bool:  # noqa: ANN401 - as above
    if isinstance(expected, dict):
        return isinstance(item, dict) and all(item.get(key) == value for key, value in expected.items())
    return bool(item == expected)

"""Objects as the API's JSON and back, patches of that JSON, and whether a projection holds what a patch changes."""

import copy
import types
import typing
from collections.abc import Iterator, Sequence
from typing import Any, TypeVar

import msgspec

from migrations_app.checks.changes import Body
from migrations_app.inventory.objects.karpenter import NamedObject
from migrations_app.readiness.plan.effects.not_shown import NotShown

N = TypeVar("N", bound=NamedObject)


class PatchRefused(Exception):
    """The path of a patch that a server would not take."""


def tree_of(named_object: NamedObject) -> Body:
    """The object with the API's names; what is as by default is left out."""
    body: Body = msgspec.to_builtins(named_object)
    return body


def object_of(tree: Body, kind: type[N]) -> N | NotShown:
    """The tree as such an object; `refused` where a field of it has a wrong type."""
    try:
        return msgspec.convert(tree, kind)
    except msgspec.ValidationError:
        return NotShown("refused", kind.__name__)


def merged(tree: Body, patch: Body) -> Body:
    """The tree after the merge patch (RFC 7386)."""
    after = dict(tree)
    for key, value in patch.items():
        if value is None:
            after.pop(key, None)
        elif isinstance(value, dict):
            inner = after.get(key)
            after[key] = merged(inner if isinstance(inner, dict) else {}, value)
        else:
            after[key] = copy.deepcopy(value)
    return after


def operated(tree: Body, steps: Sequence[Body]) -> Body:
    """The tree after the JSON patch (RFC 6902). Raises PatchRefused with the path of the step that does not fit."""
    after = copy.deepcopy(tree)
    for step in steps:
        path = step.get("path", "")
        try:
            after = _operated(after, step)
        except (KeyError, IndexError, TypeError, ValueError):
            raise PatchRefused(path) from None
    return after


def _operated(tree: Body, step: Body) -> Body:
    *above, last = _steps(step["path"])
    holder: Any = tree
    for key in above:
        holder = holder[_index(holder, key)]
    match step["op"]:
        case "add" if isinstance(holder, list):
            place = len(holder) if last == "-" else int(last)
            if not 0 <= place <= len(holder):
                raise IndexError(place)
            holder.insert(place, copy.deepcopy(step["value"]))
        case "add" if isinstance(holder, dict):
            holder[last] = copy.deepcopy(step["value"])
        case "replace":
            holder[_index(holder, last)] = copy.deepcopy(step["value"])
        case "remove":
            del holder[_index(holder, last)]
        case "test" if holder[_index(holder, last)] == step["value"]:
            pass
        case _:
            raise ValueError(step["op"])
    return tree


def _steps(path: str) -> list[str]:
    """The steps of a JSON pointer. Raises PatchRefused where it names no field."""
    if not path.startswith("/"):
        raise PatchRefused(path)
    return [step.replace("~1", "/").replace("~0", "~") for step in path[1:].split("/")]


def _index(holder: object, step: str) -> Any:  # noqa: ANN401 - a key of a map or a place in a list
    """The key or place, where something is there. Raises KeyError, IndexError, ValueError or TypeError."""
    if isinstance(holder, list):
        if not step.isdigit() or int(step) >= len(holder):
            raise IndexError(step)
        return int(step)
    if not isinstance(holder, dict) or step not in holder:
        raise KeyError(step)
    return step


def left_out(kind: type, body: Body | Sequence[Body]) -> str:
    """The first field that the patch changes and the projection does not hold, as a pointer; empty where there is
    none. Raises PatchRefused where a step of the patch names no field."""
    changed = _changed(body) if isinstance(body, dict) else _operations(body)
    return next((f"/{'/'.join(path)}" for path in changed if not _holds(kind, path)), "")


def _changed(body: Body, *, above: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    for key, value in body.items():
        yield from _named(value, (*above, key))


def _named(value: object, path: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    if isinstance(value, dict) and value:
        yield from _changed(value, above=path)
    elif isinstance(value, list) and any(isinstance(item, dict) for item in value):
        for item in value:
            yield from _named(item, (*path, "-"))
    else:
        yield path


def _operations(steps: Sequence[Body]) -> Iterator[tuple[str, ...]]:
    for step in steps:
        yield from _named(step.get("value"), tuple(_steps(step.get("path", ""))))


def _holds(kind: Any, path: tuple[str, ...]) -> bool:  # noqa: ANN401 - a type as an annotation gives it
    if not path or kind is Any:
        return True
    origin, inner = typing.get_origin(kind), typing.get_args(kind)
    if origin in (typing.Union, types.UnionType):
        return any(_holds(inner_type, path) for inner_type in inner if inner_type is not type(None))
    if origin is dict:
        return _holds(inner[1], path[1:])
    if origin is list:
        return _holds(inner[0], path[1:])
    if isinstance(kind, type) and issubclass(kind, msgspec.Struct):
        fields = {field.encode_name: field.type for field in msgspec.structs.fields(kind)}
        return path[0] in fields and _holds(fields[path[0]], path[1:])
    return False

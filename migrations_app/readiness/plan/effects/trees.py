"""Converts objects to the JSON of the API and back, patches it, and finds fields that a projection leaves out."""

import copy
import types
import typing
from collections.abc import Iterator, Sequence
from typing import Any, TypeVar

import msgspec

from migrations_app.checks.changes import Body
from migrations_app.inventory.objects.karpenter import NamedObject
from migrations_app.readiness.plan.effects.unknown_effect import NotShown

N = TypeVar("N", bound=NamedObject)


class PatchRefused(Exception):
    """A patch that an API server refuses; the message is the path."""


def tree_of(named_object: NamedObject) -> Body:
    """The object as JSON with the names of the API, without fields that have their default."""
    body: Body = msgspec.to_builtins(named_object)
    return body


def object_of(tree: Body, kind: type[N]) -> N | NotShown:
    """The JSON as an object of the type; NotShown `refused` if a field has a wrong type."""
    try:
        return msgspec.convert(tree, kind)
    except msgspec.ValidationError:
        return NotShown("refused", kind.__name__)


def merge_patched(tree: Body, patch: Body) -> Body:
    """The JSON after the merge patch (RFC 7386)."""
    after = dict(tree)
    for key, value in patch.items():
        if value is None:
            after.pop(key, None)
        elif isinstance(value, dict):
            inner = after.get(key)
            after[key] = merge_patched(inner if isinstance(inner, dict) else {}, value)
        else:
            after[key] = copy.deepcopy(value)
    return after


def json_patched(tree: Body, steps: Sequence[Body]) -> Body:
    """The JSON after the JSON patch (RFC 6902). Raises PatchRefused with the path of the first step that fails."""
    after = copy.deepcopy(tree)
    for step in steps:
        path = step.get("path", "")
        try:
            after = _with_step(after, step)
        except (KeyError, IndexError, TypeError, ValueError):
            raise PatchRefused(path) from None
    return after


def _with_step(tree: Body, step: Body) -> Body:
    *parents, last = _pointer_keys(step["path"])
    holder: Any = tree
    for key in parents:
        holder = holder[_existing_key(holder, key)]
    match step["op"]:
        case "add" if isinstance(holder, list):
            index = len(holder) if last == "-" else int(last)
            if not 0 <= index <= len(holder):
                raise IndexError(index)
            holder.insert(index, copy.deepcopy(step["value"]))
        case "add" if isinstance(holder, dict):
            holder[last] = copy.deepcopy(step["value"])
        case "replace":
            holder[_existing_key(holder, last)] = copy.deepcopy(step["value"])
        case "remove":
            del holder[_existing_key(holder, last)]
        case "test" if holder[_existing_key(holder, last)] == step["value"]:
            pass
        case _:
            raise ValueError(step["op"])
    return tree


def _pointer_keys(path: str) -> list[str]:
    """The keys of a JSON pointer. Raises PatchRefused if the pointer names no field."""
    if not path.startswith("/"):
        raise PatchRefused(path)
    return [step.replace("~1", "/").replace("~0", "~") for step in path[1:].split("/")]


def _existing_key(holder: object, step: str) -> Any:  # noqa: ANN401 - a key of a map or a place in a list
    """The key of a map, or the index of a list, if it exists. Raises KeyError, IndexError or ValueError if not."""
    if isinstance(holder, list):
        if not step.isdigit() or int(step) >= len(holder):
            raise IndexError(step)
        return int(step)
    if not isinstance(holder, dict) or step not in holder:
        raise KeyError(step)
    return step


def first_left_out(kind: type, body: Body | Sequence[Body]) -> str:
    """The first field that the patch changes and the projection `kind` leaves out, as a JSON pointer; empty if there is
    none. Raises PatchRefused if a step of the patch names no field."""
    changed = _merge_patch_paths(body) if isinstance(body, dict) else _json_patch_paths(body)
    return next((f"/{'/'.join(path)}" for path in changed if not _holds(kind, path)), "")


def _merge_patch_paths(body: Body, *, above: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    for key, value in body.items():
        yield from _leaf_paths(value, (*above, key))


def _leaf_paths(value: object, path: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    if isinstance(value, dict) and value:
        yield from _merge_patch_paths(value, above=path)
    elif isinstance(value, list) and any(isinstance(item, dict) for item in value):
        for item in value:
            yield from _leaf_paths(item, (*path, "-"))
    else:
        yield path


def _json_patch_paths(steps: Sequence[Body]) -> Iterator[tuple[str, ...]]:
    for step in steps:
        yield from _leaf_paths(step.get("value"), tuple(_pointer_keys(step.get("path", ""))))


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

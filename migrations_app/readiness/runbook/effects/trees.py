"""Converts objects to the JSON of the API and back, and finds fields that a projection leaves out."""

import types
import typing
from collections.abc import Iterator, Sequence
from typing import Any, TypeVar

import msgspec

from migrations_app.inventory.objects.karpenter import NamedObject
from migrations_app.manifests import JsonMap
from migrations_app.manifests.patches import pointer_steps
from migrations_app.readiness.runbook.effects.unknown_effect import NotShown

N = TypeVar("N", bound=NamedObject)


def tree_of(named_object: NamedObject) -> JsonMap:
    """The object as JSON with the names of the API, without fields that have their default."""
    body: JsonMap = msgspec.to_builtins(named_object)
    return body


def object_of(tree: JsonMap, kind: type[N]) -> N | NotShown:
    """The JSON as an object of the type; NotShown `refused` if a field has a wrong type."""
    try:
        return msgspec.convert(tree, kind)
    except msgspec.ValidationError:
        return NotShown("refused", kind.__name__)


def first_left_out(kind: type, body: JsonMap | Sequence[JsonMap]) -> str:
    """The first field that the patch changes and the projection `kind` leaves out, as a JSON pointer; empty if there is
    none. Raises PatchError if a step of the patch has no path."""
    changed = _merge_patch_paths(body) if isinstance(body, dict) else _json_patch_paths(body)
    return next((f"/{'/'.join(path)}" for path in changed if not _holds(kind, path)), "")


def _merge_patch_paths(body: JsonMap, *, above: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
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


def _json_patch_paths(steps: Sequence[JsonMap]) -> Iterator[tuple[str, ...]]:
    for step in steps:
        yield from _leaf_paths(step.get("value"), pointer_steps(step.get("path", "")))


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

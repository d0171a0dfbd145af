"""Makes, applies and undoes merge patches (RFC 7386), writes them as JSON patches (RFC 6902), and applies those.

No document is changed; the result shares unchanged parts.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from migrations_app.manifests.writer import Plain

SHARED_MAPS = ("annotations", "labels")
"""Maps of `metadata` that other writers use too: an undo removes only karpdash's own keys, never the whole map."""
_OPERATIONS = frozenset({"add", "remove", "replace", "move", "copy", "test"})


class PatchError(ValueError):
    """The patch does not fit the document: a missing path, a failing test or an unknown operation."""

    path: str = ""
    """The path of the operation that failed."""


def merge_patched(document: Plain, patch: Plain) -> Plain:
    """The document after the merge patch."""
    if not isinstance(patch, Mapping):
        return patch
    result = dict(document) if isinstance(document, Mapping) else {}
    for key, value in patch.items():
        if value is None:
            result.pop(key, None)
        else:
            result[key] = merge_patched(result.get(key), value)
    return result


def merge_patch_at(path: str, leaf: Plain) -> dict[str, Any]:
    """The merge patch that sets the value at a dotted path; null removes the field."""
    first, *rest = path.split(".")
    body = leaf
    for step in reversed(rest):
        body = {step: body}
    return {first: body}


def merge_patch_undo(patch: Mapping[str, Any], before: Mapping[str, Any], *, parent: str = "") -> dict[str, Any]:
    """The merge patch that undoes `patch`: it sets each field to its value before, or removes it if it was absent.
    `parent` is the key that holds both.
    """
    undo_body: dict[str, Any] = {}
    for key, value in patch.items():
        old_value = before.get(key)
        is_shared = parent == "metadata" and key in SHARED_MAPS and old_value is None
        inside = isinstance(value, dict) and value and (isinstance(old_value, dict) or is_shared)
        undo_body[key] = merge_patch_undo(value, old_value or {}, parent=key) if inside else old_value
    return undo_body


def under_patch(patch: Mapping[str, Any], document: Mapping[str, Any]) -> dict[str, Any]:
    """What the document has at the fields that a merge patch sets or removes. What the document lacks is left out, so
    that a missing map can be told from one without the field."""
    seen: dict[str, Any] = {}
    for key, value in patch.items():
        if document.get(key) is not None:
            old_value = document[key]
            inside = isinstance(value, Mapping) and isinstance(old_value, Mapping)
            seen[key] = under_patch(value, old_value) if inside else old_value
    return seen


def json_patch_of(patch: Mapping[str, Any], seen: Mapping[str, Any], *, at: str = "") -> list[dict[str, Any]]:
    """The merge patch as a JSON patch that the API server refuses if a field that it changes is not what `seen` says.
    `seen` is the answer of `under_patch`; `at` is the JSON pointer of the map that both are."""
    operations: list[dict[str, Any]] = []
    for key, value in patch.items():
        path, old_value = f"{at}/{key.replace('~', '~0').replace('/', '~1')}", seen.get(key)
        if isinstance(value, Mapping) and isinstance(old_value, Mapping):
            operations += json_patch_of(value, old_value, at=path)
            continue
        operations.append({"op": "test", "path": path, "value": old_value})
        if value is not None:
            operation = "add" if old_value is None else "replace"
            operations.append({"op": operation, "path": path, "value": merge_patched(None, value)})
        elif old_value is not None:
            operations.append({"op": "remove", "path": path})
    return operations


def json_patched(document: Plain, patch: Sequence[Any]) -> Plain:
    """The document after every operation. Raises PatchError; TypeError if the patch is no list of operations."""
    for operation in patch:
        if not isinstance(operation, Mapping):
            raise TypeError("an operation of a JSON patch is an object")
        try:
            document = _applied(document, operation)
        except PatchError as error:
            error.path = str(operation.get("path", ""))
            raise
    return document


def _applied(document: Plain, operation: Mapping[str, Any]) -> Plain:
    name, path = operation.get("op"), pointer_steps(operation.get("path"))
    if name not in _OPERATIONS:
        raise PatchError(f"Unexpected kind: {name}")
    if name in ("move", "copy"):
        source = pointer_steps(operation.get("from"))
        value = _value_at(document, source)
        if name == "move":
            document = _changed(document, source, name="remove")
        return _changed(document, path, name="add", value=value)
    if name == "remove":
        return _changed(document, path, name=name)
    if "value" not in operation and name != "test":
        raise PatchError("an operation of this kind has a value")
    if name == "test":
        if _tested(document, path) != operation.get("value"):
            raise PatchError("testing path failed")
        return document
    return _changed(document, path, name=str(name), value=operation["value"])


def _tested(document: Plain, path: tuple[str, ...]) -> Plain:
    """Returns the value at the path; None if the last step is missing, as the API server tests it."""
    holder = _value_at(document, path[:-1])
    if path and isinstance(holder, dict):
        return holder.get(path[-1])
    return _value_at(document, path)


def pointer_steps(path: Plain) -> tuple[str, ...]:
    """The keys of a JSON pointer (RFC 6901); none for the whole document. Raises PatchError if it is no pointer."""
    if not isinstance(path, str) or (path and not path.startswith("/")):
        raise PatchError(f"{path!r} is no JSON pointer")
    return tuple(part.replace("~1", "/").replace("~0", "~") for part in path.split("/")[1:])


def _value_at(document: Plain, path: tuple[str, ...]) -> Plain:
    for step in path:
        if isinstance(document, dict) and step in document:
            document = document[step]
        elif isinstance(document, list):
            document = document[_index(document, step, last=len(document) - 1)]
        else:
            raise PatchError(f"{step!r} is missing")
    return document


def _index(items: list[Any], step: str, *, last: int) -> int:
    if not step.isascii() or not step.isdigit() or int(step) > last:
        raise PatchError(f"{step!r} is no place in a list of {len(items)}")
    return int(step)


def _changed(document: Plain, path: tuple[str, ...], *, name: str, value: Plain = None) -> Plain:
    """A copy of the document with the operation done at the path."""
    if not path:
        if name == "remove":
            raise PatchError("the whole document is not removed")
        return value
    step, rest = path[0], path[1:]
    if isinstance(document, dict):
        return _in_map(document, step, rest=rest, name=name, value=value)
    if isinstance(document, list):
        return _in_list(document, step, rest=rest, name=name, value=value)
    raise PatchError(f"{step!r} is missing")


def _in_map(holder: dict[str, Any], step: str, *, rest: tuple[str, ...], name: str, value: Plain) -> Plain:
    if step not in holder and (rest or name != "add"):
        raise PatchError(f"{step!r} is missing")
    if rest:
        return {**holder, step: _changed(holder[step], rest, name=name, value=value)}
    if name == "remove":
        return {key: member for key, member in holder.items() if key != step}
    return {**holder, step: value}


def _in_list(items: list[Any], step: str, *, rest: tuple[str, ...], name: str, value: Plain) -> Plain:
    if not rest and name == "add":
        at = len(items) if step == "-" else _index(items, step, last=len(items))
        return [*items[:at], value, *items[at:]]
    at = _index(items, step, last=len(items) - 1)
    if rest:
        return [*items[:at], _changed(items[at], rest, name=name, value=value), *items[at + 1 :]]
    return [*items[:at], *([] if name == "remove" else [value]), *items[at + 1 :]]

"""Sets of fields of an object: the fields in a document, and the fields that differ between two documents.

Source: kubernetes-sigs/structured-merge-diff@v4.0.2:typed (tofieldset.go, merge.go, remove.go).
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from migrations_app.manifests.writer import Plain
from migrations_app.twin.objects.shapes import Shape, members, merges

FieldsetPath = tuple[str, ...]
"""Path elements as in fieldsV1: `f:name` a field, `k:{...}` an item by its keys, `v:...` an item of a set."""
Fields = frozenset[FieldsetPath]

_MISSING: Any = object()
_UNOWNED: frozenset[FieldsetPath] = frozenset(
    {("f:apiVersion",), ("f:kind",), ("f:metadata",)}
    | {
        ("f:metadata", f"f:{name}")
        for name in (
            "clusterName",
            "creationTimestamp",
            "generation",
            "managedFields",
            "name",
            "namespace",
            "resourceVersion",
            "selfLink",
            "uid",
        )
    }
)


@dataclass(slots=True)
class Differences:
    """What differs between two documents."""

    added: set[FieldsetPath] = field(default_factory=set)
    changed: set[FieldsetPath] = field(default_factory=set)
    removed: set[FieldsetPath] = field(default_factory=set)


def owned(paths: Iterable[FieldsetPath]) -> Fields:
    """Returns the paths that managers can own, without names, versions and fields that only the server writes."""
    return frozenset(path for path in paths if path not in _UNOWNED and path[:2] != ("f:metadata", "f:managedFields"))


def named(document: Mapping[str, Any], shape: Shape) -> Fields:
    """The fields that a document of server-side apply names."""
    paths: set[FieldsetPath] = set()
    _named(document, shape, at=(), paths=paths)
    return owned(paths)


def _named(value: Plain, shape: Shape, *, at: FieldsetPath, paths: set[FieldsetPath]) -> None:
    if not merges(value, shape) or (not value and at):
        paths.add(at)
        return
    for element, member, inner in members(value, shape):
        path = (*at, element)
        undeclared = inner is None and isinstance(member, Mapping)
        if undeclared or not element.startswith("f:"):
            paths.add(path)
        _named(member, inner, at=path, paths=paths)


def differences(old: Plain, new: Plain, *, shape: Shape) -> Differences:
    """The fields that were added, changed and removed from `old` to `new`."""
    result = Differences()
    _compare(old, new, shape=shape, at=(), result=result)
    return result


def _compare(old: Plain, new: Plain, *, shape: Shape, at: FieldsetPath, result: Differences) -> None:
    if old is new:
        return
    if old is _MISSING or new is _MISSING:
        (result.added if old is _MISSING else result.removed).add(at)
    old_merges, new_merges = merges(old, shape), merges(new, shape)
    if not ((old_merges or old in (_MISSING, None)) and (new_merges or new in (_MISSING, None))):
        if old is not _MISSING and new is not _MISSING and not same(old, new):
            result.changed.add(at)
        return
    before = {element: (member, inner) for element, member, inner in (members(old, shape) if old_merges else ())}
    after = {element: (member, inner) for element, member, inner in (members(new, shape) if new_merges else ())}
    for element in before.keys() | after.keys():
        old_member, new_member = before.get(element), after.get(element)
        inner = (new_member or old_member or (None, None))[1]
        old_value, new_value = old_member[0] if old_member else _MISSING, new_member[0] if new_member else _MISSING
        _compare(old_value, new_value, shape=inner, at=(*at, element), result=result)


def same(one: Plain, other: Plain) -> bool:
    """Whether two values are equal as JSON; true is not 1."""
    return one == other and isinstance(one, bool) == isinstance(other, bool)


def merged(live: Plain, applied: Plain, *, shape: Shape) -> Plain:
    """Returns the live document with the fields of a server-side apply document set."""
    if not merges(applied, shape) or not merges(live, shape):
        return applied
    if isinstance(applied, Mapping):
        result = dict(live)
        for element, member, inner in members(applied, shape):
            key = element[2:]
            result[key] = merged(live[key], member, shape=inner) if key in live else member
        return result
    applied_members = {element: (member, inner) for element, member, inner in members(applied, shape)}
    items: list[Any] = []
    for element, member, inner in members(live, shape):
        items.append(
            merged(member, applied_members.pop(element)[0], shape=inner) if element in applied_members else member
        )
    return [*items, *(member for member, _ in applied_members.values())]


def with_parents(paths: Iterable[FieldsetPath]) -> set[FieldsetPath]:
    """The paths and everything above them."""
    return {path[:length] for path in paths for length in range(1, len(path) + 1)}


def without(value: Plain, shape: Shape, *, dropped: set[FieldsetPath], at: FieldsetPath = ()) -> Plain:
    """Returns the value without these paths; a removed map or list takes all its content along, also defaults."""
    if not merges(value, shape):
        return value
    remaining: list[tuple[str, Any]] = []
    for element, member, inner in members(value, shape):
        path = (*at, element)
        if path not in dropped:
            remaining.append((element, without(member, inner, dropped=dropped, at=path)))
    if isinstance(value, Mapping):
        return {element[2:]: member for element, member in remaining}
    return [member for _, member in remaining]


def to_wire(paths: Fields) -> dict[str, Any]:
    """The paths as fieldsV1."""
    tree: dict[str, Any] = {}
    for path in sorted(paths):
        node = tree
        for element in path:
            node = node.setdefault(element, {})
        node["."] = {}
    return _trimmed(tree)


def _trimmed(tree: dict[str, Any]) -> dict[str, Any]:
    """Returns the tree in which a field without members is `{}`."""
    return {key: {} if key == "." or inner.keys() == {"."} else _trimmed(inner) for key, inner in tree.items()}


def from_wire(tree: Mapping[str, Any], at: FieldsetPath = ()) -> set[FieldsetPath]:
    """The paths of a fieldsV1 document."""
    paths: set[FieldsetPath] = set()
    for key, inner in tree.items():
        if key == ".":
            paths.add(at)
        elif not inner:
            paths.add((*at, key))
        else:
            paths |= from_wire(inner, (*at, key))
    return paths


def shown(path: FieldsetPath) -> str:
    """Returns the path as a conflict message writes it, such as `.spec.containers[name="web"].image`."""
    return "".join(f".{element[2:]}" if element.startswith("f:") else f"[{_item(element)}]" for element in path)


def _item(element: str) -> str:
    if element.startswith("v:"):
        return f"={element[2:]}"
    return ",".join(part.replace('"', "", 2).replace(":", "=", 1) for part in element[3:-1].split(","))

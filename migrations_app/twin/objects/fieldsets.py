"""Sets of fields of an object: which ones a document names, and which differ between two documents.

Source: kubernetes-sigs/structured-merge-diff@v4.0.2:typed (tofieldset.go, merge.go, remove.go).
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from migrations_app.manifests.writer import Plain
from migrations_app.twin.objects.shapes import Shape, members, merges

Path = tuple[str, ...]
"""Path elements as in fieldsV1: `f:name` a field, `k:{...}` an item by its keys, `v:...` an item of a set."""
Fields = frozenset[Path]

_MISSING: Any = object()
_UNOWNED: frozenset[Path] = frozenset(
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

    added: set[Path] = field(default_factory=set)
    changed: set[Path] = field(default_factory=set)
    removed: set[Path] = field(default_factory=set)


def owned(paths: Iterable[Path]) -> Fields:
    """The paths that managers can own: not names, versions and what only the server writes."""
    return frozenset(path for path in paths if path not in _UNOWNED and path[:2] != ("f:metadata", "f:managedFields"))


def named(document: Mapping[str, Any], shape: Shape) -> Fields:
    """The fields that a document of server-side apply names."""
    found: set[Path] = set()
    _named(document, shape, at=(), found=found)
    return owned(found)


def _named(value: Plain, shape: Shape, *, at: Path, found: set[Path]) -> None:
    if not merges(value, shape) or (not value and at):
        found.add(at)
        return
    for element, held, inner in members(value, shape):
        path = (*at, element)
        undeclared = inner is None and isinstance(held, Mapping)
        if undeclared or not element.startswith("f:"):
            found.add(path)
        _named(held, inner, at=path, found=found)


def differences(old: Plain, new: Plain, *, shape: Shape) -> Differences:
    """The fields that were added, changed and removed from `old` to `new`."""
    found = Differences()
    _compare(old, new, shape=shape, at=(), found=found)
    return found


def _compare(old: Plain, new: Plain, *, shape: Shape, at: Path, found: Differences) -> None:
    if old is new:
        return
    if old is _MISSING or new is _MISSING:
        (found.added if old is _MISSING else found.removed).add(at)
    old_merges, new_merges = merges(old, shape), merges(new, shape)
    if not ((old_merges or old in (_MISSING, None)) and (new_merges or new in (_MISSING, None))):
        if old is not _MISSING and new is not _MISSING and not same(old, new):
            found.changed.add(at)
        return
    before = {element: (held, inner) for element, held, inner in (members(old, shape) if old_merges else ())}
    after = {element: (held, inner) for element, held, inner in (members(new, shape) if new_merges else ())}
    for element in before.keys() | after.keys():
        was, is_now = before.get(element), after.get(element)
        inner = (is_now or was or (None, None))[1]
        old_one, new_one = was[0] if was else _MISSING, is_now[0] if is_now else _MISSING
        _compare(old_one, new_one, shape=inner, at=(*at, element), found=found)


def same(one: Plain, other: Plain) -> bool:
    """Whether two values are equal as JSON; true is not 1."""
    return one == other and isinstance(one, bool) == isinstance(other, bool)


def merged(live: Plain, said: Plain, *, shape: Shape) -> Plain:
    """The live document with what a document of server-side apply says."""
    if not merges(said, shape) or not merges(live, shape):
        return said
    if isinstance(said, Mapping):
        found = dict(live)
        for element, held, inner in members(said, shape):
            key = element[2:]
            found[key] = merged(live[key], held, shape=inner) if key in live else held
        return found
    wanted = {element: (held, inner) for element, held, inner in members(said, shape)}
    items: list[Any] = []
    for element, held, inner in members(live, shape):
        items.append(merged(held, wanted.pop(element)[0], shape=inner) if element in wanted else held)
    return [*items, *(held for held, _ in wanted.values())]


def with_parents(paths: Iterable[Path]) -> set[Path]:
    """The paths and everything above them."""
    return {path[:length] for path in paths for length in range(1, len(path) + 1)}


def without(value: Plain, shape: Shape, *, dropped: set[Path], at: Path = ()) -> Plain:
    """The value without these paths; with a map or list goes all that is in it, also what a default filled in."""
    if not merges(value, shape):
        return value
    kept: list[tuple[str, Any]] = []
    for element, held, inner in members(value, shape):
        path = (*at, element)
        if path not in dropped:
            kept.append((element, without(held, inner, dropped=dropped, at=path)))
    if isinstance(value, Mapping):
        return {element[2:]: held for element, held in kept}
    return [held for _, held in kept]


def to_wire(paths: Fields) -> dict[str, Any]:
    """The paths as fieldsV1."""
    tree: dict[str, Any] = {}
    for path in sorted(paths):
        here = tree
        for element in path:
            here = here.setdefault(element, {})
        here["."] = {}
    return _trimmed(tree)


def _trimmed(tree: dict[str, Any]) -> dict[str, Any]:
    """The tree in which a field without members is `{}`."""
    return {key: {} if key == "." or inner.keys() == {"."} else _trimmed(inner) for key, inner in tree.items()}


def from_wire(tree: Mapping[str, Any], at: Path = ()) -> set[Path]:
    """The paths of a fieldsV1 document."""
    found: set[Path] = set()
    for key, inner in tree.items():
        if key == ".":
            found.add(at)
        elif not inner:
            found.add((*at, key))
        else:
            found |= from_wire(inner, (*at, key))
    return found


def shown(path: Path) -> str:
    """The path as a conflict names it, such as `.spec.containers[name="web"].image`."""
    return "".join(f".{one[2:]}" if one.startswith("f:") else f"[{_item(one)}]" for one in path)


def _item(element: str) -> str:
    if element.startswith("v:"):
        return f"={element[2:]}"
    return ",".join(part.replace('"', "", 2).replace(":", "=", 1) for part in element[3:-1].split(","))

"""Trees of Helm values: their dotted keys, changes of single values, and merging of files as Helm does."""

import copy
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from migrations_app.redaction import REMOVED, is_secret_name, redacted_tree

Tree = Mapping[str, Any]
_STEPS = re.compile(r"(?<!\\)\.")
"""Separator between the steps of a Helm key; a dot inside a step is escaped with a backslash."""
VARIABLES: Final = "controller.env"
FREE: Final = frozenset(
    {
        "additionalAnnotations",
        "additionalLabels",
        "controller.resources",
        "dnsConfig",
        "nodeSelector",
        "podAnnotations",
        "podLabels",
        "serviceAccount.annotations",
        "settings.aws.tags",
    }
)
"""Values whose content is defined by the user; each is treated as one value."""
MAX_DEPTH: Final = 40
MAX_TEXT: Final = 1024 * 1024
EMPTY: Final[tuple[Any, ...]] = (None, "", {}, [])
"""Values that count as not set."""


def steps_of(key: str) -> list[str]:
    """The steps of a dotted Helm key, with escaped dots unescaped."""
    return [step.replace("\\.", ".") for step in _STEPS.split(key)]


def key_of(steps: Iterable[str]) -> str:
    """The dotted Helm key of these steps."""
    return ".".join(step.replace(".", "\\.") for step in steps)


def laid(tree: Tree, changes: Iterable[tuple[str, str]], *, prune: bool = False) -> dict[str, Any]:
    """A copy of the tree with each key set to its value, which is JSON, or removed if that is empty.

    Maps that become empty stay, or are removed if `prune` is set.
    """
    after = copy.deepcopy(dict(tree))
    for key, text in changes:
        steps = steps_of(key)
        if text:
            _set(after, steps, value=json.loads(text))
        else:
            _take_out(after, steps, prune=prune)
    return after


def _set(tree: dict[str, Any], steps: list[str], *, value: object) -> None:
    *above, last = steps
    for step in above:
        if not isinstance(tree.get(step), dict):
            tree[step] = {}
        tree = tree[step]
    tree[last] = value


def _take_out(tree: dict[str, Any], steps: list[str], *, prune: bool) -> None:
    first, *rest = steps
    if not rest:
        tree.pop(first, None)
    elif isinstance(tree.get(first), dict):
        inner = tree[first]
        _take_out(inner, rest, prune=prune)
        if prune and not inner:
            del tree[first]


def value_of(tree: Tree, key: str) -> Any:  # noqa: ANN401 - Helm values are free JSON
    """The value at a dotted key; None if it is not set, because Helm treats null as not set."""
    node: Any = tree
    for step in steps_of(key):
        if not isinstance(node, Mapping):
            return None
        node = node.get(step)
    return node


def leaves(tree: Tree, *, empty: bool = False) -> dict[str, Any]:
    """The values by dotted key; null and empty ones only with `empty`. A value in FREE is one entry; a variable of the
    controller has the key `controller.env[NAME]`."""
    return {key: value for key, value in _leaves(tree, ()) if empty or value not in EMPTY}


def _leaves(tree: Tree, above: tuple[str, ...]) -> Iterator[tuple[str, Any]]:
    for name, value in tree.items():
        steps = (*above, name)
        key = key_of(steps)
        if key == VARIABLES and isinstance(value, list):
            yield from _variables(value)
        elif isinstance(value, Mapping) and value and key not in FREE and len(steps) < MAX_DEPTH:
            yield from _leaves(value, steps)
        else:
            yield key, value


def _variables(rows: list[Any]) -> Iterator[tuple[str, Any]]:
    for number, row in enumerate(rows):
        name = row.get("name") if isinstance(row, Mapping) else None
        if not isinstance(row, Mapping) or not isinstance(name, str):
            yield f"{VARIABLES}[{number}]", row
        else:
            yield f"{VARIABLES}[{name}]", row["value"] if set(row) == {"name", "value"} else row


def merged(under: dict[str, Any], over: dict[str, Any]) -> dict[str, Any]:
    """Merges two values files as Helm does: maps recursively, everything else is replaced. Null is kept, because it
    removes a default of the chart."""
    tree = dict(under)
    for key, value in over.items():
        old = tree.get(key)
        tree[key] = merged(old, value) if isinstance(old, dict) and isinstance(value, dict) else value
    return tree


def hidden(tree: Any) -> Any:  # noqa: ANN401 - any JSON
    """A copy without secrets: what redaction finds, and values of variables whose name indicates a secret."""
    return redacted_tree(_without_variables(tree), longest=MAX_TEXT)


def _without_variables(tree: Any, depth: int = 0) -> Any:  # noqa: ANN401 - any JSON
    if depth > MAX_DEPTH or not isinstance(tree, dict | list):
        return tree
    if isinstance(tree, list):
        return [_without_variables(value, depth + 1) for value in tree]
    name = tree.get("name")
    is_secret = isinstance(name, str) and isinstance(tree.get("value"), str) and is_secret_name(name)
    cleaned = {key: _without_variables(value, depth + 1) for key, value in tree.items()}
    return {**cleaned, "value": REMOVED} if is_secret else cleaned

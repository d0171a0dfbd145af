"""Parses JSON of a cluster or a file up to a fixed depth: newer Python versions parse deeper, and code that walks such
a value would exhaust the stack."""

import json
from collections.abc import Callable, Iterable
from typing import Any, Final

MAX_LEVELS: Final = 100
"""The most nested lists and objects; YAML manifests have the same limit."""


class NestedTooDeep(ValueError):
    """The value has more nested levels than MAX_LEVELS."""


def parse_json(text: str | bytes, *, pairs: Callable[[list[tuple[str, Any]]], Any] | None = None) -> Any:  # noqa: ANN401 - plain JSON
    """The parsed value. `pairs` makes each object, as in `json.loads`.

    Raises ValueError if the text is not JSON, and its subclass NestedTooDeep.
    """
    try:
        value = json.loads(text, object_pairs_hook=pairs)
    except RecursionError:
        raise NestedTooDeep(f"nested deeper than {MAX_LEVELS} levels") from None
    _refuse_depth(value)
    return value


def _refuse_depth(value: object) -> None:
    level = [value]
    for _ in range(MAX_LEVELS):
        level = [inner for item in level for inner in _inside(item) if isinstance(inner, dict | list)]
        if not level:
            return
    raise NestedTooDeep(f"nested deeper than {MAX_LEVELS} levels")


def _inside(item: object) -> Iterable[object]:
    if isinstance(item, dict):
        return item.values()
    return item if isinstance(item, list) else ()

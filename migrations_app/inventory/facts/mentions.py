"""Finds where the spec of an object that is kept whole names a key or an API version of Karpenter."""

import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from migrations_app.inventory.objects.base import WholeObject

MAX_DEPTH = 40
LONGEST_TEXT = 20_000
"""The most characters of a text that are searched, since policies contain long programs."""
_KEY = re.compile(r"(?<![\w.-])(?:[a-z0-9-]+\.)*karpenter\.(?:sh|k8s\.aws)/[A-Za-z0-9][\w.-]*", re.ASCII)


class KeyMention(NamedTuple):
    """`path` is a field path; `key` is a label, annotation or taint such as karpenter.sh/nodepool, or a group and
    version.
    """

    path: str
    key: str


def mentions(whole_object: WholeObject) -> tuple[KeyMention, ...]:
    """Every key, each once with the first path that names it, in the order of the fields."""
    by_key: dict[str, KeyMention] = {}
    for path, text in _texts(whole_object.spec, "spec", depth=0):
        for key in _KEY.findall(text[:LONGEST_TEXT]):
            by_key.setdefault(key, KeyMention(path, key.rstrip(".-")))
    return tuple(by_key.values())


def _texts(value: Any, path: str, *, depth: int) -> Iterator[tuple[str, str]]:  # noqa: ANN401 - plain JSON
    if depth > MAX_DEPTH:
        return
    if isinstance(value, str):
        yield path, value
    elif isinstance(value, dict):
        for key, inner in value.items():
            below = f"{path}[{key}]" if "." in key or "/" in key else f"{path}.{key}"
            yield below, key
            yield from _texts(inner, below, depth=depth + 1)
    elif isinstance(value, list):
        for place, inner in enumerate(value):
            yield from _texts(inner, f"{path}[{place}]", depth=depth + 1)

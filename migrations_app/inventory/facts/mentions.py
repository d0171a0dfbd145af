"""Finds where the spec of an object that is kept whole names a key, an API version or a kind of Karpenter."""

import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from migrations_app.inventory.objects.base import WholeObject
from migrations_app.karpenter.kinds import Kind, find

MAX_DEPTH = 40
LONGEST_TEXT = 20_000
"""The most characters of a text that are searched, since policies contain long programs."""
_KEY = re.compile(r"(?<![\w.-])(?:[a-z0-9-]+\.)*karpenter\.(?:sh|k8s\.aws)/[A-Za-z0-9][\w.-]*", re.ASCII)


_ANY_VERSION = re.compile(r"([a-z0-9.-]+)/\*/([A-Za-z0-9]+)", re.ASCII)


class KeyMention(NamedTuple):
    """`path` is a field path; `key` is a label, annotation or taint such as karpenter.sh/nodepool, or a group and
    version.
    """

    path: str
    key: str


class KindMatch(NamedTuple):
    """A kind of Karpenter that a policy matches in every version. `text` is what is there: `karpenter.sh/*/Machine`, or
    the kind alone."""

    path: str
    text: str
    kind: Kind


def matched_kinds(whole_object: WholeObject) -> tuple[KindMatch, ...]:
    """The kinds that Kyverno's `group/*/kind` and Gatekeeper's lists of groups and kinds match."""
    return tuple(_matches(whole_object.spec, "spec", depth=0))


def _matches(value: Any, path: str, *, depth: int) -> Iterator[KindMatch]:  # noqa: ANN401 - plain JSON
    if depth > MAX_DEPTH:
        return
    if isinstance(value, dict):
        for place, name in enumerate(_strings(value.get("kinds"))):
            found = (find(name, group=group) for group in _strings(value.get("apiGroups")))
            yield from (KindMatch(f"{path}.kinds[{place}]", name, kind) for kind in found if kind)
        for key, inner in value.items():
            yield from _matches(inner, f"{path}.{key}", depth=depth + 1)
    elif isinstance(value, list):
        for place, inner in enumerate(value):
            yield from _matches(inner, f"{path}[{place}]", depth=depth + 1)
    elif isinstance(value, str) and (match := _ANY_VERSION.fullmatch(value)):
        kind = find(match[2], group=match[1])
        yield from (KindMatch(path, value, kind),) if kind else ()


def _strings(value: object) -> list[str]:
    """The list, with empty text in the place of what is no text; empty for anything else."""
    return [one if isinstance(one, str) else "" for one in value] if isinstance(value, list) else []


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

"""API documents to projections. One bad object is quarantined; its list goes on (K12, K18, T07)."""

import re
from collections.abc import Callable, Iterable
from functools import cache
from typing import TypeVar

import msgspec

from migrations_app.inventory.keys import LAST_APPLIED, kept_on_node
from migrations_app.inventory.last_applied import applied_version
from migrations_app.inventory.objects import Metadata, Named, Node, WholeObject
from migrations_app.inventory.seen import NO_NAME, Quarantined

LONGEST_OBJECT = 2 * 1024 * 1024
"""An API server refuses objects above its request limit of 1.5 MiB by default; a longer one is not a real object."""
_UNSTORABLE = re.compile(rb"\\u(?:0000|[dD][89a-fA-F][0-9a-fA-F]{2})")
_SURROGATE_PAIR = re.compile(rb"\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}")
_REPLACEMENT = rb"\\ufffd"

N = TypeVar("N", bound=Named)


@cache
def decoder(kind: type[N]) -> "msgspec.json.Decoder[N]":
    """The decoder of a projection; made once a process."""
    return msgspec.json.Decoder(kind)


def read_items(raw: Iterable[msgspec.Raw], kind: type[N]) -> tuple[list[N], list[Quarantined]]:
    """The objects that could be read, and those that could not with the field that is wrong."""
    good: list[N] = []
    bad: list[Quarantined] = []
    take = decoder(kind).decode
    for item in raw:
        found = read_one(item, kind, take=take)
        if isinstance(found, Quarantined):
            bad.append(found)
        else:
            good.append(found)
    return good, bad


def read_one(item: msgspec.Raw, kind: type[N], *, take: Callable[[bytes], N]) -> N | Quarantined:
    """One object, cleaned; Quarantined when it is too long, of wrong types, or has no name."""
    body = bytes(item)
    if len(body) > LONGEST_OBJECT:
        return _quarantine(body, kind, problem=f"$: object of {len(body)} bytes is too large")
    try:
        found = take(_storable(body))
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError) as wrong:
        return _quarantine(body, kind, problem=str(wrong))
    if not found.metadata.name:
        return _quarantine(body, kind, problem="missing - at `$.metadata.name`")
    return _lean(found)


def _storable(body: bytes) -> bytes:
    """NUL and lone surrogates become U+FFFD: PostgreSQL refuses both in text, and no name may hold them."""
    if b"\\u" not in body or not _UNSTORABLE.search(body):
        return body
    return b"".join(_cleaned(body))


def _cleaned(body: bytes) -> Iterable[bytes]:
    start = 0
    for pair in _SURROGATE_PAIR.finditer(body):
        yield _UNSTORABLE.sub(_REPLACEMENT, body[start : pair.start()])
        yield pair.group()
        start = pair.end()
    yield _UNSTORABLE.sub(_REPLACEMENT, body[start:])


class _Identity(msgspec.Struct):
    metadata: Metadata = Metadata()


def _quarantine(body: bytes, kind: type[Named], *, problem: str) -> Quarantined:
    path = problem.rpartition("at `")[2].rstrip("`") if "at `" in problem else "$"
    try:
        metadata = msgspec.json.decode(body, type=_Identity).metadata
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
        metadata = Metadata()
    name, namespace = metadata.name[:253], (metadata.namespace or "")[:253]
    return Quarantined(kind.__name__, namespace, name or NO_NAME, path[:200], problem.partition(" - at")[0][:200])


def _lean(found: N) -> N:
    """Without what is never asked for: the last applied text may hold secrets and doubles the size (T23)."""
    metadata = found.metadata
    if isinstance(found, Node):
        return msgspec.structs.replace(found, metadata=_node_metadata(metadata))
    if metadata.annotations and LAST_APPLIED in metadata.annotations:
        rest = {key: value for key, value in metadata.annotations.items() if key != LAST_APPLIED}
        if isinstance(found, WholeObject):
            rest[LAST_APPLIED] = applied_version(metadata.annotations[LAST_APPLIED])
        return msgspec.structs.replace(found, metadata=msgspec.structs.replace(metadata, annotations=rest))
    return found


def _node_metadata(metadata: Metadata) -> Metadata:
    return msgspec.structs.replace(
        metadata,
        labels={k: v for k, v in (metadata.labels or {}).items() if kept_on_node(k)},
        annotations={k: v for k, v in (metadata.annotations or {}).items() if kept_on_node(k)},
        managed_fields=None,
    )

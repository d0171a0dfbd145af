"""Proves that a list holds what it held at an earlier resource version, by a watch from that version without events.

A bookmark means that the server has sent every change up to the version of the bookmark. So the proof is a bookmark
at or after a version that was current when the proof began, and no event before it. If the current version is the
earlier one, nothing was written at all: no watch is needed, and a server without events would send no bookmark.
Everything else is no proof: an event, 410, an end without such a bookmark, an answer that cannot be understood.
"""

import re
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial

import msgspec

from migrations_app.clients.kubernetes.api import Resource
from migrations_app.clients.kubernetes.transport import Transport
from migrations_app.errors import InvalidResponse

SLACK = 5.0
"""Seconds that the answer may take longer than the watch was requested to last."""
NO_OBJECT = "metadata.name=karpdash.io.nobody"
_NUMBER = re.compile(r"[1-9][0-9]{0,18}")


class _ListState(msgspec.Struct, frozen=True):
    resource_version: str = msgspec.field(default="", name="resourceVersion")
    remaining: int | None = msgspec.field(default=None, name="remainingItemCount")
    token: str = msgspec.field(default="", name="continue")


class _FirstPage(msgspec.Struct, frozen=True):
    metadata: _ListState
    items: list[msgspec.Raw]


class _SeenObject(msgspec.Struct, frozen=True):
    metadata: _ListState = _ListState()


class _WatchEvent(msgspec.Struct, frozen=True):
    type: str
    object: _SeenObject = _SeenObject()


_lists = msgspec.json.Decoder(_FirstPage)
_events = msgspec.json.Decoder(_WatchEvent)


def is_unchanged(transport: Transport, resource: Resource, *, since: str, count: int, seconds: int) -> bool:
    """Whether the server proves it within `seconds`, at least three. `count` is the former number of objects.

    Raises ReadError if the server refuses or cannot be understood, which is no proof either.
    """
    state, current_count = _current(transport, resource)
    start_version, current_version = _number(since), _number(state.resource_version)
    # A version that went back belongs to another history: etcd was restored from a backup.
    if current_version < start_version or current_count != count:
        return False
    if current_version == start_version:
        return True  # nothing at all was written since: etcd counts each write, of whatever kind
    query = {
        "watch": "1",
        "resourceVersion": since,
        "allowWatchBookmarks": "true",
        "timeoutSeconds": str(seconds),
    }
    with _requesting_progress(transport, resource, version=state.resource_version):
        look = partial(_event_proof, version=current_version)
        return transport.watch(resource.path, list(query.items()), seconds=seconds + SLACK, find=look) is True


def _current(transport: Transport, resource: Resource) -> tuple[_ListState, int | None]:
    """The current state of the list, and the number of its objects if the server says it. Sent once: without a proof,
    the list is read anyway, with its own tries.
    """
    body = transport.get(resource.path, [("limit", "1")], verb="list", tries=1).body
    try:
        shortest = _lists.decode(body)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
        raise InvalidResponse(f"the list of {resource.plural} is not a valid answer of an API server") from None
    if shortest.metadata.token and shortest.metadata.remaining is None:
        return shortest.metadata, None
    return shortest.metadata, len(shortest.items) + (shortest.metadata.remaining or 0)


@contextmanager
def _requesting_progress(transport: Transport, resource: Resource, *, version: str) -> Iterator[None]:
    """During the watch, requests an empty list that is not older than the version: newer servers then ask etcd for its
    progress at once, while others wait for etcd's periodic progress. The answer is not used.
    """
    query = [("fieldSelector", NO_OBJECT), ("resourceVersion", version), ("resourceVersionMatch", "NotOlderThan")]
    pool = ThreadPoolExecutor(1, thread_name_prefix="hurry")
    pool.submit(transport.get, resource.path, query, verb="list", tries=1)
    try:
        yield
    finally:
        pool.shutdown(wait=False, cancel_futures=True)


def _event_proof(line: bytes, *, version: int) -> bool | None:
    """True for a bookmark of that version or a later one, None for an earlier one, False for anything else."""
    try:
        event = _events.decode(line)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
        return False
    if event.type != "BOOKMARK" or not _NUMBER.fullmatch(event.object.metadata.resource_version):
        return False
    return True if int(event.object.metadata.resource_version) >= version else None


def _number(version: str) -> int:
    """The number of an etcd version. Raises InvalidResponse for other text, since nothing can be compared then."""
    if not _NUMBER.fullmatch(version):
        raise InvalidResponse("the server's resource versions are not numbers")
    return int(version)

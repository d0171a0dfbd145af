"""Keyset pagination: cursors as opaque texts of sort keys, validated when they are read, and pages as values."""

import base64
import binascii
import json
import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Generic, TypeAlias, TypeVar

from migrations_app.errors import InvalidInput

SortKey: TypeAlias = str | int
MAX_CURSOR_LENGTH = 1500


def encode(keys: Sequence[SortKey]) -> str:
    """The cursor for these keys, safe in a query string."""
    packed = json.dumps(list(keys), separators=(",", ":"), ensure_ascii=False).encode()
    return base64.urlsafe_b64encode(packed).decode().rstrip("=")


def decode(text: str, kinds: Sequence[type[SortKey]]) -> tuple[SortKey, ...] | None:
    """The keys of a cursor, checked against the expected types; None if it is empty or invalid."""
    if not text or len(text) > MAX_CURSOR_LENGTH:
        return None
    try:
        keys = json.loads(base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)))
    except (binascii.Error, ValueError, RecursionError):
        return None
    if not isinstance(keys, list) or [type(key) for key in keys] != list(kinds):
        return None
    return tuple(keys)


Row = TypeVar("Row")
Source = TypeVar("Source")


@dataclass(frozen=True, slots=True)
class Page(Generic[Row]):
    """One page; `next_cursor` is empty on the last page."""

    rows: tuple[Row, ...]
    next_cursor: str


def page_of(
    sources: Sequence[Source], *, limit: int, row: Callable[[Source], Row], key: Callable[[Source], str]
) -> Page[Row]:
    """The page from `limit + 1` rows: the extra row shows that there is a next page."""
    following = key(sources[limit - 1]) if len(sources) > limit else ""
    return Page(tuple(row(source) for source in sources[:limit]), following)


def keys_of(text: str, kinds: Sequence[type[SortKey]]) -> tuple[SortKey, ...] | None:
    """The keys of a cursor; None for an empty one. Raises InvalidInput `bad_cursor` for an invalid one."""
    if not text:
        return None
    keys = decode(text, kinds)
    if keys is None:
        raise InvalidInput("is no cursor of this list", where="cursor", code="bad_cursor")
    return keys


def moment_and_id(text: str) -> tuple[datetime, uuid.UUID] | None:
    """The cursor keys of a list ordered by time and id; None for an empty one. Raises InvalidInput `bad_cursor`."""
    keys = keys_of(text, (str, str))
    if keys is None:
        return None
    try:
        when, last = datetime.fromisoformat(str(keys[0])), uuid.UUID(str(keys[1]))
    except ValueError:
        raise InvalidInput("is no cursor of this list", where="cursor", code="bad_cursor") from None
    if when.tzinfo is None:
        raise InvalidInput("is no cursor of this list", where="cursor", code="bad_cursor")
    return when, last

"""Keyset pages as values, for lists that tools walk through."""

import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Generic, TypeVar

from migrations_app.errors import BadInput
from migrations_app.queries import cursor
from migrations_app.queries.cursor import Key

Row = TypeVar("Row")
Source = TypeVar("Source")


@dataclass(frozen=True, slots=True)
class Page(Generic[Row]):
    """`next_cursor` is empty on the last page."""

    rows: tuple[Row, ...]
    next_cursor: str


def page_of(
    found: Sequence[Source], *, limit: int, row: Callable[[Source], Row], key: Callable[[Source], str]
) -> Page[Row]:
    """The page out of `limit + 1` rows that were asked for: the one too many tells that there is more."""
    following = key(found[limit - 1]) if len(found) > limit else ""
    return Page(tuple(row(one) for one in found[:limit]), following)


def keys_of(text: str, kinds: Sequence[type[Key]]) -> tuple[Key, ...] | None:
    """The keys of a cursor; None for an empty one. Raises BadInput for one that we did not give out."""
    if not text:
        return None
    keys = cursor.decode(text, kinds)
    if keys is None:
        raise BadInput("is no cursor of this list", where="cursor", code="bad_cursor")
    return keys


def moment_and_id(text: str) -> tuple[datetime, uuid.UUID] | None:
    """The keys of a list that is ordered by a moment and then by id. Raises BadInput."""
    keys = keys_of(text, (str, str))
    if keys is None:
        return None
    try:
        when, last = datetime.fromisoformat(str(keys[0])), uuid.UUID(str(keys[1]))
    except ValueError:
        raise BadInput("is no cursor of this list", where="cursor", code="bad_cursor") from None
    if when.tzinfo is None:
        raise BadInput("is no cursor of this list", where="cursor", code="bad_cursor")
    return when, last

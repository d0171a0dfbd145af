"""Sorted lists: the columns that a list can be sorted by, and the rows after a cursor.

A cursor contains the name of its order and the sort keys of the last row. It is not valid for another order.
"""

import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, TypeAlias, TypeVar

from django.db.models import Case, F, IntegerField, Model, Q, QuerySet, Value, When

from migrations_app.errors import InvalidInput
from migrations_app.queries import pagination
from migrations_app.queries.pagination import Page, SortKey, keys_of, page_of

KeyType: TypeAlias = type[str] | type[int] | type[datetime] | type[uuid.UUID]
Listed = TypeVar("Listed", bound=Model)
Line = TypeVar("Line")


@dataclass(frozen=True, slots=True)
class SortColumn:
    """A column or annotation that is never null. `kind` is the type of its values."""

    name: str
    kind: KeyType = str
    descending: bool = False


@dataclass(frozen=True, slots=True)
class SortOrder:
    """The columns that rows are sorted by, the first one first; the last one is unique."""

    name: str
    columns: tuple[SortColumn, ...]


def orders(columns: Mapping[str, SortColumn], *ties: SortColumn) -> Mapping[str, SortOrder]:
    """The orders of a list by name, and each with a minus before the name for the reverse order of its first column.

    Rows with equal values in that column are sorted by `ties`, in the same direction in both.
    """
    by_name: dict[str, SortOrder] = {}
    for name, first in columns.items():
        rest = tuple(column for column in ties if column.name != first.name)
        for sign, column in (("", first), ("-", replace(first, descending=not first.descending))):
            by_name[f"{sign}{name}"] = SortOrder(f"{sign}{name}", (column, *rest))
    return by_name


def rank(column: str, values: Sequence[str]) -> Case:
    """The index of the column's value in `values`; -1 for any other value."""
    places = [When(Q(**{column: value}), then=Value(place)) for place, value in enumerate(values)]
    return Case(*places, default=Value(-1), output_field=IntegerField())


def order_of(known: Mapping[str, SortOrder], name: str) -> SortOrder:
    """The order of that name. Raises InvalidInput for a name that the list does not have."""
    if name not in known:
        raise InvalidInput("this list has no such order", where="ordering")
    return known[name]


def sorted_page(
    rows: QuerySet[Listed, Any],
    order: SortOrder,
    *,
    after: str,
    limit: int,
    row: Callable[[Any], Line],
) -> Page[Line]:
    """One page in that order, after the cursor. Raises InvalidInput `bad_cursor` for a cursor of another order."""
    keys = _keys(after, order)
    if keys is not None:
        rows = rows.filter(_beyond(order.columns, keys))
    by = [F(column.name).desc() if column.descending else F(column.name).asc() for column in order.columns]
    return page_of(list(rows.order_by(*by)[: limit + 1]), limit=limit, row=row, key=lambda last: _cursor(last, order))


def _beyond(columns: tuple[SortColumn, ...], keys: Sequence[Any]) -> Q:
    """Condition for the rows after these keys: greater in the first column, or equal there and after them in the
    others.
    """
    column, key = columns[0], keys[0]
    further = Q(**{f"{column.name}__{'lt' if column.descending else 'gt'}": key})
    return further | (Q(**{column.name: key}) & _beyond(columns[1:], keys[1:])) if len(columns) > 1 else further


def _cursor(row: Any, order: SortOrder) -> str:  # noqa: ANN401 - a model with annotations, or a dict of its columns
    values = [row[column.name] if isinstance(row, dict) else getattr(row, column.name) for column in order.columns]
    return pagination.encode((order.name, *(_packed(value) for value in values)))


def _packed(value: Any) -> SortKey:  # noqa: ANN401 - what the column holds
    if isinstance(value, datetime):
        return value.isoformat()
    return value if isinstance(value, int) else str(value)


def _keys(text: str, order: SortOrder) -> tuple[Any, ...] | None:
    kinds = tuple(int if column.kind is int else str for column in order.columns)
    packed = keys_of(text, (str, *kinds))
    if packed is None:
        return None
    try:
        keys = tuple(_unpacked(key, column.kind) for key, column in zip(packed[1:], order.columns, strict=True))
    except ValueError:
        raise _bad_cursor() from None
    if packed[0] != order.name:
        raise _bad_cursor()
    return keys


def _unpacked(key: SortKey, kind: KeyType) -> Any:  # noqa: ANN401 - what the column holds
    """The value of a packed key. Raises ValueError."""
    if kind is uuid.UUID:
        return uuid.UUID(str(key))
    if kind is not datetime:
        return key
    moment = datetime.fromisoformat(str(key))
    if moment.tzinfo is None:
        raise ValueError(key)
    return moment


def _bad_cursor() -> InvalidInput:
    return InvalidInput("is no cursor of this list", where="cursor", code="bad_cursor")

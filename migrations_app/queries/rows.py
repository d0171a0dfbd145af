"""Makes dataclasses for pages, API and command line from database rows."""

from dataclasses import fields
from typing import Any, TypeVar

S = TypeVar("S")


def from_row(kind: type[S], row: Any, **others: Any) -> S:  # noqa: ANN401 - a model instance with its annotations, and values of any field
    """The dataclass with the row's attributes of the same names; `others` are fields that are computed or have another
    name. Raises AttributeError for a field that the row does not have.
    """
    return kind(**{name: getattr(row, name) for name in _names(kind) if name not in others}, **others)


def _names(kind: Any) -> list[str]:  # noqa: ANN401 - a dataclass
    return [each.name for each in fields(kind)]

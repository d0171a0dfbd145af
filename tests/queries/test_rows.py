"""Structs are filled from rows by name, and a name that the row does not have is an error."""

from dataclasses import dataclass
from types import SimpleNamespace

import pytest

from migrations_app.queries.rows import from_row


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    id: int
    name: str
    team: str = ""


def test_names_of_the_struct_come_from_the_row_and_the_others_are_given() -> None:
    row = SimpleNamespace(id=7, name="shop", team="not asked", more="not there")
    assert from_row(Shown, row, team="night") == Shown(id=7, name="shop", team="night")


def test_a_default_never_stands_for_a_missing_attribute() -> None:
    with pytest.raises(AttributeError, match="team"):
        from_row(Shown, SimpleNamespace(id=7, name="shop"))


def test_a_name_that_is_no_field_is_refused() -> None:
    with pytest.raises(TypeError, match="tam"):
        from_row(Shown, SimpleNamespace(id=7, name="shop", team=""), tam="night")

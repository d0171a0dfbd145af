"""Cursors come back as they were, and what is not ours is nothing."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from migrations_app.queries import pagination


@given(st.tuples(st.integers(-(2**53), 2**53), st.text(max_size=60), st.text(max_size=60)))
def test_round_trip(keys):
    assert pagination.decode(pagination.encode(keys), (int, str, str)) == keys


@given(st.text(max_size=200))
def test_any_text_is_harmless(text):
    found = pagination.decode(text, (int, str))
    assert found is None or (isinstance(found[0], int) and isinstance(found[1], str))


@pytest.mark.parametrize(
    "text",
    [
        "",
        "!!!!",
        "W10",
        pagination.encode(("a", 1)),
        pagination.encode((1,)),
        pagination.encode((1, "a", "b")),
        pagination.encode((True, "a")),
        pagination.encode((1, "a")) * 300,
        "eyJhIjoxfQ",
        "W1tbW1tbW1tb",
    ],
)
def test_foreign_cursors_are_none(text):
    assert pagination.decode(text, (int, str)) is None

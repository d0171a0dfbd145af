"""JSON of strangers is read to the same depth by every Python."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from migrations_app.manifests.nesting import MAX_LEVELS, NestedTooDeep, parse_json

PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=20,
)


def lists(levels: int) -> str:
    return "[" * levels + "]" * levels


def objects(levels: int) -> str:
    return '{"a":' * levels + "1" + "}" * levels


@pytest.mark.parametrize("nested", [lists, objects])
def test_the_limit_is_read_and_one_level_more_is_not(nested):
    assert parse_json(nested(MAX_LEVELS)) == json.loads(nested(MAX_LEVELS))
    with pytest.raises(NestedTooDeep):
        parse_json(nested(MAX_LEVELS + 1))


@pytest.mark.parametrize("levels", [1_000, 50_000, 500_000])
def test_any_depth_is_refused_with_a_reason(levels):
    with pytest.raises(NestedTooDeep, match=f"deeper than {MAX_LEVELS} levels"):
        parse_json(f'{{"shallow": 1, "deep": {lists(levels)}}}')


def test_what_is_no_json_says_where():
    with pytest.raises(json.JSONDecodeError, match="line 2"):
        parse_json('{"a":\n,}')


def test_objects_are_made_by_the_caller():
    assert parse_json('{"a": {"b": 1, "b": 2}}', pairs=list) == [("a", [("b", 1), ("b", 2)])]


@given(PLAIN)
def test_the_rest_is_read_as_ever(value):
    assert parse_json(json.dumps(value)) == value

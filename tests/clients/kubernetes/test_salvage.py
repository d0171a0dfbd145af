"""K12: one object that breaks the decoder never takes its list along."""

import json

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from migrations_app.clients.kubernetes.salvage import parsable_items

plain = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4),
    max_leaves=12,
)


@given(st.lists(plain, max_size=5), st.dictionaries(st.text(max_size=5), plain, max_size=3), st.sampled_from([None, 1]))
def test_a_good_list_is_cut_as_the_decoder_cuts_it(items: list[object], more: dict[str, object], indent: int) -> None:
    more.pop("items", None)
    body = json.dumps(more | {"kind": "List", "items": items, "z": [{"items": [1]}]}, indent=indent).encode()
    found = parsable_items(body)
    assert found is not None
    shell, raws = found
    assert [json.loads(bytes(raw)) for raw in raws] == items
    assert json.loads(shell) == more | {"kind": "List", "items": [], "z": [{"items": [1]}]}


def test_a_broken_item_is_cut_out_whole() -> None:
    deep = b"[" * 3000 + b"]" * 3000
    found = parsable_items(b'{"items": [{"a": 1}, ' + deep + b', {"b": "\\ud800"}], "kind": "List"}')
    assert found == (
        b'{"items": [], "kind": "List"}',
        [msgspec.Raw(b'{"a": 1}'), msgspec.Raw(deep), msgspec.Raw(b'{"b": "\\ud800"}')],
    )


@pytest.mark.parametrize(
    "body", [b"", b"[]", b"{}", b'{"items": {}}', b'{"items": [', b'{"a": {"items": [1]}}', b'"items": [1]']
)
def test_what_is_no_list_is_told(body: bytes) -> None:
    assert parsable_items(body) is None


@given(st.binary(max_size=200))
def test_any_bytes_end_in_a_result(body: bytes) -> None:  # K18
    found = parsable_items(b'{"items":[' + body)
    assert found is None or found[0].startswith(b'{"items":[]')

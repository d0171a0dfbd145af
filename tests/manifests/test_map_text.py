"""Keys of a YAML map set, moved and taken out in its text: comments stay, and the text reads as it should."""

import json
from typing import Any

import yaml
from hypothesis import given
from hypothesis import strategies as st

from migrations_app.manifests.map_text import MapEdit, edited

TEXT = """\
# head
a:
  # of b
  b: 1  # behind b
  c:
  - x
  # of d

# of e
e: |
  # no comment
  text
f: {g: 1}
"""


def test_a_key_is_taken_out_with_its_reason_in_its_place() -> None:
    after = edited(TEXT, [MapEdit(("a", "c"), "", "not read\nany more")], expected=taken_out("a", "c"))
    assert after == TEXT.replace("  c:\n  - x\n", "  # a.c: not read any more\n")


def test_a_moved_key_takes_its_comments_along() -> None:
    edits = [MapEdit(("a", "b"), ""), MapEdit(("e2", "b"), "1", "", ("a", "b"))]
    wanted = {**taken_out("a", "b"), "e2": {"b": 1}}
    assert (
        edited(TEXT, edits, expected=wanted)
        == """\
# head
a:
  c:
  - x
  # of d

# of e
e: |
  # no comment
  text
f: {g: 1}
# of b
# behind b
e2:
  b: 1
"""
    )


def test_the_last_key_takes_its_map_along() -> None:
    after = edited("a:\n  b:\n    # why\n    c: 1\nd: 2\n", [MapEdit(("a", "b", "c"), "", "gone")], expected={"d": 2})
    assert after == "# why\n# a.b.c: gone\nd: 2\n"


def test_what_is_not_written_one_key_a_line_is_left_to_the_caller() -> None:
    assert edited("{a: 1, b: 2}\n", [MapEdit(("a",), "")], expected={"b": 2}) is None
    assert edited(TEXT, [MapEdit(("f", "g"), "")], expected=taken_out("f", "g")) is None
    assert edited(TEXT, [MapEdit(("f", "h"), "1")], expected={}) is None
    assert edited("? a\n: 1\nb: 2\n", [MapEdit(("a",), "")], expected={"b": 2}) is None


def test_a_text_that_would_read_otherwise_is_never_given_back() -> None:
    assert edited(TEXT, [MapEdit(("a", "b"), "2")], expected={"a": 3}) is None


def taken_out(*steps: str) -> dict[str, Any]:
    tree: dict[str, Any] = yaml.safe_load(TEXT)
    holder = tree
    for step in steps[:-1]:
        holder = holder[step]
    del holder[steps[-1]]
    return tree


keys = st.sampled_from(["a", "b", "c d", "e.f", "#", "on", "1", "- x", "'", "ä"])
values = st.recursive(
    st.one_of(st.booleans(), st.integers(), st.text(max_size=8), st.none()),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(keys, inner, max_size=3),
    max_leaves=8,
)
maps = st.dictionaries(keys, values, min_size=1, max_size=4)


@given(maps, keys, values)
def test_the_text_reads_as_the_map_after_the_edit_or_there_is_none(tree: Any, key: str, value: Any) -> None:
    text = yaml.safe_dump(tree, allow_unicode=True)
    wanted = {**tree, key: value}
    after = edited(text, [MapEdit((key,), json.dumps(value))], expected=wanted)
    assert after is None or yaml.safe_load(after) == wanted

import json

from hypothesis import given
from hypothesis import strategies as st

from migrations_app.readiness.outputs.plain import escaped_json, plain, plain_lines


def test_controls_and_bidi_marks_become_visible() -> None:
    assert plain("a\x1b[31m\x00\u202eb\nc") == r"a\x1b[31m\x00\u202eb\nc"


def test_plain_text_stays_itself() -> None:
    assert plain("Zürich node-1 ✓") == "Zürich node-1 ✓"


def test_lines_are_kept_and_tabs_become_blanks() -> None:
    assert plain_lines("a:\n\tb\x07") == "a:\n    b\\x07"


@given(st.text(st.characters()))
def test_no_invisible_character_is_left(text: str) -> None:
    assert plain(text).isprintable()


@given(st.text(st.characters(codec="utf-8")))
def test_escaped_json_reads_back_as_the_same_value(text: str) -> None:
    written = json.dumps({"t": text}, ensure_ascii=False)
    assert json.loads(escaped_json(written)) == {"t": text}


def test_escaped_json_writes_pairs_beyond_the_basic_plane() -> None:
    assert escaped_json('"\U000e0001\x85"') == r'"\udb40\udc01\u0085"'

"""Texts of other people are readable and cannot lie about what they say."""

import unicodedata
from datetime import UTC, datetime, timedelta

import pytest
import time_machine
from hypothesis import given
from hypothesis import strategies as st

from migrations_app.templatetags.formatting import (
    INVISIBLE,
    ago,
    as_moment,
    breakable,
    every,
    on,
    relative,
    short_version,
    shown,
    shown_block,
    signed,
    thousands,
)

NOW = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "seen"),
    [
        ("plain-name.example/x:1", "plain-name.example/x:1"),
        ("caf\u00e9 \u65e5\u672c", "caf\u00e9 \u65e5\u672c"),
        ("pay\u202emoc.live", "pay\\u202emoc.live"),
        ("a\u200bb", "a\\u200bb"),
        ("a\x00b\x1b[31mc", "a\\x00b\\x1b[31mc"),
        ("a\u00a0b", "a\\xa0b"),
        ("a\nb\tc", "a\\x0ab\\x09c"),
        ("\u2066x\u2069", "\\u2066x\\u2069"),
        ("\U000e0041", "\\ue0041"),
        (7, "7"),
    ],
)
def test_invisible_characters_stand_as_escapes(text, seen):
    assert shown(text) == seen


@given(st.text())
def test_nothing_invisible_is_left(text):
    assert not [char for char in shown(text) if unicodedata.category(char) in INVISIBLE]


@given(st.text(alphabet=st.characters(categories=["L", "N", "P", "S"], exclude_characters="\u2800\u3164")))
def test_visible_text_is_not_touched(text):
    assert shown(text) == text


def test_blocks_keep_lines_and_tabs():
    assert shown_block("a:\n\tb: \u202ec\r\n") == "a:\n\tb: \\u202ec\\x0d\n"


def test_breaks_stand_after_separators_and_escape():
    assert breakable("a.b/<c>=[1]") == "a.<wbr>b/<wbr>&lt;c&gt;=<wbr>[<wbr>1]"
    assert breakable("x\u202ey") == "x\\u202ey"


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (0, "just now"),
        (44, "just now"),
        (-3, "in a moment"),
        (45, "45 seconds ago"),
        (60, "1 minute ago"),
        (150, "3 minutes ago"),
        (3600, "1 hour ago"),
        (-7200, "in 2 hours"),
        (86400, "1 day ago"),
        (10 * 86400, "10 days ago"),
    ],
)
def test_relative_words(seconds, words):
    assert relative(timedelta(seconds=seconds)) == words


def test_a_time_carries_the_exact_one():
    with time_machine.travel(NOW, tick=False):
        html = ago(NOW - timedelta(minutes=5))
    marks = 'datetime="2026-11-21T11:55:00+00:00" title="21 Nov 2026, 11:55:00 UTC" data-relative'
    assert html == f"<time {marks}>5 minutes ago</time>"
    assert on(NOW) == '<time datetime="2026-11-21T12:00:00+00:00">21 Nov 2026, 12:00 UTC</time>'
    assert (ago(None), ago(None, "not yet")) == ("never", "not yet")


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (None, ""),
        (0, ""),
        (3600, "every hour"),
        (7200, "every 2 hours"),
        (86400, "every day"),
        (90, "every 90 seconds"),
    ],
)
def test_intervals(seconds, words):
    assert every(seconds) == words


def test_numbers():
    assert [signed(n) for n in (None, 0, 3, -1200)] == ["?", "\u00b10", "+3", "\u22121,200"]
    assert [thousands(n) for n in (0, 12345, None, "x")] == ["0", "12,345", "", ""]


@pytest.mark.parametrize(
    ("text", "short"), [("v1.29.8-eks-a737599", "1.29.8"), ("1.30.2+k3s1", "1.30.2"), ("1.27", "1.27"), ("", "")]
)
def test_short_versions(text, short):
    assert short_version(text) == short


def test_moments():
    assert as_moment("2026-11-21T12:00:00Z") == NOW
    assert as_moment("yesterday") is None

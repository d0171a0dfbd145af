"""docs/glossary.md: one word, one line, one meaning; what is never said is no word of the list."""

import re

from tests.house.measures import text

LIST, NEVER = text("docs/glossary.md").split("\n## What we never say\n")
ROWS = [row for row in re.findall(r"^\| (.+?) \| (.+) \|$", LIST, re.M) if row[0] not in ("word", "---")]
TERMS = [term for words, _ in ROWS for term in words.split(", ")]


def test_a_word_stands_there_once() -> None:
    assert sorted({term for term in TERMS if TERMS.count(term) > 1}) == []
    assert len(TERMS) > 80


def test_a_meaning_is_a_sentence() -> None:
    assert [words for words, meaning in ROWS if not meaning.endswith(".") or len(meaning) > 200] == []


def test_what_is_never_said_at_all_is_no_word_of_the_list() -> None:
    rows = re.findall(r"^\| (.+?) \| (.+) \|$", NEVER, re.M)[2:]
    never = {word for words, _ in rows if "(" not in words for word in words.split(", ")}
    assert (sorted(never & set(TERMS)), len(never) > 20) == ([], True)

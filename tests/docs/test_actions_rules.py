"""The rules of actions on their page: each is proven by tests that name it, or says why it is not built."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SPANS = (("A", range(1, 37)), ("A", range(40, 46)), ("A", range(50, 58)), ("K", range(13, 17)))
RULES = [f"{letter}{number:02d}" for letter, numbers in SPANS for number in numbers]
PAGE = (ROOT / "docs" / "actions-rules.md").read_text()
ROWS = {row[0]: row[1:] for row in (re.split(r"\s*\|\s*", line.strip("| ")) for line in PAGE.splitlines()) if row[0]}


def test_every_rule_is_on_the_page_once() -> None:
    found = re.findall(r"^\| ([AK]\d\d) \|", PAGE, re.M)
    assert sorted(found) == sorted(RULES)


@pytest.mark.parametrize("rule", RULES)
def test_a_rule_is_proven_by_tests_that_name_it_or_says_why_not(rule: str) -> None:
    *words, last = ROWS[rule]
    tests = re.findall(r"`(tests/[^`]+)`", last)
    if not tests:
        assert (words, last.startswith("Not ")) == ([], True)
    for path in tests:
        assert re.search(rf"#.*\b{rule}\b|\b{rule}\b.*\"\"\"", (ROOT / path).read_text()), path

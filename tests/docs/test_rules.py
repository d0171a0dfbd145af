"""docs/rules.md explains every rule id of the code base, and every rule there is named by a test or open."""

import re
from functools import cache

import pytest

from tests.house.measures import files, text

pytestmark = pytest.mark.xdist_group("rules")  # every file is read once, in one worker

PAGE = "docs/rules.md"
ID = re.compile(r"(?<![\w}])[KTRA]\d\d(?!\w|:\d)")
"""Not the hour of a date (T12:00), and not a part of a longer word."""
KINDS = (".py", ".md", ".html", ".js", ".css", ".yaml", ".yml", ".sh", ".tpl")
MADE_UP = ("tests/docs/test_rules.py",)


def rows(part: str) -> dict[str, str]:
    """The rules of a part of the page: id -> sentence."""
    return dict(re.findall(r"^\| ([KTRA]\d\d) \| (.+) \|$", part, re.M))


RULES, OPEN = map(rows, text(PAGE).split("\n## Open\n"))


def ids(source: str) -> set[str]:
    return set(ID.findall(source))


def comments(source: str) -> str:
    """Where a test names what it proves: comments, and docstrings that end on their line."""
    return "\n".join(re.findall(r'#.*|"""[^"]+"""', source))


@cache
def mentioned() -> dict[str, set[str]]:
    """Every file that names rules, with the rules; the page itself is left out."""
    found = {path: ids(text(path)) for path in files() if path.endswith(KINDS) and path not in (PAGE, *MADE_UP)}
    return {path: named for path, named in found.items() if named}


def test_every_rule_stands_on_the_page_once() -> None:
    found = re.findall(r"^\| ([KTRA]\d\d) \|", text(PAGE), re.M)
    assert sorted(found) == sorted({*RULES, *OPEN})
    assert len(found) == len(set(found))


def test_every_id_of_the_code_base_stands_on_the_page() -> None:
    lost = [f"{path}: {sorted(found)}" for path, named in mentioned().items() if (found := named - {*RULES, *OPEN})]
    assert lost == []
    assert len(mentioned()) > 100


@pytest.mark.parametrize("rule", sorted(RULES))
def test_a_rule_is_named_by_a_test(rule: str) -> None:
    tests = [path for path, named in mentioned().items() if rule in named and path.startswith("tests/")]
    assert [path for path in tests if rule in ids(comments(text(path)))] != []


@pytest.mark.parametrize("rule", sorted(OPEN))
def test_an_open_rule_says_its_state(rule: str) -> None:
    assert OPEN[rule].startswith(("Not built", "Not needed", "Measured, not tested", "Set, not tested"))


@pytest.mark.parametrize("rule", sorted({**RULES, **OPEN}))
def test_a_rule_is_a_sentence(rule: str) -> None:
    words = {**RULES, **OPEN}[rule]
    assert (words.endswith("."), len(words.split()) >= 5) == (True, True)


def test_what_looks_like_an_id_is_told_from_one() -> None:
    assert ids("2026-11-21T12:00Z {day}T12:00 T12:00 (T11) A01, K02-K05 XR07 R080 R08.") == {
        "T11", "A01", "K02", "K05", "R08"
    }  # fmt: skip

"""docs/asvs.md holds every requirement of ASVS 5.0 at levels 1 and 2 once, and what it names exists."""

import ast
import re
from collections import Counter
from dataclasses import dataclass
from functools import cache

import pytest

from tests import upstream
from tests.house.measures import files, text

PAGE = "docs/asvs.md"
ROW = re.compile(r"^\| (\d+\.\d+\.\d+) \| (\d) \| ([^|]+) \| (met|open|not applicable) \| (.+) \|$", re.M)
OPEN = re.compile(r"^\| (\d+\.\d+\.\d+) \| (\d) \| ([^|]+) \| ([^|]+) \|$", re.M)
NAMED = re.compile(r"`(tests/[\w/]+\.py)(?:::(\w+))?`")
LEAST_SHARE = 0.95


@dataclass(frozen=True)
class Row:
    number: str
    level: int
    asked: str
    state: str
    how: str


@cache
def rows() -> tuple[Row, ...]:
    return tuple(Row(number, int(level), *rest) for number, level, *rest in ROW.findall(text(PAGE)))


@cache
def known_tests(path: str) -> frozenset[str]:
    """The names of all tests of a file, those of classes too."""
    tree = ast.parse(text(path))
    return frozenset(
        node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef) and node.name.startswith("test_")
    )


def missing(how: str) -> list[str]:
    """The tests that a text names and that do not exist."""
    return [
        f"{path}::{name}"
        for path, name in NAMED.findall(how)
        if path not in files() or (name and name not in known_tests(path))
    ]


def test_every_requirement_stands_there_once_with_its_level() -> None:
    assert len(rows()) == len({row.number for row in rows()}) == 253
    assert {row.number: row.level for row in rows()} == upstream.asvs()
    assert [row.number for row in rows()] == sorted(
        upstream.asvs(), key=lambda number: [int(part) for part in number.split(".")]
    )


def test_the_counts_are_those_of_the_rows() -> None:
    told = {state: int(count) for state, count in re.findall(r"^\| ([a-z ]+) \| (\d+) \|$", text(PAGE), re.M)}
    counted = Counter(row.state for row in rows())
    assert told == {**counted, "all": len(rows())}
    applying = counted["met"] + counted["open"]
    share = re.search(r"Of the (\d+) that apply, ([\d.]+) % are met", text(PAGE))
    assert share is not None
    assert (int(share[1]), float(share[2])) == (applying, 1000 * counted["met"] // applying / 10)
    assert counted["met"] / applying >= LEAST_SHARE


def test_what_is_open_is_listed_first() -> None:
    listed = OPEN.findall(text(PAGE).partition("## What is open")[2].partition("## V1")[0])
    assert listed == [(row.number, str(row.level), row.asked, row.how) for row in rows() if row.state == "open"]


@pytest.mark.parametrize("row", rows(), ids=lambda row: row.number)
def test_a_row_says_what_holds_it(row: Row) -> None:
    assert missing(row.how) == []
    if row.state == "met":
        assert NAMED.search(row.how) or re.search(r"\]\([\w./-]+\.(md|yaml)", row.how)
    assert len(row.how.split()) >= (1 if row.state == "met" else 2)


def test_a_test_that_is_not_there_would_be_found() -> None:
    there = "tests/docs/test_asvs.py"
    said = f"`{there}` `{there}::test_what_is_open_is_listed_first` `{there}::missing` `tests/docs/no.py`"
    assert missing(said) == [f"{there}::missing", "tests/docs/no.py::"]

"""Texts that pages and the command line share use the words of pages: docs/glossary.md."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from tests.house.measures import ROOT

SHARED = (
    *(f"checks/{part}" for part in ("catalogue", "remedies", "render", "shared")),
    "readiness/runbook",
    "actions/catalogue",
)
"""What checks and actions say, and the runbook."""
HOP = re.compile(r"(?<![\w-])[Hh]ops?(?![\w-])(?! limit)")


def sentences(source: str) -> Iterator[tuple[int, str]]:
    """Texts of more than one word that are no docstrings, each with its line."""
    tree = ast.parse(source)
    alone = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in (one for one in ast.walk(tree) if isinstance(one, ast.Constant)):
        text = "" if id(node) in alone else node.value
        if isinstance(text, str) and " " in text.strip():
            yield node.lineno, text


def hops_in(path: Path) -> list[str]:
    return [f"{path.relative_to(ROOT)}:{line}" for line, text in sentences(path.read_text()) if HOP.search(text)]


def test_a_hop_is_an_upgrade_where_pages_show_the_text() -> None:
    files = [path for folder in SHARED for path in sorted((ROOT / "migrations_app" / folder).rglob("*.py"))]
    assert len(files) > 200
    assert [place for path in files for place in hops_in(path)] == []


def test_the_search_finds_sentences_alone() -> None:
    source = (
        '"""A hop."""\nx = "hop"\ny = "keep the hop limit"\nz = f"until the hop to {x} is done"\n"""The hop of x."""\n'
    )
    assert [line for line, text in sentences(source) if HOP.search(text)] == [4]

"""The figures of make figures are counted as they say, and the page has a row for each of them."""

import re

import pytest

from tests.house import figures, measures
from tests.house.measures import Function


def a_function(monkeypatch: pytest.MonkeyPatch, lines: int) -> Function:
    monkeypatch.setattr(measures, "text", lambda _path: "def f():\n" + "    pass\n" * (lines - 1))
    return measures.functions([f"of-{lines}-lines.py"])[0]


def test_functions_are_measured_by_their_lines(monkeypatch) -> None:
    assert figures.sizes([a_function(monkeypatch, n) for n in range(2, 13)]) == (7, 11, 12)


def test_the_largest_folder_is_the_one_with_the_most_modules() -> None:
    assert figures.largest_folder(["a/__init__.py", "a/b.py", "c/d.py", "c/e.py", "a/f/g.py"]) == ("c", 2)


def test_a_class_name_of_two_modules_is_found(monkeypatch) -> None:
    texts = {"x.py": "class A: ...\nclass _B: ...", "y.py": "class A: ...\nclass _B: ...\nclass C:\n    class A: ..."}
    monkeypatch.setattr(measures, "text", lambda path: texts[path])
    assert figures.repeated_classes(["x.py", "y.py"]) == ["A"]


def test_only_long_lines_of_templates_are_counted(monkeypatch) -> None:
    texts = {"templates/a.html": f"{'x' * 120}\n{'y' * 121}\n", "static/a.js": "z" * 200}
    monkeypatch.setattr(measures, "files", lambda: tuple(texts))
    monkeypatch.setattr(measures, "text", lambda path: texts[path])
    assert figures.long_template_lines() == 1


def test_the_page_has_a_row_for_each_figure() -> None:
    page = (measures.ROOT / "docs" / "architecture.md").read_text().split("\n## Measured\n")[1]
    named = re.findall(r"^\| ([^|]+) \|", page, re.M)[2:]
    assert [name for name, _ in figures.rows() if name not in named] == []

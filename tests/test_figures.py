"""The figures of make figures are counted as they say, and the page has a row for each of them."""

import ast
import re

from tests import figures, measures
from tests.measures import Function


def a_function(lines: int) -> Function:
    node = ast.parse("def f():\n" + "    pass\n" * (lines - 1)).body[0]
    assert isinstance(node, ast.FunctionDef)
    return Function("a.py", node)


def test_functions_are_measured_by_their_lines() -> None:
    assert figures.sizes([a_function(n) for n in range(2, 13)]) == (7, 11, 12)


def test_the_largest_folder_is_the_one_with_the_most_modules() -> None:
    assert figures.largest_folder(["a/__init__.py", "a/b.py", "c/d.py", "c/e.py", "a/f/g.py"]) == ("c", 2)


def test_a_class_name_of_two_modules_is_found(monkeypatch) -> None:
    texts = {"a.py": "class A: ...\nclass _B: ...", "b.py": "class A: ...\nclass _B: ...\nclass C:\n    class A: ..."}
    monkeypatch.setattr(measures, "tree", lambda path: ast.parse(texts[path]))
    assert figures.repeated_classes(["a.py", "b.py"]) == ["A"]


def test_only_long_lines_of_templates_are_counted(monkeypatch) -> None:
    texts = {"templates/a.html": f"{'x' * 120}\n{'y' * 121}\n", "static/a.js": "z" * 200}
    monkeypatch.setattr(measures, "files", lambda: tuple(texts))
    monkeypatch.setattr(measures, "text", lambda path: texts[path])
    assert figures.long_template_lines() == 1


def test_the_page_has_a_row_for_each_figure() -> None:
    page = (measures.ROOT / "docs" / "architecture.md").read_text().split("\n## Measured\n")[1]
    named = re.findall(r"^\| ([^|]+) \|", page, re.M)[2:]
    assert [name for name, _ in figures.rows() if name not in named] == []

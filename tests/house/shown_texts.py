"""Collects every text that people can read: what templates mark, and the strings of the product's code."""

import ast
import re
from collections.abc import Iterator

from tests.house.measures import ROOT

MARKED = re.compile(r"""_\(\s*"((?:[^"\\]|\\.)*)"\s*\)|_\(\s*'((?:[^'\\]|\\.)*)'\s*\)""")
BLOCK = re.compile(r"{% blocktranslate\b.*?%}(.*?){% endblocktranslate %}", re.DOTALL)
GAP = "#"
"""Stands for a number or a value that is filled in."""


def shown_texts() -> dict[str, str]:
    """Returns each text with one place where it is used; numbers and values are gaps."""
    found: dict[str, str] = {}
    for path in sorted((ROOT / "templates").rglob("*.*")):
        for text in _of_template(path.read_text(encoding="utf-8")):
            found.setdefault(plain(text), str(path.relative_to(ROOT)))
    for path in sorted((ROOT / "migrations_app").rglob("*.py")):
        if "migrations" not in path.relative_to(ROOT / "migrations_app").parts:
            for text in strings(ast.parse(path.read_text(encoding="utf-8"))):
                found.setdefault(plain(text), str(path.relative_to(ROOT)))
    found.pop("", None)
    return found


def _of_template(source: str) -> Iterator[str]:
    for one, other in MARKED.findall(source):
        yield one or other
    for body in BLOCK.findall(source):
        for part in re.split(r"{% plural %}", body):
            yield re.sub(r"<[^>]*>", " ", re.sub(r"{[{%].*?[}%]}", GAP, part))


def strings(tree: ast.Module) -> Iterator[str]:
    """Returns the strings of a module except its docstrings; values in an f-string are gaps."""
    passed = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            passed |= {id(part) for part in node.values}
            yield "".join(part.value if isinstance(part, ast.Constant) else GAP for part in node.values)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in passed:
            yield re.sub(r"{\w*(:[^{}]*)?}", GAP, node.value)


def plain(text: str) -> str:
    """Returns the text with single spaces, numbers and values as gaps, without the full stop."""
    spaced = re.sub(r"\s+", " ", text)
    return re.sub(r"#([.,#]*#)*", GAP, re.sub(r"\d[\d.]*\d|\d", GAP, spaced)).strip(" .:…")


def holds(text: str, old: str) -> bool:
    """Whether the text contains the old one: as a whole, or among its words if it has several."""
    if " " not in old:
        return text == old
    return old in text and re.search(rf"(?<!\w){re.escape(old)}(?!\w)", text) is not None

"""Finds program logic that reads sentences written for people; test_sentences.py allows it nowhere.

A sentence is an attribute of one of the names in SENTENCES, `str()` of a caught error, or a local name that was
assigned a sentence. Reading is: searching in it, comparing it with words, splitting it, matching it with a pattern.
Passing it on, joining it, shortening it at its end (`detail[:500]`), capitalizing it and testing whether it is empty
are not reading.
"""

import ast
from collections.abc import Iterator, Sequence
from pathlib import Path

SENTENCES = {"summary", "detail", "seen", "wanted", "message", "because", "justification", "waits_for"}
LOCAL = {"summary", "detail", "sentence"}
"""Parameters of these names hold sentences whatever is handed over."""
CUTS = {"partition", "rpartition", "split", "rsplit", "splitlines", "startswith", "endswith", "removeprefix",
  "removesuffix", "find", "rfind", "index", "rindex", "count"}  # fmt: skip
SAME = {"lower", "upper", "strip", "lstrip", "rstrip", "casefold", "replace", "encode", "format"}
"""What makes of a sentence another one."""
MATCHES = {"match", "search", "fullmatch", "findall", "finditer", "split", "sub"}


def readers(path: Path, *, name: str) -> Iterator[str]:
    """Returns `name: expression` of every place of a file that reads a sentence."""
    yield from (f"{name}: {found}" for found in read_in(path.read_text(encoding="utf-8")))


def read_in(source: str) -> list[str]:
    """Returns the expressions of that code that read a sentence, each once."""
    tree = ast.parse(source)
    return sorted({found for scope in _scopes(tree) for found in _in_scope(scope)})


def _scopes(tree: ast.Module) -> Iterator[ast.AST]:
    yield tree
    yield from (node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))


def _in_scope(scope: ast.AST) -> Iterator[str]:
    nodes = tuple(ast.walk(scope))
    finder = _SentenceFinder(scope, nodes)
    yield from (ast.unparse(node) for node in nodes if isinstance(node, ast.expr) and finder.reads(node))


class _SentenceFinder:
    """Knows which expressions of a function hold a sentence; `nodes` are all nodes of the function."""

    def __init__(self, scope: ast.AST, nodes: Sequence[ast.AST]) -> None:
        self.errors = {node.name for node in nodes if isinstance(node, ast.ExceptHandler) and node.name}
        self.names: set[str] = set()
        if isinstance(scope, ast.FunctionDef | ast.AsyncFunctionDef):
            every = (*scope.args.posonlyargs, *scope.args.args, *scope.args.kwonlyargs)
            self.names |= {one.arg for one in every if one.arg in LOCAL}
            self._follow([node for node in nodes if isinstance(node, ast.Assign | ast.NamedExpr)])

    def _follow(self, given: Sequence[ast.Assign | ast.NamedExpr]) -> None:
        before = -1
        while before != len(self.names):
            before = len(self.names)
            for node in given:
                if isinstance(node, ast.Assign) and self.holds(node.value):
                    self.names |= {one.id for one in node.targets if isinstance(one, ast.Name)}
                elif isinstance(node, ast.NamedExpr) and self.holds(node.value):
                    self.names.add(node.target.id)

    def holds(self, node: ast.expr) -> bool:
        match node:
            case ast.Name(id=name):
                return name in self.names
            case ast.Attribute(attr=attr):
                return attr in SENTENCES
            case ast.BoolOp(values=values):
                return any(map(self.holds, values))
            case ast.IfExp(body=body, orelse=other):
                return self.holds(body) or self.holds(other)
            case ast.Subscript(value=value, slice=ast.Slice()):
                return self.holds(value)
            case ast.Call(func=ast.Name(id="str"), args=[ast.Name(id=name)]):
                return name in self.errors
            case ast.Call(func=ast.Attribute(value=value, attr=attr)):
                return attr in SAME and self.holds(value)
        return False

    def reads(self, node: ast.expr) -> bool:
        match node:
            case ast.Call(func=ast.Attribute(value=value, attr=attr), args=args):
                cut = attr in CUTS and self.holds(value)
                return cut or (attr in MATCHES and any(map(self.holds, args)))
            case ast.Compare(left=left, ops=ops, comparators=comparators):
                sides = [left, *comparators]
                return any(map(self.holds, sides)) and any(map(_depends_on_text, ops, sides, comparators))
            case ast.Subscript(value=value, slice=part):
                return self.holds(value) and not _at_its_start(part)
        return False


def _at_its_start(part: ast.expr) -> bool:
    """Whether a slice only shortens a sentence or takes its first letter, to capitalize it."""
    start = part.lower if isinstance(part, ast.Slice) else part
    return start is None or (isinstance(start, ast.Constant) and start.value in (0, 1))


def _depends_on_text(op: ast.cmpop, left: ast.expr, right: ast.expr) -> bool:
    """Whether the comparison depends on more than whether the sentence is empty."""
    empty = any(isinstance(one, ast.Constant) and one.value in ("", None) for one in (left, right))
    return not empty and isinstance(op, ast.In | ast.NotIn | ast.Eq | ast.NotEq)

"""Makes faults in the code, one at a time, and prints those that no test notices: `python -m tests.tools.mutants
[NUMBER] [SEED]`.

It copies the project, changes one operator or constant of a function of the deciding half in the copy, and runs the
tests that import the changed module or carry its name, then the tests of its layer that need no server; without the
fault these tests have to pass. The same number and seed choose the same places while the code stays the same. Nothing
is changed in the working tree.
"""

import ast
import os
import random
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from tests.house.measures import ROOT
from tests.tools.next_minor import LEFT_BEHIND
from tests.tools.touched import importers, modules

LAYERS = ("karpenter", "checks", "conversion", "iam", "readiness", "actions")
OPPOSITES: dict[type[ast.AST], type[ast.AST]] = {
    ast.Eq: ast.NotEq, ast.NotEq: ast.Eq, ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt,
    ast.In: ast.NotIn, ast.NotIn: ast.In, ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.And: ast.Or, ast.Or: ast.And,
    ast.Add: ast.Sub, ast.Sub: ast.Add,
}  # fmt: skip
WITHOUT_SERVERS = "not apiserver and not moto and not browser"
LIMIT_SECONDS = 600
"""Tests that take longer than this with a fault have noticed it: a loop that does not end."""


class Place(NamedTuple):
    """Where a fault can be made: a file below the project, and the number of the node in its functions."""

    path: str
    node: int


def candidates(tree: ast.Module) -> list[ast.AST]:
    """Returns the nodes of function bodies that a fault can change, in the order of the text."""
    functions = (node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef))
    nodes = {id(node): node for function in functions for line in function.body for node in _code_of(line)}
    return sorted(nodes.values(), key=lambda node: (node.lineno, node.col_offset, type(node).__name__))


def _code_of(statement: ast.stmt) -> Iterator[ast.AST]:
    """Returns the nodes that can be changed, without those of docstrings and annotations."""
    if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant):
        return
    annotations = {
        id(inner)
        for node in ast.walk(statement)
        for note in (getattr(node, "annotation", None), getattr(node, "returns", None))
        if note is not None
        for inner in ast.walk(note)
    }
    yield from (node for node in ast.walk(statement) if id(node) not in annotations and _can_change(node))


def _can_change(node: ast.AST) -> bool:
    match node:
        case ast.Compare(ops=[operator]) | ast.BoolOp(op=operator) | ast.BinOp(op=operator):
            return type(operator) in OPPOSITES
        case ast.UnaryOp(op=ast.Not()):
            return True
        case ast.Constant(value=bool() | int()):
            return True
    return False


def change(node: ast.AST) -> str:
    """Makes the fault in that node; returns the original text."""
    before = ast.unparse(node)
    match node:
        case ast.Compare():
            node.ops = [OPPOSITES[type(node.ops[0])]()]
        case ast.BoolOp() | ast.BinOp():
            node.op = OPPOSITES[type(node.op)]()
        case ast.UnaryOp():
            node.op, node.operand = ast.Not(), ast.UnaryOp(ast.Not(), node.operand)
        case ast.Constant(value=bool()):
            node.value = not node.value
        case ast.Constant():
            node.value += 1
    return before


def faulty(text: str, number: int) -> tuple[str, str]:
    """Returns the text of a module with that fault, and what was changed: `line: before -> after`."""
    tree = ast.parse(text)
    node = candidates(tree)[number]
    before = change(node)
    return ast.unparse(tree), f"{node.lineno}: {before} -> {ast.unparse(node)}"


def chosen(number: int, seed: int) -> list[Place]:
    """Returns that many places of the deciding half, at random; all of them if there are fewer."""
    paths = sorted(path for layer in LAYERS for path in (ROOT / "migrations_app" / layer).rglob("*.py"))
    places = [
        Place(path.relative_to(ROOT).as_posix(), node)
        for path in paths
        for node in range(len(candidates(ast.parse(path.read_text()))))
    ]
    return random.Random(seed).sample(places, min(number, len(places)))


def covering(path: str) -> list[str]:
    """Returns the test files that import the module or carry its name; the folder of its layer if there are none."""
    named = (ROOT / "tests" / Path(path).parts[1]).rglob(f"test_{Path(path).stem}.py")
    found = {one.relative_to(ROOT).as_posix() for one in named} | set(importers(modules([path])))
    return sorted(found) or [f"tests/{Path(path).parts[1]}"]


def noticed(folder: Path, path: str) -> bool:
    """Whether a test fails in the copy: one near the module, or any of its layer."""
    layer = f"tests/{Path(path).parts[1]}"
    return _fails(folder, covering(path)) or _fails(folder, ["-m", WITHOUT_SERVERS, layer])


def _fails(folder: Path, chosen: Sequence[str]) -> bool:
    words = ("-m", "pytest", "-x", "-q", "-n", "0", "-p", "no:cacheprovider", "-p", "no:randomly", *chosen)
    environment = os.environ | {"PYTHONPATH": str(folder), "PYTHONDONTWRITEBYTECODE": "1"}
    command = [sys.executable, *words]
    try:
        ran = subprocess.run(
            command, cwd=folder, env=environment, capture_output=True, timeout=LIMIT_SECONDS, check=False
        )
    except subprocess.TimeoutExpired:
        return True
    return ran.returncode != 0


def unseen(places: Sequence[Place]) -> Iterator[str]:
    """Returns the faults that no test notices: `path:line: before -> after`."""
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made) / "project"
        shutil.copytree(ROOT, folder, ignore=LEFT_BEHIND)
        for path, number in places:
            text = (ROOT / path).read_text()
            changed, told = faulty(text, number)
            (folder / path).write_text(changed)
            if not noticed(folder, path):
                yield f"{path}:{told}"
            (folder / path).write_text(text)


def main(arguments: Sequence[str]) -> None:
    number, seed = (*map(int, arguments), *(40, 1)[len(arguments) :])
    count = 0
    for line in unseen(chosen(number, seed)):
        count += 1
        print(line, flush=True)  # noqa: T201 - a program that speaks to its terminal
    print(f"{count} of {number} faults were not noticed (seed {seed})")  # noqa: T201 - as above


if __name__ == "__main__":
    main(sys.argv[1:])

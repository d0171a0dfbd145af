"""What test_architecture.py measures: tracked files, functions, comments. It reads text and imports no product."""

import ast
import io
import re
import subprocess
import tokenize
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PRODUCT = ("karpdash", "migrations_app")
SCHEMA_STEPS = "migrations_app/migrations/"
NOT_OURS = re.compile(r"^(\.|var/|build/|staticfiles/|htmlcov/)|__pycache__|\.egg-info/")
SWITCHES = re.compile(r"\b(type: ignore|noqa|nosec|pragma: no cover)\b[: ]*(\[[\w, -]+\]|[A-Z]+\d+(, ?[A-Z]+\d+)*)?")
BROAD = {"Exception", "BaseException"}


@dataclass(frozen=True, slots=True)
class Function:
    """A function or method as written; `where` is path:line name."""

    path: str
    node: ast.FunctionDef | ast.AsyncFunctionDef

    @property
    def where(self) -> str:
        return f"{self.path}:{self.node.lineno} {self.node.name}"

    @property
    def lines(self) -> int:
        return (self.node.end_lineno or self.node.lineno) - self.node.lineno + 1

    @property
    def parameters(self) -> list[str]:
        """Those that may be given by position, without self and cls."""
        names = [argument.arg for argument in (*self.node.args.posonlyargs, *self.node.args.args)]
        return [name for name in names if name not in ("self", "cls")]


@cache
def files() -> tuple[str, ...]:
    """Every file of the project: what git tracks or would track; without git, what is not generated."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard"]
    try:
        listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout.splitlines()
    except (OSError, subprocess.CalledProcessError):
        found = (path.relative_to(ROOT).as_posix() for path in ROOT.rglob("*") if path.is_file())
        listed = [path for path in found if not NOT_OURS.search(path)]
    return tuple(sorted(path for path in set(listed) if (ROOT / path).is_file()))


def python(*tops: str) -> list[str]:
    """The Python files below these folders, without Django's schema steps."""
    return [p for p in files() if p.endswith(".py") and p.split("/")[0] in tops and not p.startswith(SCHEMA_STEPS)]


def product() -> list[str]:
    return python(*PRODUCT)


@cache
def text(path: str) -> str:
    """The file's text; bytes that are no text become question marks."""
    return (ROOT / path).read_bytes().decode(errors="replace")


def docstring(path: str) -> str | None:
    return ast.get_docstring(tree(path))


def line_count(path: str) -> int:
    return text(path).count("\n")


@cache
def tree(path: str) -> ast.Module:
    return ast.parse(text(path))


def functions(paths: list[str]) -> list[Function]:
    """All functions and methods, nested ones too."""
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef)
    return [Function(path, node) for path in paths for node in ast.walk(tree(path)) if isinstance(node, kinds)]


def modules(package: str) -> list[str]:
    """Dotted names of a package's or module's files, the package itself first."""
    base = package.replace(".", "/")
    found = [p for p in product() if p == f"{base}.py" or p.startswith(f"{base}/")]
    return sorted(p.removesuffix(".py").removesuffix("/__init__").replace("/", ".") for p in found)


def broad_excepts(path: str) -> list[str]:
    """path:line of every handler, or suppress(), that catches everything."""
    found = []
    for node in ast.walk(tree(path)):
        if isinstance(node, ast.ExceptHandler) and (node.type is None or _names(node.type) & BROAD):
            found.append(f"{path}:{node.lineno}")
        if isinstance(node, ast.Call) and "suppress" in _names(node.func):
            found += [f"{path}:{node.lineno}" for argument in node.args if _names(argument) & BROAD]
    return found


def defined_names(path: str) -> Iterator[tuple[int, str]]:
    """(line, name) of what the file itself names: classes, functions, parameters, variables, attributes."""
    for node in ast.walk(tree(path)):
        if isinstance(node, (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)):
            yield node.lineno, node.name
        elif isinstance(node, ast.arg):
            yield node.lineno, node.arg
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.lineno, node.id
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            yield node.lineno, node.attr


def top_classes(path: str) -> list[str]:
    """The names of the classes that the module itself holds; those inside of others are named with them."""
    return [node.name for node in tree(path).body if isinstance(node, ast.ClassDef)]


def called_with(path: str, callables: set[str]) -> Iterator[tuple[int, object]]:
    """(line, constant) of each constant given to a call or decorator of these names: addresses, names of tasks."""
    for node in ast.walk(tree(path)):
        if isinstance(node, ast.Call) and _names(node.func) & callables:
            given = [*node.args, *(keyword.value for keyword in node.keywords)]
            yield from ((node.lineno, value.value) for value in given if isinstance(value, ast.Constant))


def unreasoned(path: str) -> list[str]:
    """path:line of each comment that switches a checker off without a code, or without saying why."""
    found = []
    for token in tokenize.generate_tokens(io.StringIO(text(path)).readline):
        if token.type == tokenize.COMMENT and (switches := list(SWITCHES.finditer(token.string))):
            reason = re.findall(r"[^\W\d_]", SWITCHES.sub("", token.string))
            bare = [s for s in switches if s[1] in ("type: ignore", "noqa") and not s[2]]
            if bare or len(reason) < 5:
                found.append(f"{path}:{token.start[0]} {token.string}")
    return found


def matches(paths: list[str], pattern: str, flags: int = 0) -> list[str]:
    """path:line: text of each line in which the pattern is found."""
    wanted = re.compile(pattern, flags)
    return [
        f"{path}:{number}: {line.strip()[:120]}"
        for path in paths
        for number, line in enumerate(text(path).splitlines(), 1)
        if wanted.search(line)
    ]


def _names(node: ast.expr) -> set[str]:
    """The last names in an expression: {"Exception"} for builtins.Exception, both of a tuple of two."""
    if isinstance(node, ast.Tuple):
        return {name for element in node.elts for name in _names(element)}
    if isinstance(node, ast.Attribute):
        return {node.attr}
    return {node.id} if isinstance(node, ast.Name) else set()

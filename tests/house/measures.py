"""Measures the source for test_architecture.py: tracked files, functions, comments. It reads text and imports no
product.
"""

import ast
import io
import re
import subprocess
import tokenize
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PRODUCT = ("karpdash", "migrations_app")
SCHEMA_STEPS = "migrations_app/migrations/"
NOT_OURS = re.compile(r"^(\.|var/|build/|staticfiles/|htmlcov/)|__pycache__|\.egg-info/")
SWITCHES = re.compile(r"\b(type: ignore|noqa|nosec|pragma: no cover)\b[: ]*(\[[\w, -]+\]|[A-Z]+\d+(, ?[A-Z]+\d+)*)?")
TYPE_NAME = re.compile(r"[A-Z]\w*[a-z]\w*")
BROAD = {"Exception", "BaseException"}
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


@dataclass(frozen=True, slots=True)
class Function:
    """A function or method in the source. `parameters` may be given by position, without self and cls; `outermost` if
    it is not nested in a class or function.
    """

    path: str
    line: int
    name: str
    lines: int
    parameters: tuple[str, ...]
    decorators: frozenset[str]
    outermost: bool

    @property
    def where(self) -> str:
        return f"{self.path}:{self.line} {self.name}"


@dataclass(frozen=True, slots=True)
class Source:
    """The measurements of one file. Its syntax tree is not stored: the trees of all files are millions of objects."""

    docstring: str | None
    functions: tuple[Function, ...]
    types: tuple[tuple[str, str], ...]
    """Name of each class and type alias that is not nested, and what the alias stands for; "" for a class."""
    names: tuple[tuple[int, str], ...]
    broad_excepts: tuple[int, ...]
    calls: tuple[tuple[int, frozenset[str], tuple[object, ...]], ...]
    """Of each call with constants: its line, the names that it is called by, and the constants."""


@cache
def files() -> tuple[str, ...]:
    """Returns every file of the project: what git tracks or would track; without git, what is not generated."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard"]
    try:
        listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout.splitlines()
    except (OSError, subprocess.CalledProcessError):
        found = (path.relative_to(ROOT).as_posix() for path in ROOT.rglob("*") if path.is_file())
        listed = [path for path in found if not NOT_OURS.search(path)]
    return tuple(sorted(path for path in set(listed) if (ROOT / path).is_file()))


def python(*tops: str) -> list[str]:
    """Returns the Python files below these folders, without Django's schema steps."""
    return [p for p in files() if p.endswith(".py") and p.split("/")[0] in tops and not p.startswith(SCHEMA_STEPS)]


def product() -> list[str]:
    return python(*PRODUCT)


@cache
def text(path: str) -> str:
    """Returns the file's text; bytes that are not valid become question marks."""
    return (ROOT / path).read_bytes().decode(errors="replace")


def docstring(path: str) -> str | None:
    return source(path).docstring


def line_count(path: str) -> int:
    return text(path).count("\n")


@cache
def source(path: str) -> Source:
    tree = ast.parse(text(path))
    nodes = tuple(ast.walk(tree))
    top = {id(node) for node in tree.body}
    return Source(
        docstring=ast.get_docstring(tree),
        functions=tuple(
            _function(path, node, outermost=id(node) in top) for node in nodes if isinstance(node, FUNCTIONS)
        ),
        types=tuple(found for found in map(_type, tree.body) if found),
        names=tuple(found for node in nodes for found in _named(node)),
        broad_excepts=tuple(line for node in nodes for line in _broad(node)),
        calls=tuple(found for node in nodes if isinstance(node, ast.Call) and (found := _call(node))[2]),
    )


def _type(node: ast.stmt) -> tuple[str, str] | None:
    target: object = None
    value: object = None
    match node:
        case ast.ClassDef(name=name):
            return name, ""
        case ast.Assign(targets=[target], value=value) | ast.AnnAssign(target=target, value=value):
            pass
    if isinstance(target, ast.Name) and isinstance(value, ast.Subscript | ast.BinOp | ast.Attribute):
        return (target.id, ast.unparse(value)) if TYPE_NAME.fullmatch(target.id) else None
    return None


def functions(paths: list[str]) -> list[Function]:
    """Returns all functions and methods, nested ones too."""
    return [function for path in paths for function in source(path).functions]


def modules(package: str) -> list[str]:
    """Returns dotted names of a package's or module's files, the package itself first."""
    base = package.replace(".", "/")
    found = [p for p in product() if p == f"{base}.py" or p.startswith(f"{base}/")]
    return sorted(p.removesuffix(".py").removesuffix("/__init__").replace("/", ".") for p in found)


def broad_excepts(path: str) -> list[str]:
    """Returns path:line of every handler, or suppress(), that catches everything."""
    return [f"{path}:{line}" for line in source(path).broad_excepts]


def defined_names(path: str) -> tuple[tuple[int, str], ...]:
    """Returns (line, name) of the names that the file defines: classes, functions, parameters, variables,
    attributes.
    """
    return source(path).names


def top_types(path: str) -> tuple[tuple[str, str], ...]:
    """Returns name and text of the classes and type aliases that are not nested; the text of a class is empty."""
    return source(path).types


def called_with(path: str, callables: set[str]) -> Iterator[tuple[int, object]]:
    """Returns (line, constant) of each constant given to a call or decorator of these names: addresses, names
    of tasks.
    """
    for line, names, constants in source(path).calls:
        if names & callables:
            yield from ((line, value) for value in constants)


def unreasoned(path: str) -> list[str]:
    """Returns path:line of each comment that switches a checker off without a code or without a reason."""
    found: list[str] = []
    if not SWITCHES.search(text(path)):
        return found
    for token in tokenize.generate_tokens(io.StringIO(text(path)).readline):
        if token.type == tokenize.COMMENT and (switches := list(SWITCHES.finditer(token.string))):
            reason = re.findall(r"[^\W\d_]", SWITCHES.sub("", token.string))
            bare = [s for s in switches if s[1] in ("type: ignore", "noqa") and not s[2]]
            if bare or len(reason) < 5:
                found.append(f"{path}:{token.start[0]} {token.string}")
    return found


def matches(paths: list[str], pattern: str, flags: int = 0) -> list[str]:
    """Returns `path:line: text` of each line that matches the pattern."""
    wanted = re.compile(pattern, flags)
    return [
        f"{path}:{number}: {line.strip()[:120]}"
        for path in paths
        for number, line in enumerate(text(path).splitlines(), 1)
        if wanted.search(line)
    ]


def _function(path: str, node: ast.FunctionDef | ast.AsyncFunctionDef, *, outermost: bool) -> Function:
    names = [argument.arg for argument in (*node.args.posonlyargs, *node.args.args)]
    return Function(
        path=path,
        line=node.lineno,
        name=node.name,
        lines=(node.end_lineno or node.lineno) - node.lineno + 1,
        parameters=tuple(name for name in names if name not in ("self", "cls")),
        decorators=frozenset(getattr(one, "id", getattr(one, "attr", "")) for one in node.decorator_list),
        outermost=outermost,
    )


def _named(node: ast.AST) -> Iterator[tuple[int, str]]:
    if isinstance(node, (ast.ClassDef, *FUNCTIONS)):
        yield node.lineno, node.name
    elif isinstance(node, ast.arg):
        yield node.lineno, node.arg
    elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
        yield node.lineno, node.id
    elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
        yield node.lineno, node.attr


def _broad(node: ast.AST) -> Iterator[int]:
    if isinstance(node, ast.ExceptHandler) and (node.type is None or _names(node.type) & BROAD):
        yield node.lineno
    if isinstance(node, ast.Call) and "suppress" in _names(node.func):
        yield from (node.lineno for argument in node.args if _names(argument) & BROAD)


def _call(node: ast.Call) -> tuple[int, frozenset[str], tuple[object, ...]]:
    given = [*node.args, *(keyword.value for keyword in node.keywords)]
    constants = tuple(value.value for value in given if isinstance(value, ast.Constant))
    return node.lineno, frozenset(_names(node.func)), constants


def _names(node: ast.expr) -> set[str]:
    """Returns the last names in an expression: {"Exception"} for builtins.Exception, both of a tuple of two."""
    if isinstance(node, ast.Tuple):
        return {name for element in node.elts for name in _names(element)}
    if isinstance(node, ast.Attribute):
        return {node.attr}
    return {node.id} if isinstance(node, ast.Name) else set()

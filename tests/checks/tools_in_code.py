"""The tools that the code of a check's advice names: the truth that what the check declares is compared with."""

from collections.abc import Iterator
from functools import cache
from types import CodeType, FunctionType
from typing import Any

from migrations_app.checks.base import REMEDY_TOOLS, Check, RemedyTool
from migrations_app.checks.remedies.commands import after_task, in_aws, in_cluster, remedies_of
from migrations_app.checks.tools import TOOLS_OF

_RENDERERS: dict[FunctionType, frozenset[str]] = {
    remedies_of: frozenset(),
    after_task: frozenset(),
    in_cluster: frozenset({"kubectl"}),
    in_aws: frozenset({"iam"}),
}
"""What turns changes into remedies, and the tools that it is for; `remedies_of` for those of the changes themselves,
`after_task` for those of the remedies that it is given."""
_OURS = "migrations_app.checks"
_TEXTS = f"{_OURS}.render"


def tools_in_code(check: Check) -> tuple[RemedyTool, ...]:
    """Every tool that a remedy of the check may be for; empty where it gives none."""
    advice = check._advise
    words = _words(advice) if isinstance(advice, FunctionType) else frozenset()
    named = words | {"action"} if check.resolved_by else words
    return tuple(how for how in REMEDY_TOOLS if how in named)


@cache
def _words(function: FunctionType) -> frozenset[str]:
    """The names of tools that stand in the function and in those of ours that it may call; where changes are written
    for every tool, those of the changes that are made. A function that hands changes to one tool makes them for that
    one, and a renderer makes none."""
    found: set[str] = set()
    made: set[str] = set()
    met: set[FunctionType] = {function}
    waiting = [function]
    while waiting:
        here = waiting.pop()
        if here in _RENDERERS:
            found |= _RENDERERS[here]
            continue
        named = [one for code in _codes(here.__code__) for one in _named(here, code)]
        found.update(word for code in _codes(here.__code__) for word in _texts(code.co_consts) if word in REMEDY_TOOLS)
        callees = {ours for one in named if (ours := _ours(one)) is not None}
        if remedies_of in callees or not (callees & _RENDERERS.keys() or here.__module__.startswith(_TEXTS)):
            made.update(how for one in named if isinstance(one, type) for how in TOOLS_OF.get(one, ()))
        waiting += callees - met
        met |= callees
    return frozenset(found | made if remedies_of in met else found)


def _named(function: FunctionType, code: CodeType) -> list[Any]:
    """What the names of the code stand for in the function's module."""
    return [function.__globals__.get(name) for name in code.co_names]


def _codes(code: CodeType) -> Iterator[CodeType]:
    yield code
    for inner in code.co_consts:
        if isinstance(inner, CodeType):
            yield from _codes(inner)


def _texts(constants: tuple[object, ...]) -> Iterator[str]:
    """The texts among constants; the keys of a table stand in a tuple of their own."""
    for one in constants:
        if isinstance(one, str):
            yield one
        elif isinstance(one, tuple):
            yield from _texts(one)


def _ours(named: Any) -> FunctionType | None:
    if isinstance(named, FunctionType) and named.__module__.startswith(_OURS):
        return named
    return None

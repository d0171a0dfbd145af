"""The tools that the code of a check's advice names: the truth that what the check declares is compared with."""

from collections.abc import Iterator
from functools import cache
from types import CodeType, FunctionType
from typing import Any

from migrations_app.checks.base import HOWS, Check, How

_OURS = "migrations_app.checks"


def tools_in_code(check: Check) -> tuple[How, ...]:
    """Every tool that a remedy of the check may be for; empty where it gives none."""
    advice = check._advise
    words = _words(advice) if isinstance(advice, FunctionType) else frozenset()
    named = words | {"action"} if check.resolved_by else words
    return tuple(how for how in HOWS if how in named)


@cache
def _words(function: FunctionType) -> frozenset[str]:
    """The names of tools that stand in the function and in those of ours that it may call."""
    found: set[str] = set()
    met: set[FunctionType] = {function}
    waiting = [function]
    while waiting:
        here = waiting.pop()
        for code in _codes(here.__code__):
            found.update(word for word in _texts(code.co_consts) if word in HOWS)
            callees = {named for name in code.co_names if (named := _ours(here.__globals__.get(name))) is not None}
            waiting += callees - met
            met |= callees
    return frozenset(found)


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

"""Ranges of chart versions, as Flux and Argo CD read them: ">=1.0.0", "1.x", "~1.3", "^0.37.0 || 1.0.14".

Both use Masterminds/semver (README, "Checking Version Constraints"). The pre-release of a bound, as in ">=1.0.0-0", is
not compared: no chart of Karpenter that counts is a pre-release.
"""

import re
from collections.abc import Callable

from migrations_app.karpenter.versions import Release, parse

ANY = "*"
_MAX_LENGTH = 200
_TERM = re.compile(
    r"(=|!=|>=|=>|<=|=<|>|<|~>|~|\^)?\s*v?(\d{1,6}|[xX*])(?:\.(\d{1,6}|[xX*]))?(?:\.(\d{1,6}|[xX*]))?"
    r"(?:-[0-9A-Za-z.-]+)?",
    re.ASCII,
)
_HYPHEN = re.compile(r"(\S+)\s+-\s+(\S+)", re.ASCII)

Number = tuple[int, int, int]
Test = Callable[[Number], bool]


def is_range(text: str) -> bool:
    """Whether the text is a range: neither one release, nor a text that no range is written like."""
    return parse(text) is None and _alternatives(text) is not None


def admits(text: str, release: Release) -> bool:
    """Whether the range takes that release; False for a text that is no range."""
    number = (release.major, release.minor_number, release.patch)
    return any(all(test(number) for test in tests) for tests in _alternatives(text) or ())


def _alternatives(text: str) -> list[list[Test]] | None:
    """The tests of each alternative; None if one of them cannot be read. No text at all takes any version."""
    if len(text) > _MAX_LENGTH:
        return None
    found = [_tests(part) for part in (text.strip() or ANY).split("||")]
    return None if None in found else [tests for tests in found if tests is not None]


def _tests(text: str) -> list[Test] | None:
    text = _HYPHEN.sub(r">=\1 <=\2", text.strip()).replace(",", " ")
    tests, at = [], 0
    while at < len(text):
        match = _TERM.match(text, at)
        if match is None or (match.end() < len(text) and text[match.end()] != " "):
            return None
        tests.append(_test(match[1] or "=", [part for part in match.groups()[1:] if part]))
        at = match.end() + len(text[match.end() :]) - len(text[match.end() :].lstrip())
    return tests or None


def _test(operator: str, parts: list[str]) -> Test:
    given = [int(part) for part in parts[: next((n for n, part in enumerate(parts) if part in "xX*"), len(parts))]]
    low: Number = _padded(given)
    past = _next(given)
    match operator:
        case "=":
            return lambda number: low <= number < past
        case "!=":
            return lambda number: not low <= number < past
        case ">=" | "=>":
            return lambda number: number >= low
        case "<":
            return lambda number: number < low
        case ">":
            return lambda number: number >= past
        case "<=" | "=<":
            return lambda number: number < past
        case "~" | "~>":
            return lambda number: low <= number < _next(given[:2])
        case _:
            return lambda number: low <= number < _next(_same_major(given))


def _same_major(given: list[int]) -> list[int]:
    """The leading numbers that a caret keeps: up to the first that is not zero."""
    return given[: next((n + 1 for n, number in enumerate(given) if number), len(given))]


def _padded(given: list[int]) -> Number:
    major, minor, patch = (*given, 0, 0, 0)[:3]
    return major, minor, patch


def _next(given: list[int]) -> Number:
    """The first version behind all that begin with these numbers."""
    if not given:
        return 10**9, 0, 0
    return _padded([*given[:-1], given[-1] + 1])

"""Matches text of a policy with text of a request: wildcards, policy variables, and placeholders that
are not filled.
"""

import re
from collections.abc import Callable, Sequence
from enum import Enum
from functools import lru_cache

from migrations_app.iam.three_valued_logic import Tri, all_of

# The values of a key in the request; () if it is known not to carry the key, None if it is not stated.
KeyLookup = Callable[[str], tuple[str, ...] | None]

_PIECE = re.compile(r"\$\{([^{}]*)\}|.", re.DOTALL)
_DEFAULTED = re.compile(r"([^,]*),\s*'([^']*)'\s*")


class Wildcard(Enum):
    """A pattern token that is not a plain character."""

    MANY = "*"
    ONE = "?"
    HOLE = "a value that is not known"


_MANY = (Wildcard.MANY, Wildcard.HOLE)

Token = str | Wildcard
Tokens = tuple[Token, ...]


def tokens_of(text: str, lookup: KeyLookup, *, variables: bool, wildcards: bool) -> Tokens | None:
    """The text split into characters, wildcards and unknown parts; None if a variable has no value, so that nothing
    matches.
    """
    tokens: list[Token] = []
    for piece in _PIECE.finditer(text):
        name = piece[1]
        if name is None:
            tokens.append(Wildcard(piece[0]) if wildcards and piece[0] in "*?" else piece[0])
            continue
        value = _value(name, lookup, variables=variables)
        if value is None:
            return None
        tokens.extend(value)
    return tuple(tokens)


def _value(name: str, lookup: KeyLookup, *, variables: bool) -> Tokens | None:
    if name in ("*", "?", "$"):
        return (name,)
    if ":" not in name or "::" in name:
        return (Wildcard.HOLE,)
    if not variables:  # documents of version 2008 have no variables: the text is literal
        return tuple(f"${{{name}}}")
    defaulted = _DEFAULTED.fullmatch(name)
    sent = lookup(defaulted[1].rstrip() if defaulted else name)
    if sent == ():
        return tuple(defaulted[2]) if defaulted else None
    return tuple(sent[0]) if sent is not None and len(sent) == 1 else (Wildcard.HOLE,)


def matches(tokens: Tokens | None, text: str) -> Tri:
    """Whether the whole text matches; None if that depends on an unknown part."""
    if tokens is None:
        return False
    is_match = _glob(tokens, text)
    return None if is_match and Wildcard.HOLE in tokens else is_match


@lru_cache(maxsize=8192)  # a scan matches each pattern with the same few hundred actions for every release
def action_matches(pattern: str, action: str) -> Tri:
    """Whether an Action element matches the action, ignoring case."""
    pattern, action = pattern.lower(), action.lower()
    if "${" not in pattern:
        return _text_matches(pattern, action)
    return matches(tokens_of(pattern, _nothing, variables=False, wildcards=True), action)


def resource_matches(pattern: str, resource: str, *, lookup: KeyLookup, variables: bool) -> Tri:
    """Whether a Resource element matches the resource; like IAM, an ARN with too few fields is padded with `*`."""
    if pattern.startswith("arn:") and (missing := 5 - _PIECE_OF_ARN.sub("", pattern).count(":")) > 0:
        pattern += ":*" * missing
    if "${" not in pattern:
        return _text_matches(pattern, resource)
    return matches(tokens_of(pattern, lookup, variables=variables, wildcards=True), resource)


def _text_matches(pattern: str, text: str) -> bool:
    """Whether the whole text matches a pattern without variables: each part between two stars is looked for where the
    part before it ended. Compiles no regular expression, because a document may contain thousands of patterns.
    """
    first, *others = pattern.split("*")
    if not others:
        return len(pattern) == len(text) and _fits(pattern, text)
    last = others.pop()
    place, end = len(first), len(text) - len(last)
    if end < place or not _fits(first, text) or not _fits(last, text, place=end):
        return False
    for part in others:
        found = _find(part, text, start=place)
        if found < 0:
            return False
        place = found + len(part)
    return place <= end


def _fits(part: str, text: str, *, place: int = 0) -> bool:
    """Whether the part, which may contain `?`, matches the text at that place, where the text is long enough."""
    if "?" not in part:
        return text.startswith(part, place)
    return all(sign in ("?", other) for sign, other in zip(part, text[place : place + len(part)], strict=True))


def _find(part: str, text: str, *, start: int) -> int:
    """Where the part next matches the text from `start` on; -1 if nowhere. Looks for its longest run without `?`."""
    if "?" not in part:
        return text.find(part, start)
    run = max(part.split("?"), key=len)
    offset = part.index(run)
    found = text.find(run, start + offset)
    while found >= 0 and found - offset + len(part) <= len(text):
        if _fits(part, text, place=found - offset):
            return found - offset
        found = text.find(run, found + 1)
    return -1


def _glob(pattern: Sequence[Token], text: str) -> bool:
    """Whether the whole text matches.

    A mismatch backtracks to the last star only, since everything before it matched as early as possible: the cost
    is at most the product of both lengths, even for hostile input.
    """
    at = place = 0
    star, resume = -1, 0
    while at < len(text):
        sign = pattern[place] if place < len(pattern) else None
        if sign in _MANY:
            star, resume = place, at
            place += 1
        elif sign == Wildcard.ONE or sign == text[at]:
            at, place = at + 1, place + 1
        elif star >= 0:
            resume += 1
            at, place = resume, star + 1
        else:
            return False
    return all(sign in _MANY for sign in pattern[place:])


_PIECE_OF_ARN = re.compile(r"\$\{[^{}]*\}")


def arn_matches(tokens: Tokens | None, arn: str) -> Tri:
    """Whether the six fields of an ARN match one by one, as the Arn operators compare them."""
    fields = arn.split(":", 5)
    if tokens is None or len(fields) != 6:
        return False
    patterns = _split(tokens)
    if len(patterns) != 6:
        return None if Wildcard.HOLE in tokens else False
    return all_of(matches(pattern, part) for pattern, part in zip(patterns, fields, strict=True))


def _split(tokens: Tokens) -> list[Tokens]:
    patterns: list[list[Token]] = [[]]
    for token in tokens:
        if token in {":"} and len(patterns) < 6:
            patterns.append([])
        else:
            patterns[-1].append(token)
    return [tuple(pattern) for pattern in patterns]


def _nothing(key: str) -> None:  # noqa: ARG001 - has the shape of Look; an action is no place for variables
    return None

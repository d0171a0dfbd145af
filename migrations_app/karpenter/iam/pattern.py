"""Matching text of a policy against text of a request: wildcards, policy variables, placeholders nobody filled."""

import re
from collections.abc import Callable
from enum import Enum
from functools import lru_cache

from migrations_app.karpenter.iam.tri import Tri, all_of

# What the request says of a key: its values, () when it is known not to carry the key, None when nobody stated it.
Look = Callable[[str], tuple[str, ...] | None]

_PIECE = re.compile(r"\$\{([^{}]*)\}|.", re.DOTALL)
_DEFAULTED = re.compile(r"([^,]*?)\s*,\s*'([^']*)'\s*")


class Wild(Enum):
    """What stands in a pattern beside plain characters."""

    MANY = "*"
    ONE = "?"
    HOLE = "a value that is not known"


Token = str | Wild
Tokens = tuple[Token, ...]


def tokens_of(text: str, look: Look, *, variables: bool, wildcards: bool) -> Tokens | None:
    """The text cut into characters, wildcards and holes; None when a variable has no value, so that nothing matches."""
    tokens: list[Token] = []
    for piece in _PIECE.finditer(text):
        name = piece[1]
        if name is None:
            tokens.append(Wild(piece[0]) if wildcards and piece[0] in "*?" else piece[0])
            continue
        value = _value(name, look, variables=variables)
        if value is None:
            return None
        tokens.extend(value)
    return tuple(tokens)


def _value(name: str, look: Look, *, variables: bool) -> Tokens | None:
    if name in ("*", "?", "$"):
        return (name,)
    if ":" not in name or "::" in name:
        return (Wild.HOLE,)
    if not variables:  # documents of 2008 know no variables: the text stands for itself
        return tuple(f"${{{name}}}")
    defaulted = _DEFAULTED.fullmatch(name)
    sent = look(defaulted[1] if defaulted else name)
    if sent == ():
        return tuple(defaulted[2]) if defaulted else None
    return tuple(sent[0]) if sent is not None and len(sent) == 1 else (Wild.HOLE,)


def matches(tokens: Tokens | None, text: str) -> Tri:
    """Whether the whole text matches; None when that hangs on a hole."""
    if tokens is None:
        return False
    found = _compiled(tokens).fullmatch(text) is not None
    return None if found and Wild.HOLE in tokens else found


@lru_cache(maxsize=4096)
def _compiled(tokens: Tokens) -> re.Pattern[str]:
    """Atomic groups keep the search linear, however many stars a hostile document strings together."""
    runs: list[str] = [""]
    for token in tokens:
        if token in (Wild.MANY, Wild.HOLE):
            runs.append("")
        else:
            runs[-1] += "." if token is Wild.ONE else re.escape(str(token))
    if len(runs) == 1:
        return re.compile(runs[0], re.DOTALL)
    middle = "".join(f"(?>.*?{run})" for run in runs[1:-1] if run)
    return re.compile(f"{runs[0]}{middle}.*{runs[-1]}", re.DOTALL)


def action_matches(pattern: str, action: str) -> Tri:
    """Whether an Action element names the action; case does not matter."""
    return matches(tokens_of(pattern.lower(), _nothing, variables=False, wildcards=True), action.lower())


def resource_matches(pattern: str, resource: str, *, look: Look, variables: bool) -> Tri:
    """Whether a Resource element names the resource; an ARN with too few fields is filled up with stars, as by IAM."""
    if pattern.startswith("arn:") and (missing := 5 - _PIECE_OF_ARN.sub("", pattern).count(":")) > 0:
        pattern += ":*" * missing
    return matches(tokens_of(pattern, look, variables=variables, wildcards=True), resource)


_PIECE_OF_ARN = re.compile(r"\$\{[^{}]*\}")


def arn_matches(tokens: Tokens | None, arn: str) -> Tri:
    """Whether the six fields of an ARN match one by one, as the Arn operators compare them."""
    fields = arn.split(":", 5)
    if tokens is None or len(fields) != 6:
        return False
    patterns = _split(tokens)
    if len(patterns) != 6:
        return None if Wild.HOLE in tokens else False
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

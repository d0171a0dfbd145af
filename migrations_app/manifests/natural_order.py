"""The order in which people read names: node-2 before node-10."""

import re

_DIGITS = re.compile(r"([0-9]+)")


def natural(name: str) -> tuple[tuple[str | tuple[int, str], ...], str]:
    """The sort key of a name: numbers are compared as numbers of any length; names that are equal then are ordered by
    their text."""
    pieces = _DIGITS.split(name)
    return tuple(_number(piece) if at % 2 else piece for at, piece in enumerate(pieces)), name


def _number(digits: str) -> tuple[int, str]:
    significant = digits.lstrip("0")
    return len(significant), significant

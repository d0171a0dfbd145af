"""Plain scalars of YAML as kubectl reads them, and which strings must be quoted to come back as strings.

kubectl reads YAML with go-yaml 2: `y`, `on` and `12e6` are no strings there, `2024-02-03` and `1:30` are. PyYAML
differs in all of these. Source: gopkg.in/yaml.v2 resolve.go, results compared with kubectl.
"""

import json
import re
from functools import lru_cache
from typing import Any, Final

Plain = Any
"""A decoded value: text, number, true or false, None, list or map."""

Scalar = str | int | float | bool | None

_NULLS: Final = ("", "~", "null", "Null", "NULL")
_TRUE: Final = ("y", "yes", "on", "true")
_FALSE: Final = ("n", "no", "off", "false")
_WORDS: Final[dict[str, Scalar]] = {
    **dict.fromkeys(_NULLS),
    **{form: True for word in _TRUE for form in (word, word.capitalize(), word.upper())},
    **{form: False for word in _FALSE for form in (word, word.capitalize(), word.upper())},
    **{form: float("nan") for form in (".nan", ".NaN", ".NAN")},
    **{sign + form: float(f"{sign}inf") for sign in ("", "+", "-") for form in (".inf", ".Inf", ".INF")},
}
_FLOAT: Final = re.compile(r"[-+]?(?:\.\d+|\d+(?:\.\d*)?)(?:[eE][-+]?\d+)?", re.ASCII)
# As Go's ParseInt with base 0: 0x1f, 0b11, 0o17 and 017 are numbers, 08 is none
_BASES: Final = (
    (re.compile(r"[-+]?(?:0|[1-9]\d*)", re.ASCII), 10),
    (re.compile(r"[-+]?0[xX][0-9a-fA-F]+"), 16),
    (re.compile(r"[-+]?0[oO]?[0-7]+"), 8),
    (re.compile(r"[-+]?0[bB][01]+"), 2),
)
_LONGEST_NUMBER: Final = 64
_WIDEST_INTEGER: Final = 2**64
_ASTRAL: Final = 0x10000
_NUMBER_STARTS: Final = frozenset("+-.0123456789")


def _integer(text: str) -> int | None:
    return next((int(text, base) for pattern, base in _BASES if pattern.fullmatch(text)), None)


@lru_cache(maxsize=4096)
def resolved(text: str) -> Scalar:
    """The value of a plain scalar."""
    if text in _WORDS:
        return _WORDS[text]
    if text[0] not in _NUMBER_STARTS or len(text) > _LONGEST_NUMBER:
        return text
    plain = text.replace("_", "")
    number = _integer(plain)
    if number is not None and -_WIDEST_INTEGER < number < _WIDEST_INTEGER:
        return number
    if _FLOAT.fullmatch(plain):
        return float(plain)
    return text


# Letters and the usual separators, and nothing that YAML reads in another way at the start, inside or at the end.
_SAFE: Final = re.compile(r"[A-Za-z/$_](?:[A-Za-z0-9_./$@%+=-]|:(?=[^\s])|,(?=\S)| (?=[A-Za-z0-9_./$(]))*", re.ASCII)


@lru_cache(maxsize=4096)
def quoted(text: str) -> str:
    """The string as a one-line YAML scalar, in double quotes unless it is safe without."""
    if _SAFE.fullmatch(text) and text not in _WORDS and not text.endswith(":"):
        return text
    return "".join(map(_escaped, json.dumps(text, ensure_ascii=False)))


def _escaped(character: str) -> str:
    if character.isprintable():
        return character
    code = ord(character)
    return f"\\u{code:04x}" if code < _ASTRAL else f"\\U{code:08x}"

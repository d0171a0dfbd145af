"""Writes plain values as YAML that kubectl reads back as the same values, with the line of every field.

kubectl parses YAML with go-yaml 2, in which `y`, `on` and `12e6` are not strings but `2024-02-03` and `1:30` are;
PyYAML differs in all of these. Source: gopkg.in/yaml.v2 resolve.go, results compared with kubectl.
"""

import json
import math
import re
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any, Final

Plain = Any
"""A decoded value: string, number, boolean, None, list or map."""

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
# Like Go's ParseInt with base 0: 0x1f, 0b11, 0o17 and 017 are numbers, 08 is not
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


# Letters and the usual separators; excludes everything that YAML reads differently at the start, in the middle or at
# the end.
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


DocumentPath = tuple[str | int, ...]
LineMarks = dict[DocumentPath, int]

_STEP = "  "
_LONGEST_KEY: Final = 1000
"""Longer keys are written with `?`: readers look at most 1,024 characters ahead for the colon."""


class _Writer:
    """The lines of one document; `marks` maps every path to its line number, from 1."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.marks: LineMarks = {}

    def map(self, value: Mapping[str, Any], pad: str, *, at: DocumentPath) -> None:
        for key, item in value.items():
            name, value_path, start = quoted(str(key)), (*at, key), len(self.lines) + 1
            if len(name) > _LONGEST_KEY:
                self.lines.append(f"{pad}? {name}")
                name = ""
            self.entry(f"{pad}{name}:", item, pad=pad, at=value_path)
            self.marks[value_path] = start

    def list(self, value: list[Any], pad: str, *, at: DocumentPath) -> None:
        for index, item in enumerate(value):
            item_path = (*at, index)
            if isinstance(item, Mapping | list) and item:
                start = len(self.lines)
                self.marks[item_path] = start + 1
                inner = pad + _STEP
                if isinstance(item, list):
                    self.list(item, inner, at=item_path)
                else:
                    self.map(item, inner, at=item_path)
                self.lines[start] = f"{pad}- {self.lines[start][len(inner) :]}"
            else:
                self.entry(f"{pad}-", item, pad=pad, at=item_path)

    def entry(self, head: str, item: Plain, *, pad: str, at: DocumentPath) -> None:
        self.marks[at] = len(self.lines) + 1
        if isinstance(item, Mapping) and item:
            self.lines.append(head)
            self.map(item, pad + _STEP, at=at)
        elif isinstance(item, list) and item:
            self.lines.append(head)
            self.list(item, pad, at=at)
        elif isinstance(item, str) and _fits_block(item):
            self.lines.append(f"{head} {_block_header(item)}")
            self.lines += [f"{pad}{_STEP}{line}" if line else "" for line in _block_lines(item)]
        else:
            self.lines.append(f"{head} {_scalar(item)}")


def _fits_block(text: str) -> bool:
    """True for multi-line text that YAML can hold as a block unchanged."""
    return "\n" in text.strip("\n") and all(line.replace("\t", " ").isprintable() for line in text.split("\n"))


def _block_lines(text: str) -> list[str]:
    return (text[:-1] if text.endswith("\n") else text).split("\n")


def _block_header(text: str) -> str:
    first = text.lstrip("\n")
    indent = "2" if first[:1] in (" ", "\t") or text[:1] == "\n" else ""
    if not text.endswith("\n"):
        return f"|{indent}-"
    return f"|{indent}+" if text.endswith("\n\n") else f"|{indent}"


def _scalar(value: Plain) -> str:
    if isinstance(value, str):
        return quoted(value)
    if value is None:
        return "null"
    if isinstance(value, float) and not math.isfinite(value):
        return ".nan" if math.isnan(value) else ".inf" if value > 0 else "-.inf"
    written = json.dumps(value)
    # A number by the rules of YAML 1.1 too only with a dot: 1e+308 is text there.
    return written.replace("e", ".0e") if isinstance(value, float) and "." not in written else written


def text_and_lines(body: Mapping[str, Any]) -> tuple[str, LineMarks]:
    """The document as YAML, and the line number of every path in it, from 1."""
    writer = _Writer()
    writer.map(body, "", at=())
    return "\n".join(writer.lines) + "\n", writer.marks


def list_text(value: list[Any]) -> list[str]:
    """The lines of a top-level list."""
    writer = _Writer()
    writer.list(value, "", at=())
    return writer.lines


def text_of(body: Mapping[str, Any], *, head: str = "") -> str:
    """The document as YAML, after these comment lines."""
    text = text_and_lines(body)[0]
    return f"{head.rstrip()}\n{text}" if head.strip() else text


def stream(documents: Iterable[str]) -> str:
    """Documents joined with `---` between them."""
    return "---\n".join(documents)

"""Plain values as YAML text that kubectl reads back as the same values, with the line of every field."""

import json
import math
from collections.abc import Iterable, Mapping
from typing import Any

from migrations_app.karpenter.yaml_scalars import Plain, quoted

Path = tuple[str | int, ...]
Marks = dict[Path, int]

_STEP = "  "


class _Writer:
    """Lines of one document; `marks` holds the line number, from 1, of every path."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.marks: Marks = {}

    def map(self, value: Mapping[str, Any], pad: str, *, at: Path) -> None:
        for key, item in value.items():
            self.entry(f"{pad}{quoted(str(key))}:", item, pad=pad, at=(*at, key))

    def list(self, value: list[Any], pad: str, *, at: Path) -> None:
        for index, item in enumerate(value):
            here = (*at, index)
            if isinstance(item, Mapping | list) and item:
                start = len(self.lines)
                self.marks[here] = start + 1
                inner = pad + _STEP
                if isinstance(item, list):
                    self.list(item, inner, at=here)
                else:
                    self.map(item, inner, at=here)
                self.lines[start] = f"{pad}- {self.lines[start][len(inner) :]}"
            else:
                self.entry(f"{pad}-", item, pad=pad, at=here)

    def entry(self, head: str, item: Plain, *, pad: str, at: Path) -> None:
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
    """True for several lines that YAML can hold as they are."""
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
    return json.dumps(value)


def text_and_lines(body: Mapping[str, Any]) -> tuple[str, Marks]:
    """The document as YAML, and the line number of every path in it, counted from 1."""
    writer = _Writer()
    writer.map(body, "", at=())
    return "\n".join(writer.lines) + "\n", writer.marks


def list_text(value: list[Any]) -> list[str]:
    """The lines of a list that stands alone."""
    writer = _Writer()
    writer.list(value, "", at=())
    return writer.lines


def text_of(body: Mapping[str, Any], *, head: str = "") -> str:
    """The document as YAML, behind these comment lines."""
    text = text_and_lines(body)[0]
    return f"{head.rstrip()}\n{text}" if head.strip() else text


def stream(documents: Iterable[str]) -> str:
    """Documents joined with `---` between them."""
    return "---\n".join(documents)

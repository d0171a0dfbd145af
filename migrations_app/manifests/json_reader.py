"""JSON text in the same form as composed YAML: faster than the YAML reader, and correct where YAML differs (tabs,
surrogates).
"""

import json
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

import yaml

from migrations_app.manifests.writer import DocumentPath, Plain
from migrations_app.manifests.yaml_reader import MANIFESTS, Composed, NotReadable, Repeat, compose

_SURROGATE: Final = re.compile(r"\\u[dD][89a-fA-F]")
_SPACE: Final = re.compile(r"\s*")


@dataclass(frozen=True, slots=True)
class JsonDocument:
    composed: Composed
    start: int
    text: str


class _LazyLines(Composed):
    """Line numbers of JSON: the text is read again as YAML, once, when the first line number is needed."""

    text = ""

    @cached_property
    def _with_lines(self) -> Composed | None:
        try:
            return next(compose(self.text))
        except (NotReadable, yaml.YAMLError):
            return None

    def line_of(self, path: DocumentPath) -> int:
        return self._with_lines.line_of(path) if self._with_lines else self.line


class _Repeated(dict[str, Any]):
    """An object with a duplicate key, marked so that its path can be found."""

    key = ""


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result = dict(pairs)
    if len(result) == len(pairs):
        return result
    marked = _Repeated(result)
    times = Counter(key for key, _ in pairs)
    marked.key = next(key for key, count in times.items() if count > 1)
    return marked


_DECODER: Final = json.JSONDecoder(object_pairs_hook=_object)


def _repeats(value: Plain) -> Iterator[DocumentPath]:
    """The path of every duplicate key; raises NotReadable if the value is nested too deeply."""
    waiting: list[tuple[Any, DocumentPath]] = [(value, ())]
    while waiting:
        item, at = waiting.pop()
        if len(at) >= MANIFESTS.depth:
            raise NotReadable(f"nested deeper than {MANIFESTS.depth} levels", 0)
        if isinstance(item, _Repeated):
            yield (*at, item.key)
        if isinstance(item, dict):
            waiting += [(inner, (*at, key)) for key, inner in item.items() if isinstance(inner, dict | list)]
        elif isinstance(item, list):
            waiting += [(inner, (*at, index)) for index, inner in enumerate(item) if isinstance(inner, dict | list)]


def documents_of(text: str) -> list[JsonDocument] | None:
    """The concatenated JSON values; None if the text is not JSON. Raises NotReadable if a value is
    nested too deeply.
    """
    documents: list[JsonDocument] = []
    position = _end_of_space(text, 0)
    while position < len(text):
        try:
            value, end = _DECODER.raw_decode(text, position)
        except RecursionError as error:
            raise NotReadable(f"nested deeper than {MANIFESTS.depth} levels", 0) from error
        except ValueError:
            return None
        composed = _LazyLines(value)
        composed.text = text[position:end]
        composed.repeats = [Repeat(path, composed.line_of(path)) for path in _repeats(value)]
        _refuse_half_characters(value, text, start=position, end=end)
        documents.append(JsonDocument(composed, position, composed.text))
        position = _end_of_space(text, end)
    return documents


def _refuse_half_characters(value: Plain, text: str, *, start: int, end: int) -> None:
    """Half of a surrogate pair is no character; it could never be written out again."""
    match = _SURROGATE.search(text, start, end)
    if match:
        try:
            json.dumps(value, ensure_ascii=False).encode()
        except UnicodeEncodeError as error:
            line = text.count("\n", 0, match.start())
            raise NotReadable("a text holds half a character (a lone surrogate)", line) from error


def _end_of_space(text: str, start: int) -> int:
    match = _SPACE.match(text, start)
    return match.end() if match else start

"""JSON text in the same form as composed YAML: faster than the YAML reader, and correct where YAML differs (tabs,
surrogates).
"""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

import yaml

from migrations_app.manifests.writer import Path, Plain
from migrations_app.manifests.yaml_reader import Composed, NotReadable, Repeat, compose

_DEEPEST: Final = 100
_SURROGATE: Final = re.compile(r"\\u[dD][89a-fA-F]")
_SPACE: Final = re.compile(r"\s*")


@dataclass(frozen=True, slots=True)
class JsonDocument:
    composed: Composed
    start: int
    text: str


class _LazyLines(Composed):
    """A JSON document without line numbers; they are computed from the text on request."""

    text = ""

    def line_of(self, path: Path) -> int:
        try:
            again = next(compose(self.text))
        except (NotReadable, yaml.YAMLError):
            return self.line
        return again.line_of(path)


class _Repeated(dict[str, Any]):
    """An object with a duplicate key, marked so that its path can be found."""

    key = ""


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) == len(pairs):
        return found
    marked = _Repeated(found)
    keys = [key for key, _ in pairs]
    marked.key = next(key for key in keys if keys.count(key) > 1)
    return marked


_DECODER: Final = json.JSONDecoder(object_pairs_hook=_object)


def _repeats(value: Plain) -> Iterator[Path]:
    """The path of every duplicate key; raises NotReadable if the value is nested too deeply."""
    waiting: list[tuple[Any, Path]] = [(value, ())]
    while waiting:
        item, at = waiting.pop()
        if len(at) > _DEEPEST:
            raise NotReadable(f"nested deeper than {_DEEPEST} levels", 0)
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
    found: list[JsonDocument] = []
    position = _end_of_space(text, 0)
    while position < len(text):
        try:
            value, end = _DECODER.raw_decode(text, position)
        except RecursionError as error:
            raise NotReadable(f"nested deeper than {_DEEPEST} levels", 0) from error
        except ValueError:
            return None
        composed = _LazyLines(value)
        composed.text = text[position:end]
        composed.repeats = [Repeat(path, composed.line_of(path)) for path in _repeats(value)]
        _refuse_half_characters(value, text, start=position)
        found.append(JsonDocument(composed, position, composed.text))
        position = _end_of_space(text, end)
    return found


def _refuse_half_characters(value: Plain, text: str, *, start: int) -> None:
    """Raises NotReadable for a lone surrogate: it is not a character and could not be written again."""
    found = _SURROGATE.search(text, start)
    if found:
        try:
            json.dumps(value, ensure_ascii=False).encode()
        except UnicodeEncodeError as error:
            line = text.count("\n", 0, found.start())
            raise NotReadable("a text holds half a character (a lone surrogate)", line) from error


def _end_of_space(text: str, start: int) -> int:
    match = _SPACE.match(text, start)
    return match.end() if match else start

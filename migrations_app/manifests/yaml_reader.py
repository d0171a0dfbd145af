"""YAML text as plain values, with the line of every key, duplicate keys, and a limit on alias expansion."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

import yaml
from yaml.events import (
    AliasEvent,
    DocumentStartEvent,
    MappingEndEvent,
    MappingStartEvent,
    ScalarEvent,
    SequenceEndEvent,
    StreamEndEvent,
)

from migrations_app.errors import InvalidManifest
from migrations_app.manifests.writer import Path, Plain, resolved

# libyaml if the wheel includes it, which is 10 times as fast
_LOADER: Final[Any] = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_DEEPEST: Final = 100
_MOST_BY_ALIAS: Final = 100_000
_RESOLVED_TAGS: Final = frozenset(f"tag:yaml.org,2002:{name}" for name in ("int", "float", "bool", "null"))
_MERGE: Final = "<<"
Tagged = Callable[[str, Plain], Plain]


class NotReadable(InvalidManifest):
    """The document exceeds a limit, or uses YAML that no manifest contains; `line` starts at 0."""

    def __init__(self, what: str, line: int) -> None:
        super().__init__(what)
        self.line = line


class Repeat(NamedTuple):
    path: Path
    line: int


@dataclass(slots=True)
class Composed:
    """One document: its value, the line of each key by container, and its duplicate keys."""

    value: Plain
    lines: dict[tuple[int, str | int], int] = field(default_factory=dict)
    repeats: list[Repeat] = field(default_factory=list)
    line: int = 0

    def line_of(self, path: Path) -> int:
        """The line, from 0, of the field or of its nearest ancestor in the text."""
        found, value = self.line, self.value
        for step in path:
            line = self.lines.get((id(value), step))
            if line is None:
                break
            found = line
            value = value[step]
        return found


class _Anchor(NamedTuple):
    value: Plain
    size: int


class _Document:
    """Composes one document from parser events."""

    def __init__(self, next_event: Callable[[], Any]) -> None:
        self.next_event = next_event
        self.anchors: dict[str, _Anchor | None] = {}
        self.lines: dict[tuple[int, str | int], int] = {}
        self.repeats: list[Repeat] = []
        self.count = 0
        self.by_alias = 0

    def node(self, event: Plain, at: Path) -> Plain:
        self.count += 1
        kind = type(event)
        if kind is ScalarEvent:
            value = _scalar(event)
            if event.anchor:
                self.anchors[event.anchor] = _Anchor(value, 1)
            return value
        if kind is AliasEvent:
            return self._alias(event)
        if len(at) > _DEEPEST:
            raise NotReadable(f"nested deeper than {_DEEPEST} levels", event.start_mark.line)
        before = self.count
        if event.anchor:
            self.anchors[event.anchor] = None
        value = self._map(at) if kind is MappingStartEvent else self._list(at)
        if event.anchor:
            self.anchors[event.anchor] = _Anchor(value, self.count - before + 1)
        return value

    def _alias(self, event: Plain) -> Plain:
        anchor = self.anchors.get(event.anchor)
        if anchor is None:
            known = event.anchor in self.anchors
            what = f"the alias *{event.anchor} {'holds itself' if known else 'has no anchor'}"
            raise NotReadable(what, event.start_mark.line)
        self.count += anchor.size
        self.by_alias += anchor.size
        if self.by_alias > _MOST_BY_ALIAS:
            raise NotReadable(f"aliases expand to more than {_MOST_BY_ALIAS} values", event.start_mark.line)
        return anchor.value

    def _list(self, at: Path) -> list[Any]:
        found: list[Any] = []
        event = self.next_event()
        while type(event) is not SequenceEndEvent:
            index = len(found)
            self.lines[id(found), index] = event.start_mark.line
            found.append(self.node(event, (*at, index)))
            event = self.next_event()
        return found

    def _map(self, at: Path) -> dict[str, Any]:
        found: dict[str, Any] = {}
        merged: list[Any] = []
        event = self.next_event()
        while type(event) is not MappingEndEvent:
            key, line = self._key(event), event.start_mark.line
            is_merge = key == _MERGE and type(event) is ScalarEvent and event.implicit[0]
            value = self.node(self.next_event(), (*at, key))
            if is_merge:
                merged += value if isinstance(value, list) else [value]
            else:
                if key in found:
                    self.repeats.append(Repeat((*at, key), line))
                found[key] = value
                self.lines[id(found), key] = line
            event = self.next_event()
        for value in merged:
            for key, item in value.items() if isinstance(value, dict) else ():
                found.setdefault(key, item)
        return found

    def _key(self, event: Plain) -> str:
        if type(event) is AliasEvent:
            value = self._alias(event)
        elif type(event) is ScalarEvent:
            value = self.node(event, ())
        else:
            raise NotReadable("a key is a map or a list", event.start_mark.line)
        if isinstance(value, bool):
            return "true" if value else "false"
        if isinstance(value, dict | list):
            raise NotReadable("a key is a map or a list", event.start_mark.line)
        return "null" if value is None else str(value)


class _Tagged(_Document):
    """A document whose application tags (`!Name`) have a meaning."""

    def __init__(self, next_event: Callable[[], Any], tagged: Tagged) -> None:
        super().__init__(next_event)
        self.tagged = tagged

    def node(self, event: Plain, at: Path) -> Plain:
        value = super().node(event, at)
        tag = getattr(event, "tag", None) or ""
        return self.tagged(tag[1:], value) if tag.startswith("!") and len(tag) > 1 else value


def _scalar(event: Plain) -> Plain:
    if event.implicit[0]:
        return resolved(event.value)
    return resolved(event.value) if event.tag in _RESOLVED_TAGS else event.value


def compose(text: str, *, tagged: Tagged | None = None) -> Iterator[Composed]:
    """The documents of the text. Raises NotReadable, or yaml.YAMLError if the text is not YAML.

    `tagged` converts a tag such as `!Sub` and its value; without it such tags are ignored.
    """
    loader = _LOADER(text)
    try:
        event = loader.get_event()
        while not isinstance(event, StreamEndEvent):
            if isinstance(event, DocumentStartEvent):
                start = loader.get_event()
                document = _Tagged(loader.get_event, tagged) if tagged else _Document(loader.get_event)
                value = document.node(start, ())
                yield Composed(value, document.lines, document.repeats, start.start_mark.line)
            event = loader.get_event()
    finally:
        loader.dispose()

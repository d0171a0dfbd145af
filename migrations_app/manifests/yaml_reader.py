"""Reads YAML into plain values from PyYAML's events, within limits. Two readers share the walk over the events:

`read_documents` is for kubeconfigs, bundles and charts: no alias, anchor, tag or repeated key, and only the values of
JSON. `compose` is for manifests and templates: values as kubectl reads them, the line of every key, repeated keys
reported, and every alias counted with all its values.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

import yaml
from yaml.events import (
    AliasEvent,
    DocumentStartEvent,
    MappingStartEvent,
    ScalarEvent,
    SequenceStartEvent,
    StreamEndEvent,
)

from migrations_app.errors import InvalidInput, InvalidManifest
from migrations_app.manifests.writer import DocumentPath, Plain, resolved

KIB: Final = 1024
MIB: Final = 1024 * KIB


@dataclass(frozen=True, slots=True, kw_only=True)
class YamlLimits:
    """`size` in bytes; `depth`: nested maps and lists; `nodes`: scalars, maps and lists together.

    `alias_nodes`: values that all aliases of one document may stand for together.
    """

    size: int = 256 * KIB
    documents: int = 1
    depth: int = 20
    nodes: int = 10_000
    alias_nodes: int = 0


SMALL: Final = YamlLimits()
"""For pasted text: a kubeconfig, a form field."""
MANIFESTS: Final = YamlLimits(size=8 * MIB, documents=100_000, depth=100, nodes=8 * MIB, alias_nodes=100_000)
"""For manifest files and CloudFormation templates."""

# libyaml if the wheel contains it: 10 times as fast
_LOADER: Final[Any] = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_RESOLVED_TAGS: Final = frozenset(f"tag:yaml.org,2002:{name}" for name in ("int", "float", "bool", "null"))
_MERGE: Final = "<<"
_BYTE_ORDER_MARKS: Final = (b"\xff\xfe", b"\xfe\xff")
_NULL: Final = frozenset({"", "~", "null", "Null", "NULL"})
_TRUE: Final = frozenset({"true", "True", "TRUE"})
_FALSE: Final = frozenset({"false", "False", "FALSE"})
# Longer numbers than the API's own 64 bits stay text: int() of thousands of digits raises.
_WHOLE: Final = re.compile(r"[-+]?[0-9]{1,18}")
_FRACTION: Final = re.compile(
    r"[-+]?(?:[0-9]{1,30}\.[0-9]{0,30}|\.[0-9]{1,30}|[0-9]{1,30}(?=[eE]))(?:[eE][-+]?[0-9]{1,2})?"
)
Tagging = Callable[[str, Plain], Plain]
YamlEvent = Any
"""PyYAML has no types for its C parser."""


class NotReadable(InvalidManifest):
    """The document exceeds a limit, or uses YAML that no manifest contains; `line` starts at 0."""

    def __init__(self, message: str, line: int) -> None:
        super().__init__(message)
        self.line = line


class Repeat(NamedTuple):
    path: DocumentPath
    line: int


@dataclass(slots=True)
class Composed:
    """One document: its value, the line of each key by container, and its duplicate keys."""

    value: Plain
    lines: dict[tuple[int, str | int], int] = field(default_factory=dict)
    repeats: list[Repeat] = field(default_factory=list)
    line: int = 0

    def line_of(self, path: DocumentPath) -> int:
        """The line, from 0, of the field or of its nearest ancestor in the text."""
        result, value = self.line, self.value
        for step in path:
            line = self.lines.get((id(value), step))
            if line is None:
                break
            result = line
            value = value[step]
        return result


class _Anchor(NamedTuple):
    value: Plain
    size: int


@dataclass(slots=True)
class _Open:
    """A map or list that is not finished; `key` is the key whose value comes next."""

    value: Any
    event: YamlEvent
    nodes_before: int
    key: str | None = None
    key_line: int = 0
    is_merge: bool = False
    merged: list[Plain] = field(default_factory=list)


class _Composer:
    """Builds the value of a document out of events. This one accepts no anchor, alias, tag or repeated key."""

    key_rule = "a key must be text"

    def __init__(self, next_event: Callable[[], YamlEvent], limits: YamlLimits, *, error: type[InvalidInput]) -> None:
        self.next_event = next_event
        self.limits = limits
        self.error = error
        self.seal: Callable[[Plain], Plain] | None = None
        self.nodes = 0
        self.open: list[_Open] = []

    def document(self, event: YamlEvent) -> Plain:
        """The value of the document whose first node is this event."""
        root: list[Plain] = []
        self.open = [_Open(root, event, self.nodes)]
        while True:
            kind = type(event)
            if kind is ScalarEvent:
                self._count(event)
                self.scalar(event)
            elif kind is MappingStartEvent:
                self._begin({}, event)
            elif kind is SequenceStartEvent:
                self._begin([], event)
            elif kind is AliasEvent:
                self.alias(event)
            else:
                self.end(self.open.pop())
            if root:
                return root[0]
            event = self.next_event()

    def _count(self, event: YamlEvent) -> None:
        self.check(event)
        self.nodes += 1
        if self.nodes > self.limits.nodes:
            raise self.fault("yaml_nodes", f"more than {self.limits.nodes} values", line=event.start_mark.line)

    def _begin(self, value: Plain, event: YamlEvent) -> None:
        self._count(event)
        if self.is_key():
            raise self.fault("yaml_key", self.key_rule, line=event.start_mark.line)
        if len(self.open) > self.limits.depth:
            raise self.fault("yaml_depth", f"nested deeper than {self.limits.depth} levels", line=event.start_mark.line)
        self.open.append(_Open(value, event, self.nodes - 1))

    def is_key(self) -> bool:
        """Whether the next node is a key of a map."""
        parent = self.open[-1]
        return parent.key is None and type(parent.value) is dict

    def fault(self, code: str, message: str, *, line: int) -> InvalidInput:
        return self.error(message, code=code, where=f"line {line + 1}")

    def check(self, event: YamlEvent) -> None:
        """Raises the error for an anchor or a tag."""
        if event.anchor is not None:
            raise self.fault("yaml_anchor", "anchors are not accepted", line=event.start_mark.line)
        if event.tag is not None:
            raise self.fault("yaml_tag", "tags are not accepted", line=event.start_mark.line)

    def alias(self, event: YamlEvent) -> None:
        raise self.fault("yaml_alias", "aliases are not accepted", line=event.start_mark.line)

    def scalar(self, event: YamlEvent) -> None:
        if not self.is_key():
            self.put(json_value(event.value) if event.implicit[0] else event.value, event)
            return
        parent = self.open[-1]
        if event.value in parent.value:
            raise self.fault("yaml_duplicate_key", "a key is written twice in one map", line=event.start_mark.line)
        if event.value == _MERGE and event.implicit[0]:
            raise self.fault("yaml_alias", "merge keys are not accepted", line=event.start_mark.line)
        parent.key = event.value

    def end(self, done: _Open) -> None:
        self.put(done.value, done.event)

    def put(self, value: Plain, event: YamlEvent) -> None:  # noqa: ARG002 - composing with lines needs the event
        """Adds a finished value to the map or list that contains it."""
        parent = self.open[-1]
        if parent.key is not None:
            parent.value[parent.key] = value
            parent.key = None
        elif self.seal is not None and len(self.open) == 3 and self.open[1].key == "items":
            parent.value.append(self.seal(value))
        else:
            parent.value.append(value)


class _ManifestComposer(_Composer):
    """Also notes lines, resolves aliases, and reports repeated keys. `tagged` gives tags such as `!Name` a meaning."""

    key_rule = "a key is a map or a list"

    def __init__(self, next_event: Callable[[], YamlEvent], limits: YamlLimits, *, tagged: Tagging | None) -> None:
        super().__init__(next_event, limits, error=InvalidManifest)
        self.tagged = tagged
        self.anchors: dict[str, _Anchor | None] = {}
        self.lines: dict[tuple[int, str | int], int] = {}
        self.repeats: list[Repeat] = []
        self.by_alias = 0

    def fault(self, code: str, message: str, *, line: int) -> InvalidInput:  # noqa: ARG002 - manifests have one code
        return NotReadable(message, line)

    def check(self, event: YamlEvent) -> None:
        """Every anchor and tag is accepted; a collection's own anchor has no value before its end."""
        if event.anchor and type(event) is not ScalarEvent:
            self.anchors[event.anchor] = None

    def scalar(self, event: YamlEvent) -> None:
        value = resolved(event.value) if event.implicit[0] or event.tag in _RESOLVED_TAGS else event.value
        if event.anchor:
            self.anchors[event.anchor] = _Anchor(value, 1)
        self.put(self._with_tag(value, event), event)

    def end(self, done: _Open) -> None:
        for value in done.merged:
            for key, item in value.items() if isinstance(value, dict) else ():
                done.value.setdefault(key, item)
        if done.event.anchor:
            self.anchors[done.event.anchor] = _Anchor(done.value, self.nodes - done.nodes_before)
        self.put(self._with_tag(done.value, done.event), done.event)

    def alias(self, event: YamlEvent) -> None:
        anchor, line = self.anchors.get(event.anchor), event.start_mark.line
        if anchor is None:
            known = event.anchor in self.anchors
            raise NotReadable(f"the alias *{event.anchor} {'holds itself' if known else 'has no anchor'}", line)
        self.nodes += anchor.size
        self.by_alias += anchor.size
        if self.by_alias > self.limits.alias_nodes:
            raise NotReadable(f"aliases expand to more than {self.limits.alias_nodes} values", line)
        self.put(anchor.value, event)

    def put(self, value: Plain, event: YamlEvent) -> None:
        parent, line = self.open[-1], event.start_mark.line
        if type(parent.value) is list:
            if len(self.open) > 1:
                self.lines[id(parent.value), len(parent.value)] = line
            parent.value.append(value)
        elif parent.key is None:
            parent.key, parent.key_line = self._key(value, line), line
            parent.is_merge = parent.key == _MERGE and type(event) is ScalarEvent and event.implicit[0]
        else:
            self._put_in_map(parent, value)
            parent.key = None

    def _put_in_map(self, parent: _Open, value: Plain) -> None:
        key = str(parent.key)
        if parent.is_merge:
            parent.merged += value if isinstance(value, list) else [value]
            return
        if key in parent.value:
            self.repeats.append(Repeat((*self._path(), key), parent.key_line))
        parent.value[key] = value
        self.lines[id(parent.value), key] = parent.key_line

    def _path(self) -> DocumentPath:
        """The path of the innermost open map."""
        return tuple(len(above.value) if above.key is None else above.key for above in self.open[1:-1])

    def _key(self, value: Plain, line: int) -> str:
        if isinstance(value, bool):
            return "true" if value else "false"
        if isinstance(value, dict | list):
            raise NotReadable(self.key_rule, line)
        return "null" if value is None else str(value)

    def _with_tag(self, value: Plain, event: YamlEvent) -> Plain:
        tag = event.tag or ""
        return self.tagged(tag[1:], value) if self.tagged and tag.startswith("!") and len(tag) > 1 else value


def json_value(text: str) -> Plain:
    """The value of an unquoted scalar by YAML 1.2's core schema; what JSON cannot hold stays text."""
    if text in _NULL:
        return None
    if text in _TRUE or text in _FALSE:
        return text in _TRUE
    if _WHOLE.fullmatch(text):
        return int(text)
    return float(text) if _FRACTION.fullmatch(text) else text


def compose(text: str, *, tagged: Tagging | None = None, limits: YamlLimits = MANIFESTS) -> Iterator[Composed]:
    """The documents of the text. Raises NotReadable, or yaml.YAMLError where the text is no YAML.

    `tagged` converts a tag such as `!Sub` and its value; without it such tags are ignored.
    """
    if len(text) > limits.size:
        raise NotReadable(_too_large(limits), 0)
    nodes = 0
    for number, (_, loader) in enumerate(_documents(text), 1):
        first = loader.get_event()
        if number > limits.documents:
            raise NotReadable(_too_many(limits), first.start_mark.line)
        document = _ManifestComposer(loader.get_event, limits, tagged=tagged)
        document.nodes = nodes
        value = document.document(first)
        nodes = document.nodes
        yield Composed(value, document.lines, document.repeats, first.start_mark.line)


def read_document(raw: bytes, *, limits: YamlLimits = SMALL, error: type[InvalidInput] = InvalidInput) -> Plain:
    """The one document, None when there is none. Raises `error` with a code that starts with `yaml_`."""
    documents = list(read_documents(raw, limits=limits, error=error))
    return documents[0] if documents else None


def read_documents(
    raw: bytes,
    *,
    limits: YamlLimits = SMALL,
    error: type[InvalidInput] = InvalidInput,
    seal: Callable[[Plain], Plain] | None = None,
) -> Iterator[Plain]:
    """Each document in turn. `seal` replaces every finished element of a top-level `items` list: large lists stay flat.

    Raises `error` with a code that starts with `yaml_` and the line in `where`.
    """
    if len(raw) > limits.size:
        raise error(_too_large(limits), code="yaml_too_large")
    if raw.startswith(_BYTE_ORDER_MARKS):
        raise error("the text is not UTF-8", code="yaml_encoding")
    try:
        yield from _strict_documents(raw, limits, error=error, seal=seal)
    except yaml.reader.ReaderError:
        raise error("the text is not UTF-8 or holds control characters", code="yaml_encoding") from None
    except yaml.YAMLError as wrong:
        mark = getattr(wrong, "problem_mark", None)
        problem = str(getattr(wrong, "problem", None) or "not YAML")[:200]
        raise error(problem, code="yaml_syntax", where=f"line {mark.line + 1}" if mark else "") from None


def _strict_documents(
    raw: bytes, limits: YamlLimits, *, error: type[InvalidInput], seal: Callable[[Plain], Plain] | None
) -> Iterator[Plain]:
    composer: _Composer | None = None
    for number, (start, loader) in enumerate(_documents(raw), 1):
        composer = composer or _Composer(loader.get_event, limits, error=error)
        composer.seal = seal
        if number > limits.documents:
            raise composer.fault("yaml_documents", _too_many(limits), line=start.start_mark.line)
        if start.tags:
            raise composer.fault("yaml_tag", "tags are not accepted", line=start.start_mark.line)
        yield composer.document(loader.get_event())


def _documents(text: str | bytes) -> Iterator[tuple[YamlEvent, YamlEvent]]:
    """(start event, loader) of each document; the caller takes the events of the document from the loader."""
    loader = _LOADER(text)
    try:
        while type(event := loader.get_event()) is not StreamEndEvent:
            if type(event) is DocumentStartEvent:
                yield event, loader
    finally:
        loader.dispose()


def _too_large(limits: YamlLimits) -> str:
    return f"larger than {limits.size // KIB} KiB"


def _too_many(limits: YamlLimits) -> str:
    return f"more than {limits.documents} document(s)"

"""Strict reader for YAML and JSON from users and files (T04): no aliases, anchors, tags or duplicate keys, and limits
on everything.

Values are those of JSON: strings, integers and finite numbers, true, false, null, lists, maps with string keys.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, NoReturn, TypeAlias

import yaml

from migrations_app.clients.kubernetes.limits import KIB
from migrations_app.errors import InvalidInput

Plain: TypeAlias = Any
"""What a document becomes: JSON values."""


@dataclass(frozen=True, slots=True, kw_only=True)
class YamlLimits:
    size: int = 256 * KIB
    documents: int = 1
    depth: int = 20
    nodes: int = 10_000


SMALL = YamlLimits()
"""Limits for text that a user pastes: a kubeconfig, a form field."""

_NULL = frozenset({"", "~", "null", "Null", "NULL"})
_TRUE = frozenset({"true", "True", "TRUE"})
_FALSE = frozenset({"false", "False", "FALSE"})
# Integers beyond 64 bits stay text: int() raises on thousands of digits.
_WHOLE = re.compile(r"[-+]?[0-9]{1,18}")
_BROKEN = re.compile(r"[-+]?(?:[0-9]{1,30}\.[0-9]{0,30}|\.[0-9]{1,30}|[0-9]{1,30}(?=[eE]))(?:[eE][-+]?[0-9]{1,2})?")
_WIDE = (b"\xff\xfe", b"\xfe\xff")


def read_document(raw: bytes, *, limits: YamlLimits = SMALL, error: type[InvalidInput] = InvalidInput) -> Plain:
    """The single document, None if there is none. Raises `error` with a code that starts with `yaml_`."""
    found = list(read_documents(raw, limits=limits, error=error))
    return found[0] if found else None


def read_documents(
    raw: bytes,
    *,
    limits: YamlLimits = SMALL,
    error: type[InvalidInput] = InvalidInput,
    seal: Callable[[Plain], Plain] | None = None,
) -> Iterator[Plain]:
    """Each document in turn. `seal` replaces every finished element of a top-level `items` list, which keeps large
    lists compact.

    Raises `error` with a code that starts with `yaml_` and the line in `where`.
    """
    return _Reader(limits, error, seal).read(raw)


@dataclass(slots=True)
class _Open:
    """An unfinished map or list; `key` is the map key that waits for its value."""

    value: Any
    key: str | None = None
    sealed: bool = False


@dataclass(slots=True)
class _Reader:
    limits: YamlLimits
    error: type[InvalidInput]
    seal: Callable[[Plain], Plain] | None
    nodes: int = 0
    open: list[_Open] = field(default_factory=list)

    def read(self, raw: bytes) -> Iterator[Plain]:
        if len(raw) > self.limits.size:
            self._refuse("yaml_too_large", f"larger than {self.limits.size // KIB} KiB")
        if raw.startswith(_WIDE):
            self._refuse("yaml_encoding", "the text is not UTF-8")
        try:
            yield from self._documents(yaml.CSafeLoader(raw))
        except yaml.reader.ReaderError:
            self._refuse("yaml_encoding", "the text is not UTF-8 or holds control characters")
        except yaml.YAMLError as wrong:
            mark = getattr(wrong, "problem_mark", None)
            self._refuse("yaml_syntax", str(getattr(wrong, "problem", None) or "not YAML")[:200], mark=mark)

    def _documents(self, events: Any) -> Iterator[Plain]:  # noqa: ANN401 - PyYAML has no type for its C parser
        count = 0
        try:
            while not events.check_event(yaml.StreamEndEvent):
                event = events.get_event()
                if isinstance(event, yaml.DocumentStartEvent):
                    count += 1
                    self._check_start(event, count)
                    yield self._document(events)
        finally:
            events.dispose()

    def _check_start(self, event: yaml.DocumentStartEvent, count: int) -> None:
        if count > self.limits.documents:
            self._refuse("yaml_documents", f"more than {self.limits.documents} document(s)", mark=event.start_mark)
        if event.tags:
            self._refuse("yaml_tag", "tags are not accepted", mark=event.start_mark)

    def _document(self, events: Any) -> Plain:  # noqa: ANN401 - as above
        self.open.clear()
        while True:
            event = events.get_event()
            self._check(event)
            if isinstance(event, yaml.ScalarEvent):
                done, value = self._scalar(event)
            elif isinstance(event, yaml.CollectionStartEvent):
                done, value = self._begin(event)
            else:
                done, value = self._put(self.open.pop().value, event)
            if done:
                return value

    def _check(self, event: Any) -> None:  # noqa: ANN401 - as above
        if isinstance(event, yaml.AliasEvent):
            self._refuse("yaml_alias", "aliases are not accepted", mark=event.start_mark)
        if getattr(event, "anchor", None) is not None:
            self._refuse("yaml_anchor", "anchors are not accepted", mark=event.start_mark)
        if getattr(event, "tag", None) is not None:
            self._refuse("yaml_tag", "tags are not accepted", mark=event.start_mark)
        self.nodes += 1
        if self.nodes > self.limits.nodes:
            self._refuse("yaml_nodes", f"more than {self.limits.nodes} values", mark=event.start_mark)

    def _begin(self, event: Any) -> tuple[bool, Plain]:  # noqa: ANN401 - as above
        parent = self.open[-1] if self.open else None
        if parent is not None and isinstance(parent.value, dict) and parent.key is None:
            self._refuse("yaml_key", "a key must be text", mark=event.start_mark)
        if len(self.open) >= self.limits.depth:
            self._refuse("yaml_depth", f"nested deeper than {self.limits.depth}", mark=event.start_mark)
        if isinstance(event, yaml.MappingStartEvent):
            self.open.append(_Open({}))
        else:
            sealed = self.seal is not None and len(self.open) == 1 and parent is not None and parent.key == "items"
            self.open.append(_Open([], sealed=sealed))
        return False, None

    def _scalar(self, event: yaml.ScalarEvent) -> tuple[bool, Plain]:
        parent = self.open[-1] if self.open else None
        if parent is None or not isinstance(parent.value, dict) or parent.key is not None:
            return self._put(plain(event.value) if event.implicit[0] else event.value, event)
        if event.value in parent.value:
            self._refuse("yaml_duplicate_key", "a key is written twice in one map", mark=event.start_mark)
        if event.value == "<<" and event.implicit[0]:
            self._refuse("yaml_alias", "merge keys are not accepted", mark=event.start_mark)
        parent.key = event.value
        return False, None

    def _put(self, value: Plain, event: Any) -> tuple[bool, Plain]:  # noqa: ANN401 - as above
        """Adds a finished value to its parent; (True, value) if it is the whole document."""
        if not self.open:
            return True, value
        parent = self.open[-1]
        if isinstance(parent.value, list):
            parent.value.append(self.seal(value) if parent.sealed and self.seal else value)
        elif parent.key is None:
            self._refuse("yaml_key", "a key must be text", mark=event.start_mark)
        else:
            parent.value[parent.key] = value
            parent.key = None
        return False, None

    def _refuse(self, code: str, message: str, *, mark: Any = None) -> NoReturn:  # noqa: ANN401 - PyYAML's mark
        where = f"line {mark.line + 1}" if mark is not None else ""
        raise self.error(message, code=code, where=where)


def plain(text: str) -> Plain:
    """The value of an unquoted scalar by the YAML 1.2 core schema; values that JSON cannot hold stay text."""
    if text in _NULL:
        return None
    if text in _TRUE or text in _FALSE:
        return text in _TRUE
    if _WHOLE.fullmatch(text):
        return int(text)
    return float(text) if _BROKEN.fullmatch(text) else text

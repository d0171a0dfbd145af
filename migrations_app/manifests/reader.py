"""Reads manifests in YAML or JSON as kubectl does, each with its position in its file.

A document that cannot be read becomes a fault and does not hide the others. Size, aliases, depth and duplicate keys
are limited, because the text is untrusted.
"""

import codecs
import itertools
import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import yaml

from migrations_app.manifests import templates
from migrations_app.manifests.json_reader import documents_of
from migrations_app.manifests.writer import DocumentPath, Plain
from migrations_app.manifests.yaml_reader import Composed, NotReadable, Repeat, compose

MAX_BYTES: Final = 8 * 1024 * 1024

_DOCUMENT_START: Final = re.compile(r"^---(?=\s|$)", re.MULTILINE)
_MAYBE_ENDLESS: Final = re.compile(r"\.nan|\.inf|\bNaN\b|Infinity|\de\+?\d{3}|\d{300}", re.IGNORECASE)
_OURS: Final = ("karpenter.sh/", "karpenter.k8s.aws/")
_LISTS: Final = {
    f"{kind}List": kind
    for kind in ("Provisioner", "Machine", "AWSNodeTemplate", "NodePool", "NodeClaim", "EC2NodeClass")
}


@dataclass(frozen=True, slots=True)
class ManifestFault:
    """What could not be read: a finding code, the position, one sentence, and the object if known."""

    code: str
    file: str
    document: int
    line: int
    path: DocumentPath
    what: str
    kind: str = ""
    name: str = ""


@dataclass(frozen=True, slots=True)
class ManifestDocument:
    """One document with its position: file, number from 1, line of its first character, text and comments."""

    composed: Composed
    file: str
    number: int
    line: int
    text: str
    head: str
    odd_numbers: bool = False
    """Whether the text may contain numbers that JSON does not have; checked once per document, because a List may hold
    thousands of objects."""
    _under: dict[int, dict[DocumentPath, list[Repeat]]] = field(default_factory=dict, compare=False, repr=False)

    def repeats_under(self, at: DocumentPath) -> list[Repeat]:
        """The repeated keys below that path; grouped once by path, instead of a search for each item."""
        groups = self._under.get(len(at))
        if groups is None:
            groups = self._under[len(at)] = {}
            for repeat in self.composed.repeats:
                groups.setdefault(repeat.path[: len(at)], []).append(repeat)
        return groups.get(at, [])


@dataclass(frozen=True, slots=True)
class Manifest:
    """One object and its document; `item` is its index if the document is a List, `at` its path."""

    body: dict[str, Any]
    document: ManifestDocument
    item: int | None = None
    at: DocumentPath = ()

    @property
    def head(self) -> str:
        """The comment lines above the document; a List's comments belong to its first item."""
        return self.document.head if all(step in ("items", 0) for step in self.at) else ""

    @property
    def place(self) -> str:
        """`pools.yaml, document 2`, with the item if it is part of a List."""
        item = "" if self.item is None else f", item {self.item + 1}"
        return f"{self.document.file}, document {self.document.number}{item}"

    def line_of(self, path: DocumentPath) -> int:
        """The line of the field in the file, or of its nearest ancestor in the text."""
        return self.document.line + self.document.composed.line_of((*self.at, *path))


@dataclass(frozen=True, slots=True)
class ManifestReading:
    """`documents`: number of documents that could be read, with any content."""

    file: str
    manifests: list[Manifest]
    faults: list[ManifestFault]
    documents: int


def read(data: bytes | str, *, file: str) -> ManifestReading:
    """Every object in the text, with Lists flattened, and what could not be read."""
    if len(data) > MAX_BYTES:
        message = f"the input is larger than {MAX_BYTES // 1024**2} MiB; split it"
        return ManifestReading(file, [], [ManifestFault("too-large", file, 0, 0, (), message)], 0)
    try:
        text = _decoded(data) if isinstance(data, bytes) else data
    except UnicodeDecodeError as error:
        message = f"this is no {error.encoding.upper()} text: byte {error.start} cannot be read"
        return ManifestReading(file, [], [ManifestFault("not-yaml", file, 1, 1, (), message)], 0)
    return _ManifestReader(file).read(text)


def _decoded(data: bytes) -> str:
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return data.decode("utf-16")
    return data.decode("utf-8-sig")


class _Chunk:
    """The text between two `---` lines: its first line number and the comments before its content."""

    def __init__(self, text: str, line: int) -> None:
        self.text = text
        self.line = line
        self.comments: list[str] = []
        self.is_empty = True
        for part in text.splitlines():
            stripped = part.strip()
            if stripped.startswith("#"):
                self.comments.append(part.rstrip())
            elif stripped and not (part.startswith("---") and stripped.partition("#")[0].strip() == "---"):
                self.is_empty = False
                break

    @property
    def is_directive(self) -> bool:
        """True for a %YAML line, which belongs to the document after the `---`."""
        return self.text.lstrip().startswith("%") and "\n---" not in self.text


def _chunks(text: str) -> Iterator[_Chunk]:
    """The parts of the text; standalone comments and directives are added to the next part."""
    starts = [0, *(match.start() for match in _DOCUMENT_START.finditer(text) if match.start())]
    line, before, comments = 1, "", list[str]()
    for start, end in zip(starts, [*starts[1:], len(text)], strict=True):
        part = text[start:end]
        chunk = _Chunk(before + part, line - before.count("\n"))
        line += part.count("\n")
        before = chunk.text if chunk.is_directive else ""
        if before:
            continue
        comments += chunk.comments
        if not chunk.is_empty:
            chunk.comments, comments = comments, []
            yield chunk


class _ManifestReader:
    """Reads the documents of one file."""

    def __init__(self, file: str) -> None:
        self.file = file
        self.reading: list[Manifest] = []
        self.faults: list[ManifestFault] = []
        self.number = 0
        self.readable = 0

    def read(self, text: str) -> ManifestReading:
        # kubectl adds the final newline too; without it a literal block at the end would lose its own
        ended = text if text.endswith("\n") else f"{text}\n"
        for chunk in _chunks(ended):
            try:
                self._read_chunk(chunk)
            except NotReadable as error:
                self._not_yaml(chunk, line=error.line, problem=error.message)
            except yaml.YAMLError as error:
                mark = getattr(error, "problem_mark", None)
                problem = getattr(error, "problem", None) or getattr(error, "reason", None) or "cannot be read"
                self._not_yaml(chunk, line=mark.line if mark else 0, problem=f"not YAML: {problem}")
        return ManifestReading(self.file, self.reading, self.faults, self.readable)

    def _read_chunk(self, chunk: _Chunk) -> None:
        for composed, line, text in _documents(chunk):
            if composed.value is None:
                continue
            self.number += 1
            self.readable += 1
            head = "\n".join(chunk.comments)
            odd = _MAYBE_ENDLESS.search(text) is not None
            self._take(ManifestDocument(composed, self.file, self.number, line, text, head, odd))

    def _not_yaml(self, chunk: _Chunk, *, line: int, problem: str) -> None:
        hint = f"; {templates.HINT}" if templates.is_template(chunk.text) else ""
        self.number += 1
        self._add_fault("not-yaml", chunk.line + line, path=(), what=f"{problem}{hint}")

    def _add_fault(self, code: str, line: int, *, path: DocumentPath, what: str) -> None:
        self.faults.append(ManifestFault(code, self.file, self.number, line, path, what))

    def _take(self, document: ManifestDocument) -> None:
        value = document.composed.value
        if not isinstance(value, dict):
            message = f"the document is {'a list' if isinstance(value, list) else 'plain text'}, an object is wanted"
            path = _path_of_object(value)
            line = document.composed.line_of(path) if path else document.composed.line
            self._add_fault("bad-type", document.line + line, path=path, what=message)
        else:
            self._take_value(value, document, item=None, at=())

    def _take_value(
        self, value: dict[str, Any], document: ManifestDocument, *, item: int | None, at: DocumentPath
    ) -> None:
        if _is_list(value):
            self._take_list(value, document, item=item, at=at)
        else:
            self._take_object(value, document, item=item, at=at)

    def _take_list(
        self, value: dict[str, Any], document: ManifestDocument, *, item: int | None, at: DocumentPath
    ) -> None:
        """Its items; a List inside a List counts as part of the outer one's item."""
        lost = [repeat for repeat in document.repeats_under((*at, "items")) if len(repeat.path) == len(at) + 1]
        if lost:
            self.faults += [_repeated(repeat, document, body=value) for repeat in lost]
            return
        for index, inner in enumerate(value.get("items") or []):
            item_path, number = (*at, "items", index), index if item is None else item
            if not isinstance(inner, dict):
                line = document.line + document.composed.line_of(item_path)
                self._add_fault("bad-type", line, path=item_path, what="the item is no object")
                continue
            self._take_value(_told_by_list(value, inner), document, item=number, at=item_path)

    def _take_object(
        self, body: dict[str, Any], document: ManifestDocument, *, item: int | None, at: DocumentPath
    ) -> None:
        is_karpenter = str(body.get("apiVersion")).startswith(_OURS)
        faults = [_repeated(repeat, document, body=body) for repeat in document.repeats_under(at) if is_karpenter]
        if is_karpenter and document.odd_numbers:
            faults += [_endless(path, document, at=at) for path in _endless_paths(body)]
        self.faults += faults
        if not faults:
            self.reading.append(Manifest(body, document, item, at))


def _path_of_object(value: Plain) -> DocumentPath:
    """The index of the first object in a plain list, which kubectl does not read; empty if the value holds none, as a
    JSON patch or a text.
    """
    items = value if isinstance(value, list) else ()
    objects = (
        index for index, item in enumerate(items) if isinstance(item, dict) and {"apiVersion", "kind"} <= {*item}
    )
    return tuple(itertools.islice(objects, 1))


def _endless_paths(value: Plain, at: DocumentPath = ()) -> Iterator[DocumentPath]:
    """Paths of infinite or NaN numbers; the API server accepts JSON, which has no such numbers."""
    if isinstance(value, float) and not math.isfinite(value):
        yield at
    elif isinstance(value, dict | list):
        for step, inner in value.items() if isinstance(value, dict) else enumerate(value):
            yield from _endless_paths(inner, (*at, step))


def _endless(path: DocumentPath, document: ManifestDocument, *, at: DocumentPath) -> ManifestFault:
    line = document.line + document.composed.line_of((*at, *path))
    message = "this is no number that JSON can hold"
    return ManifestFault("bad-type", document.file, document.number, line, path, message)


def _told_by_list(outer: Mapping[str, Any], item: dict[str, Any]) -> dict[str, Any]:
    """The item of a typed list, such as a NodePoolList, with the kind that only the list states."""
    kind = _LISTS.get(str(outer.get("kind")))
    return {**item, "apiVersion": outer.get("apiVersion"), "kind": kind} if kind and not item.get("kind") else item


def _repeated(repeat: Repeat, document: ManifestDocument, *, body: Mapping[str, Any]) -> ManifestFault:
    message = f"{repeat.path[-1]} is written twice in one map; keep the one that is meant"
    line = document.line + repeat.line
    kind, metadata = body.get("kind"), body.get("metadata")
    name = metadata.get("name") if isinstance(metadata, Mapping) else ""
    return ManifestFault(
        "duplicate-key", document.file, document.number, line, repeat.path, message, str(kind or ""), str(name or "")
    )


def _is_list(value: Mapping[str, Any]) -> bool:
    kind = value.get("kind")
    is_ours = kind == "List" or (str(kind) in _LISTS and str(value.get("apiVersion")).startswith(_OURS))
    return is_ours and isinstance(value.get("items") or [], list)


def _documents(chunk: _Chunk) -> Iterator[tuple[Composed, int, str]]:
    """(document, line of its first character, its text) of a part that is YAML, JSON, or concatenated JSON objects."""
    body = chunk.text.removeprefix("---")
    if body.lstrip()[:1] in ("{", "["):
        documents = documents_of(body)
        if documents is not None:
            line, counted = chunk.line, 0
            for document in documents:
                line += body.count("\n", counted, document.start)
                counted = document.start
                yield document.composed, line, document.text
            return
    for composed in compose(chunk.text):
        yield composed, chunk.line, chunk.text

"""Splits a file of a bundle into objects: one object, several YAML documents, a List, a typed list, or concatenated
JSON objects.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from itertools import chain
from typing import Any

import msgspec

from migrations_app.clients.archive import refuse
from migrations_app.clients.bundle.files import BundleLimits
from migrations_app.clients.kubernetes.limits import MIB
from migrations_app.clients.kubernetes.salvage import parsable_items
from migrations_app.errors import InvalidBundle
from migrations_app.manifests import templates
from migrations_app.manifests.writer import Plain
from migrations_app.manifests.yaml_reader import read_documents

_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", re.ASCII)
_WRITTEN = "%Y-%m-%dT%H:%M:%SZ"
_LONGEST_GRACE = 366 * 86_400
MAX_LIST_DEPTH = 3
"""How deeply lists inside lists are opened; merged dumps are not nested deeper."""
_BETWEEN = re.compile(rb"\}[ \t\r]*\n\s*(?=\{)")
"""The boundary between two concatenated JSON objects: inside an object, a closing brace is followed by a comma or a
bracket.
"""
_TEMPLATES = (b"{{", b"{%")
_WRONG = ("yaml_syntax", "yaml_key")
"""The codes of errors that a template causes which is read as YAML."""
_BROKEN = (msgspec.DecodeError, RecursionError, UnicodeDecodeError)


@dataclass(frozen=True, slots=True)
class BundleObject:
    """One object, not decoded yet. `kind` is empty if the object does not state it."""

    raw: msgspec.Raw
    api_version: str = ""
    kind: str = ""
    namespace: str = ""
    name: str = ""
    moment: str = ""
    """When it was created, or when its deletion was requested if that is later (RFC 3339, UTC); empty if not known."""

    @property
    def group(self) -> str:
        return self.api_version.rpartition("/")[0]

    @property
    def version(self) -> str:
        return self.api_version.rpartition("/")[2]


@dataclass(frozen=True, slots=True)
class ListedKind:
    """The file contains a typed list, so its kind was requested, even if the list is empty."""

    group: str
    kind: str


class _DocumentMetadata(msgspec.Struct, frozen=True):
    """The times may be any JSON here; an object with an invalid time is handled later."""

    name: str = ""
    namespace: str | None = None
    created: Any = msgspec.field(default=None, name="creationTimestamp")
    ends: Any = msgspec.field(default=None, name="deletionTimestamp")
    grace: Any = msgspec.field(default=None, name="deletionGracePeriodSeconds")

    @property
    def moment(self) -> str:
        return max(time_of(self.created), _asked_to_go(self.ends, self.grace))


class _DocumentKind(msgspec.Struct, frozen=True, rename="camel"):
    api_version: str = ""
    kind: str = ""


class _Head(_DocumentKind, frozen=True):
    metadata: _DocumentMetadata = _DocumentMetadata()


class _Envelope(_DocumentKind, frozen=True):
    items: list[msgspec.Raw] | None = None


_heads, _kinds = msgspec.json.Decoder(_Head), msgspec.json.Decoder(_DocumentKind)
_envelopes, _arrays = msgspec.json.Decoder(_Envelope), msgspec.json.Decoder(list[msgspec.Raw])


def time_of(value: object) -> str:
    """A time as Kubernetes writes it; empty for anything else."""
    return value if isinstance(value, str) and _TIME.fullmatch(value) else ""


def _asked_to_go(ends: object, grace: object) -> str:
    """When the deletion was requested: the API server writes only the end of the grace period."""
    text = time_of(ends)
    if not text or not isinstance(grace, int) or not 0 < grace < _LONGEST_GRACE:
        return text
    try:
        return (datetime.fromisoformat(text) - timedelta(seconds=grace)).strftime(_WRITTEN)
    except (ValueError, OverflowError):
        return ""


def documents(body: bytes, *, name: str, limits: BundleLimits) -> Iterator[BundleObject | ListedKind]:
    """All objects in the file. Raises InvalidBundle with the file and, if known, the line in `where`."""
    beginning = body[:4096].removeprefix(b"\xef\xbb\xbf").lstrip()
    if beginning.startswith(_TEMPLATES):
        refuse(templates.HINT, "json_syntax", where=name)
    return _json(body, name, limits=limits) if beginning[:1] in (b"{", b"[") else _yaml(body, name, limits=limits)


def _json(body: bytes, name: str, *, limits: BundleLimits) -> Iterator[BundleObject | ListedKind]:
    body = body.removeprefix(b"\xef\xbb\xbf")
    if len(body) > MIB and body.count(b",") * limits.densest > len(body):
        refuse("this JSON is not Kubernetes objects", "json_dense", where=name)
    try:
        if body.lstrip()[:1] == b"[":
            yield from _items(_arrays.decode(body), _DocumentKind())
        else:
            yield from _object(body)
    except _BROKEN:
        yield from _salvaged(body) or _in_a_row(body, name)


def _salvaged(body: bytes) -> list[BundleObject | ListedKind]:
    """The objects of a List in which one item cannot be decoded; empty if this is not a List."""
    parts = parsable_items(body)
    if parts is None:
        return []
    shell, items = parts
    try:
        envelope = _envelopes.decode(shell)
    except _BROKEN:
        return []
    return list(_items(items, envelope)) if envelope.kind.endswith("List") else []


def _in_a_row(body: bytes, name: str) -> Iterator[BundleObject | ListedKind]:
    start = 0
    ends = (match.start() + 1 for match in _BETWEEN.finditer(body))
    try:
        for end in chain(ends, (len(body),)):
            yield from _object(body[start:end])
            start = end
    except RecursionError:
        refuse("nested too deeply", "json_depth", where=name)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        refuse(f"not JSON: {str(error)[:200]}", "json_syntax", where=name)


def _object(body: bytes) -> Iterator[BundleObject | ListedKind]:
    envelope = _envelopes.decode(body)
    if envelope.kind.endswith("List") and envelope.items is not None:
        return _items(envelope.items, envelope)
    return iter([_bundle_object(msgspec.Raw(body))])


def _items(
    items: Iterable[msgspec.Raw], envelope: _DocumentKind, *, depth: int = 0
) -> Iterator[BundleObject | ListedKind]:
    """The items of a list and of lists nested in it. Items of a typed list, as the API returns it, carry no kind of
    their own.
    """
    kind = envelope.kind.removesuffix("List")
    if kind:
        yield ListedKind(envelope.api_version.rpartition("/")[0], kind)
    for item in items:
        bundle = _bundle_object(item)
        inner = _list_in(bundle) if depth < MAX_LIST_DEPTH else None
        if inner is not None:
            yield from _items(inner.items or (), inner, depth=depth + 1)
        else:
            yield replace(bundle, api_version=envelope.api_version, kind=kind) if kind and not bundle.kind else bundle


def _list_in(bundle: BundleObject) -> _Envelope | None:
    """The nested list that this item is, as in merged dumps; None if it is an ordinary object."""
    if not bundle.kind.endswith("List"):
        return None
    try:
        inner = _envelopes.decode(bundle.raw)
    except _BROKEN:
        return None
    return inner if inner.items is not None else None


def _bundle_object(raw: msgspec.Raw) -> BundleObject:
    """The object with its kind and name. An object with invalid metadata keeps its kind; later steps report it."""
    try:
        head = _heads.decode(raw)
        metadata = head.metadata
        return BundleObject(raw, head.api_version, head.kind, metadata.namespace or "", metadata.name, metadata.moment)
    except _BROKEN:
        pass
    try:
        only = _kinds.decode(raw)
        return BundleObject(raw, only.api_version, only.kind)
    except _BROKEN:
        return BundleObject(raw)


def _yaml(body: bytes, name: str, *, limits: BundleLimits) -> Iterator[BundleObject | ListedKind]:
    try:
        for value in read_documents(body, limits=limits.yaml, error=InvalidBundle, seal=_sealed):
            if value is not None:
                yield from _plain(value)
    except InvalidBundle as error:
        where = ", ".join(part for part in (name, error.where) if part)
        unrendered = error.code in _WRONG and templates.is_template(body.decode(errors="replace"))
        message = f"{error.message}; {templates.HINT}" if unrendered else error.message
        raise InvalidBundle(message, code=error.code, where=where) from None


def _plain(value: Plain) -> Iterator[BundleObject | ListedKind]:
    kind, items = (value.get("kind"), value.get("items")) if isinstance(value, dict) else ("", None)
    if isinstance(kind, str) and kind.endswith("List") and isinstance(items, list):
        api_version = value.get("apiVersion")
        return _items(items, _DocumentKind(api_version if isinstance(api_version, str) else "", kind))
    return iter([_bundle_object(_sealed(value))])


def _sealed(value: Plain) -> msgspec.Raw:
    return msgspec.Raw(msgspec.json.encode(value))

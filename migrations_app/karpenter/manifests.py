"""Manifests in YAML or JSON text: read as kubectl reads them, each with its place in its file.

A document that cannot be read is a fault and never hides the others. Sizes, aliases, depth and repeated keys are
limited here, because the text comes from anybody.
"""

import codecs
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Final

import yaml

from migrations_app.karpenter.yaml_compose import Composed, NotReadable, compose
from migrations_app.karpenter.yaml_out import Path

MOST_BYTES: Final = 8 * 1024 * 1024

_DOCUMENT_START: Final = re.compile(r"^---(?=\s|$)", re.MULTILINE)
_DEEPEST: Final = 100
_LISTS: Final = {
    "ProvisionerList": "Provisioner",
    "MachineList": "Machine",
    "AWSNodeTemplateList": "AWSNodeTemplate",
    "NodePoolList": "NodePool",
    "NodeClaimList": "NodeClaim",
    "EC2NodeClassList": "EC2NodeClass",
}


@dataclass(frozen=True, slots=True)
class Fault:
    """What could not be read: a loss code, the place, and one sentence."""

    code: str
    file: str
    document: int
    line: int
    path: Path
    what: str


@dataclass(slots=True)
class Manifest:
    """One object with its place: file, document number, item of a List (or None), first line."""

    body: dict[str, Any]
    file: str
    document: int
    line: int
    item: int | None = None
    head: str = ""
    text: str = field(default="", repr=False)
    composed: Composed | None = field(default=None, repr=False)

    @property
    def place(self) -> str:
        """`pools.yaml, document 2` and the item where it is part of a List."""
        item = "" if self.item is None else f", item {self.item + 1}"
        return f"{self.file}, document {self.document}{item}"

    def line_of(self, path: Path) -> int:
        """The line of the field in the file, or that of its nearest ancestor which is written there."""
        if self.composed is None:
            self.composed = _composed_again(self.text)
        base = ("items", self.item) if self.item is not None else ()
        offset = self.composed.line_of((*base, *path))
        return self.line + offset


@dataclass(frozen=True, slots=True)
class Reading:
    manifests: list[Manifest]
    faults: list[Fault]
    documents: int
    """How many documents could be read, whatever they hold."""


def _composed_again(text: str) -> Composed:
    """JSON was read by the JSON reader; its lines are looked up only when somebody asks."""
    try:
        return next(iter(compose(text)))
    except (NotReadable, yaml.YAMLError, StopIteration):
        return Composed({})


def read(data: bytes | str, *, file: str) -> Reading:
    """Every object in the text, Lists flattened, and what could not be read."""
    if len(data) > MOST_BYTES:
        what = f"the input is larger than {MOST_BYTES // 1024**2} MiB; split it"
        return Reading([], [Fault("too-large", file, 0, 0, (), what)], 0)
    try:
        text = _decoded(data) if isinstance(data, bytes) else data
    except UnicodeDecodeError as error:
        what = f"this is no UTF-8 text: byte {error.start}"
        return Reading([], [Fault("not-yaml", file, 1, 1, (), what)], 0)
    reading = Reading([], [], 0)
    if text.lstrip()[:1] in ("{", "["):
        found = _read_json(text, file)
        if found is not None:
            return found
    return _read_yaml(text, file) if text.strip() else reading


def _decoded(data: bytes) -> str:
    for mark, name in (
        (codecs.BOM_UTF8, "utf-8-sig"),
        (codecs.BOM_UTF16_LE, "utf-16"),
        (codecs.BOM_UTF16_BE, "utf-16"),
    ):
        if data.startswith(mark):
            return data.decode(name)
    return data.decode("utf-8")


class _Repeats(dict[str, Any]):
    """A JSON object with a repeated key; kept apart so that its path can be found."""

    key = ""


def _json_object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) == len(pairs):
        return found
    marked = _Repeats(found)
    seen: set[str] = set()
    marked.key = next(key for key, _ in pairs if key in seen or seen.add(key))  # type: ignore[func-returns-value]  # add returns None
    return marked


def _repeats(value: Any, at: Path = ()) -> Iterator[Path]:
    if isinstance(value, _Repeats):
        yield (*at, value.key)
    children = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in children:
        yield from _repeats(item, (*at, key))

"""Whether a list holds the very objects that it held before: the uid and the resource version of each, in order.

An API server gives an object another resource version with every change that it stores, and a new object another uid.
So two lists with the same marks hold the same objects, whatever happened in between.
"""

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import islice

import msgspec

BLOCK = 500
"""Objects in one digest: a list that differs is told by its first block that does."""

Mark = tuple[str | None, str | None]
"""The uid and the resource version of one object."""


class MarkedList(msgspec.Struct, frozen=True):
    """The marks of a whole list: how many objects, and a digest of each block of them."""

    count: int
    blocks: tuple[bytes, ...]


@dataclass(slots=True)
class ListMarks:
    """Takes the marks of a list as its pages arrive."""

    count: int = 0
    doubtful: bool = False
    """Whether an object has no uid or no resource version, as in a bundle: then nothing is told of the list."""
    _blocks: list[bytes] = field(default_factory=list)
    _block: "hashlib._Hash" = field(default_factory=hashlib.sha256)

    def add(self, uid: str | None, version: str | None) -> None:
        if not uid or not version:
            self.doubtful = True
            return
        # The lengths keep two different pairs from making one text.
        self._block.update(f"{len(uid)}.{len(version)}.{uid}{version}".encode("utf-8", "surrogatepass"))
        self.count += 1
        if self.count % BLOCK == 0:
            self._blocks.append(self._block.digest())
            self._block = hashlib.sha256()

    def extend(self, marks: Iterable[Mark]) -> None:
        for mark in marks:
            self.add(*mark)

    def begins(self, known: MarkedList) -> bool:
        """Whether the whole blocks so far are the first ones of that list."""
        same = all(mine == theirs for mine, theirs in zip(self._blocks, islice(known.blocks, len(self._blocks))))
        return not self.doubtful and self.count <= known.count and same

    def whole(self) -> MarkedList | None:
        """The marks of the list, now that it has ended; None if they cannot be told."""
        if self.doubtful:
            return None
        rest = [self._block.digest()] if self.count % BLOCK else []
        return MarkedList(self.count, (*self._blocks, *rest))

"""What one read gave: `Seen` or `Unseen`. Absent and empty are Seen; everything that kept us from looking is Unseen."""

from dataclasses import dataclass, field
from typing import Generic, TypeAlias, TypeVar

T = TypeVar("T", covariant=True)
NO_NAME = "(no name)"
"""Stands for the name of an object whose metadata cannot be read; no object can have it."""


@dataclass(frozen=True, slots=True)
class UnparsableObject:
    """One object that could not be read; its list still counts. `field` is a path such as $.spec.taints[0]."""

    kind: str
    namespace: str
    name: str
    field: str
    why: str
    code: str = ""
    """The code of the errors.CouldNotLook that kept us from it; empty where its own content did."""

    @property
    def nameless(self) -> bool:
        return self.name == NO_NAME


@dataclass(frozen=True, slots=True)
class Seen(Generic[T]):
    """The items of a part. `served` is the group/version they were read in, None when nothing serves the kind."""

    items: tuple[T, ...] = ()
    served: str | None = None
    quarantined: tuple[UnparsableObject, ...] = ()
    total: int | None = None
    """How many objects were read where `items` are groups of them (pods); None means one object an item."""

    @property
    def count(self) -> int:
        return len(self.items) if self.total is None else self.total


@dataclass(frozen=True, slots=True)
class Behind:
    """A part without which another one cannot be asked for, and the code of the reason why it was not read."""

    part: str
    why: str


@dataclass(frozen=True, slots=True)
class Unseen:
    """Why a part could not be read: the `code` of an errors.CouldNotLook, or `not_asked`. `detail` is safe to show."""

    why: str
    detail: str = ""
    behind: Behind | None = None
    """Where another part had to be read first, that one."""
    items: tuple[()] = field(default=(), init=False)
    count: None = field(default=None, init=False)


Part: TypeAlias = Seen[T] | Unseen
NOT_ASKED = Unseen("not_asked", "the source does not hold this")


def is_whole(part: Part[object]) -> bool:
    """Whether the part was read, and every object of it."""
    return isinstance(part, Seen) and not part.quarantined

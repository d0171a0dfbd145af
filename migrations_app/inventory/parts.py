"""The result of one read: `Seen` or `Unseen`. Absent and empty are Seen; every failure to read is Unseen."""

from dataclasses import dataclass, field
from typing import Generic, Literal, TypeAlias, TypeVar

Certainty = Literal["exact", "at_least", "unknown"]
"""Of a count: `at_least` if a part of what is counted was not read."""
T = TypeVar("T", covariant=True)
NO_NAME = "(no name)"
"""Name of an object whose metadata cannot be read; no real object can have it."""


@dataclass(frozen=True, slots=True)
class UnparsableObject:
    """One object that could not be read; the rest of its list still counts. `field` is a path such as
    $.spec.taints[0].
    """

    kind: str
    namespace: str
    name: str
    field: str
    why: str
    code: str = ""
    """The code of the errors.ReadError that prevented the read; empty if the object's own content did."""

    @property
    def nameless(self) -> bool:
        """Whether the object cannot be identified: it has no name, or one that no API server could have stored."""
        return self.name == NO_NAME or self.field == "$.metadata.name"


NOT_CONVERTED = "not_converted"
"""For `OtherVersion.why`: the CRD converts nothing, and the content is of another version than its label."""


@dataclass(frozen=True, slots=True)
class OtherVersion:
    """Why a list was not, or not completely, read in the version `wanted` (such as karpenter.sh/v1).

    `why` is the code of the errors.ReadError, or NOT_CONVERTED. `detail` is safe to show.
    """

    wanted: str
    why: str
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Seen(Generic[T]):
    """The items of a part. `served` is the group/version they were read in, None if no server version provides the
    kind.
    """

    items: tuple[T, ...] = ()
    served: str | None = None
    quarantined: tuple[UnparsableObject, ...] = ()
    total: int | None = None
    """Number of objects read if `items` are groups (pods); None means that each item is one object."""
    other_version: OtherVersion | None = None
    """Set if objects were read in another version than the newest served one."""
    fields_hidden: bool = False
    """Whether no object lists its field managers, as in a dump by kubectl: an API server always lists them."""

    @property
    def count(self) -> int:
        return len(self.items) if self.total is None else self.total


@dataclass(frozen=True, slots=True)
class Behind:
    """A part that had to be read first, and the code why it was not read."""

    part: str
    why: str


@dataclass(frozen=True, slots=True)
class Unseen:
    """Why a part could not be read: the `code` of an errors.ReadError, or `not_asked`. `detail` is safe to show."""

    why: str
    detail: str = ""
    behind: Behind | None = None
    """The other part that had to be read first, if any."""
    items: tuple[()] = field(default=(), init=False)
    count: None = field(default=None, init=False)

    @property
    def full_reason(self) -> str:
        """The code, with the detail in brackets if there is one."""
        return self.why + (f" ({self.detail})" if self.detail else "")


Part: TypeAlias = Seen[T] | Unseen
NOT_ASKED = Unseen("not_asked", "the source does not hold this")

AHEAD = "ahead"
"""For `Unseen.why`: a part of the state that a plan is expected to reach; `detail` is the hop that recreates its
objects."""


def is_whole(part: Part[object]) -> bool:
    """Whether the part was read, including every object in it."""
    return isinstance(part, Seen) and not part.quarantined


def item_count(part: Part[object]) -> int | None:
    """The number of items, including objects that could not be parsed; None if the part was not read."""
    return len(part.items) + len(part.quarantined) if isinstance(part, Seen) else None

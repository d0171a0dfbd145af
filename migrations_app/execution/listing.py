"""Lists and decodes the objects of a kind for the counters of a gate."""

from collections.abc import Callable
from typing import Protocol, TypeVar, runtime_checkable

import msgspec

from migrations_app.clients.kubernetes.api import Resource, Writer
from migrations_app.errors import NotServed, ReadError

T = TypeVar("T")


@runtime_checkable
class DecodesObjects(Protocol):
    """A writer that caches decoded objects until they change."""

    def decoded(self, resource: Resource, read: Callable[[msgspec.Raw | bytes], T]) -> list[T]:
        """The results of `read` for each object of a list. Raises ReadError, msgspec.DecodeError."""


def counted(writer: Writer, resource: Resource, *, read: Callable[[msgspec.Raw | bytes], T]) -> list[T] | None:
    """The objects; empty if the kind is not served, None if they could not be read."""
    try:
        if isinstance(writer, DecodesObjects):
            return writer.decoded(resource, read)
        return [read(raw) for page in writer.pages(resource) for raw in page.items]
    except NotServed:
        return []
    except (ReadError, msgspec.DecodeError):
        return None

"""What the simulator asks of a cluster. Losing a race to another writer is no error: the next read tells."""

from collections.abc import Mapping
from typing import Any, Protocol

Document = dict[str, Any]


class SimulatorApi(Protocol):
    """One cluster: a real API server or one in memory."""

    @property
    def writes(self) -> int:
        """How many requests changed something."""

    def items(self, path: str) -> list[Document] | None:
        """The objects of a list; None if it is not served."""

    def create(self, path: str, body: Document) -> Document | None:
        """The object as stored; None if there is one of its name."""

    def patch(self, path: str, body: Document) -> Document | None:
        """The object after a merge patch; None if it is gone or was changed meanwhile."""

    def delete(self, path: str, *, uid: str, more: Mapping[str, Any] | None = None) -> bool:
        """Whether this very object is being deleted now. `more`: further fields of the DeleteOptions."""

    def evict(self, pod: Document) -> bool:
        """Whether the pod is being deleted; False while a budget holds it."""

    def drop_finalizer(self, path: str, found: Document, *, finalizer: str) -> bool:
        """Whether it was removed; the object goes with its last one."""

"""The requests that the simulator makes to a cluster. A lost race with another writer is no error: the next read
shows it."""

from collections.abc import Mapping
from typing import Any, Protocol

from migrations_app.manifests import JsonMap


class SimulatorApi(Protocol):
    """One cluster: a real API server or one in memory."""

    @property
    def writes(self) -> int:
        """The number of requests that changed something."""

    def items(self, path: str) -> list[JsonMap] | None:
        """Returns the objects of a list; None if the list is not served."""

    def create(self, path: str, body: JsonMap) -> JsonMap | None:
        """Returns the object as stored; None if the name is taken."""

    def patch(self, path: str, body: JsonMap) -> JsonMap | None:
        """Returns the object after a merge patch; None if it is gone or was changed meanwhile."""

    def delete(self, path: str, *, uid: str, more: Mapping[str, Any] | None = None) -> bool:
        """Returns whether the object with that uid is now being deleted. `more`: further fields of the
        DeleteOptions."""

    def evict(self, pod: JsonMap) -> bool:
        """Returns whether the pod is now being deleted; False if a budget does not allow it."""

    def drop_finalizer(self, path: str, found: JsonMap, *, finalizer: str) -> bool:
        """Returns whether the finalizer was removed; without any finalizer the object is deleted."""

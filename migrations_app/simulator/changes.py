"""What changed in the cluster since the last look."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Protocol

from migrations_app.simulator.api import Document, SimulatorApi


@dataclass(frozen=True, slots=True)
class ObjectChange:
    """An object of the list at `path` as it is now, or as it was when it went."""

    path: str
    document: Document
    gone: bool = False


class ClusterChanges(Protocol):
    """Tells changes. The first time it tells everything that is there."""

    unserved: set[str]
    """The paths that the server does not know."""

    def read(self, paths: Iterable[str]) -> Iterator[ObjectChange]:
        """What changed in these lists since the last call, list by list."""

    def restart(self) -> None:
        """The next call tells everything again."""


class ListedChanges:
    """Finds changes by listing everything and comparing resource versions."""

    def __init__(self, api: SimulatorApi) -> None:
        self._api = api
        self._known: dict[str, dict[str, Document]] = {}
        self.unserved: set[str] = set()

    def read(self, paths: Iterable[str]) -> Iterator[ObjectChange]:
        for path in paths:
            yield from self._of(path)

    def restart(self) -> None:
        self._known.clear()

    def _of(self, path: str) -> Iterator[ObjectChange]:
        docs = self._api.items(path)
        if docs is None:
            self.unserved.add(path)
        else:
            self.unserved.discard(path)
        before = self._known.get(path, {})
        now = {item["metadata"]["uid"]: item for item in docs or ()}
        self._known[path] = now
        for uid, document in before.items():
            if uid not in now:
                yield ObjectChange(path, document, gone=True)
        for uid, document in now.items():
            old = before.get(uid)
            if old is None or old["metadata"]["resourceVersion"] != document["metadata"]["resourceVersion"]:
                yield ObjectChange(path, document)

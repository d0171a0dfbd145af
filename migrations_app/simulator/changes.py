"""Finds what changed in the cluster since the last read."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Protocol

from migrations_app.manifests import JsonMap
from migrations_app.simulator.api import SimulatorApi


@dataclass(frozen=True, slots=True)
class ObjectChange:
    """A changed object of the list at `path`; if `gone`, as it was before its deletion."""

    path: str
    document: JsonMap
    gone: bool = False


class ClusterChanges(Protocol):
    """Reports changes. The first call reports every object."""

    unserved: set[str]
    """The paths that the server does not serve."""

    def read(self, paths: Iterable[str]) -> Iterator[ObjectChange]:
        """Yields what changed in these lists since the last call, list by list."""

    def restart(self) -> None:
        """Makes the next call report every object again."""


class ListedChanges:
    """Finds changes by listing every object and comparing resource versions."""

    def __init__(self, api: SimulatorApi) -> None:
        self._api = api
        self._known: dict[str, dict[str, JsonMap]] = {}
        self.unserved: set[str] = set()

    def read(self, paths: Iterable[str]) -> Iterator[ObjectChange]:
        for path in paths:
            yield from self._changes_in(path)

    def restart(self) -> None:
        self._known.clear()

    def _changes_in(self, path: str) -> Iterator[ObjectChange]:
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
            previous = before.get(uid)
            if previous is None or previous["metadata"]["resourceVersion"] != document["metadata"]["resourceVersion"]:
                yield ObjectChange(path, document)

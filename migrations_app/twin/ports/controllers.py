"""The twin's client for the simulated controllers: lists, creations, merge patches, deletions and evictions.

A lost race is no error: the next read shows the new state.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from migrations_app.errors import ServerFailed
from migrations_app.manifests import JsonMap
from migrations_app.simulator.changes import ObjectChange
from migrations_app.twin.answers import Answer
from migrations_app.twin.calls import MERGE
from migrations_app.twin.server import Twin

_LOST_RACE = (404, 409)
_BUDGET_HOLDS = 429
_SECTIONS = ("metadata", "spec", "status")


class TwinControllers:
    """A client of the twin as admin. `writes` counts the requests that changed something. The caller may change the
    returned documents down to the members of metadata, spec and status; everything deeper is shared with the twin
    and must not be changed."""

    def __init__(self, twin: Twin, *, manager: str = "controllers") -> None:
        self._twin, self._query = twin, {"fieldManager": manager}
        self.writes = 0

    def close(self) -> None:
        """There is no connection to close."""

    def items(self, path: str) -> list[JsonMap] | None:
        """Returns the objects of a list; None if it is not served."""
        answer = self._twin.request("GET", path)
        return None if answer.status == 404 else [_copy_of(document) for document in _checked_document(answer)["items"]]

    def create(self, path: str, body: JsonMap) -> JsonMap | None:
        """Returns the object as stored; None if the name is taken."""
        return self._stored_document(self._twin.request("POST", path, body=_copy_of(body), query=self._query))

    def patch(self, path: str, body: JsonMap) -> JsonMap | None:
        """Returns the object after the merge patch; None if it is gone or was changed meanwhile."""
        answer = self._twin.request("PATCH", path, body=body, content_type=MERGE, query=self._query)
        return self._stored_document(answer)

    def delete(self, path: str, *, uid: str, more: Mapping[str, Any] | None = None) -> bool:
        """Whether the object with that uid is being deleted now."""
        body = {"preconditions": {"uid": uid}, **(more or {})}
        return self._stored_document(self._twin.request("DELETE", path, body=body)) is not None

    def evict(self, pod: JsonMap) -> bool:
        """Whether the pod is being deleted; False while a budget forbids it."""
        metadata = pod["metadata"]
        path = f"/api/v1/namespaces/{metadata['namespace']}/pods/{metadata['name']}/eviction"
        reference = {"name": metadata["name"], "namespace": metadata["namespace"]}
        body = {"metadata": reference, "deleteOptions": {"preconditions": {"uid": metadata["uid"]}}}
        answer = self._twin.request("POST", path, body=body)
        return answer.status != _BUDGET_HOLDS and self._stored_document(answer) is not None

    def drop_finalizer(self, path: str, document: JsonMap, *, finalizer: str) -> bool:
        """Returns whether the finalizer was removed; without any finalizer the object is deleted."""
        metadata = document["metadata"]
        other_finalizers = [name for name in metadata.get("finalizers", ()) if name != finalizer]
        body = {"metadata": {"finalizers": other_finalizers, "resourceVersion": metadata["resourceVersion"]}}
        return self.patch(path, body) is not None

    def _stored_document(self, answer: Answer) -> JsonMap | None:
        if answer.status in _LOST_RACE:
            return None
        document = _checked_document(answer)
        self.writes += 1
        return _copy_of(document)


def _checked_document(answer: Answer) -> JsonMap:
    """Returns the document of a response below 400. Raises ServerFailed for any other."""
    if answer.status >= 400:
        raise ServerFailed(f"HTTP {answer.status}: {answer.document.get('message')}", code="refused")
    return answer.document


def _copy_of(document: JsonMap) -> JsonMap:
    """A copy of the document and of its three sections."""
    return document | {key: dict(document[key]) for key in _SECTIONS if isinstance(document.get(key), dict)}


class TwinChanges:
    """What changed in lists since the last read, without listing them again. The first read returns everything."""

    def __init__(self, twin: Twin) -> None:
        self._twin, self._watch = twin, twin.watch()
        self.unserved: set[str] = set()

    def read(self, paths: Iterable[str]) -> Iterator[ObjectChange]:
        for path in paths:
            changes = self._twin.taken(self._watch, path)
            if changes is None:
                self.unserved.add(path)
                continue
            self.unserved.discard(path)
            yield from (ObjectChange(path, _copy_of(document), gone=gone) for document, gone in changes)

    def restart(self) -> None:
        """The next read returns everything again."""
        self._twin.unwatch(self._watch)
        self._watch = self._twin.watch()

"""Access of rehearsals to the twin: a stream of changes, counted refusals, and objects that are encoded only once."""

from collections.abc import Callable, Iterable, Iterator
from typing import Any, TypeVar

import msgspec

from migrations_app.actions.plan import ClusterIdentity
from migrations_app.clients.kubernetes.api import ListPage, Resource
from migrations_app.errors import NotServed, ServerFailed
from migrations_app.execution.gates import PENDING
from migrations_app.manifests import JsonMap
from migrations_app.simulator.changes import ObjectChange
from migrations_app.simulator.cluster_state import ClusterState
from migrations_app.twin.answers import RequestRefused
from migrations_app.twin.ports.controllers import TwinControllers
from migrations_app.twin.ports.writing import TwinWriter
from migrations_app.twin.server import Twin

T = TypeVar("T")
ON_NODE = "spec.nodeName="


class RehearsalControllers(TwinControllers):
    """The requests of the simulator's controllers. `refused` counts refusals by message; a controller tries again."""

    def __init__(self, twin: Twin) -> None:
        super().__init__(twin)
        self.refused: dict[str, int] = {}

    def create(self, path: str, body: JsonMap) -> JsonMap | None:
        try:
            return super().create(path, body)
        except ServerFailed as reason:
            self._note(reason)
        return None

    def patch(self, path: str, body: JsonMap) -> JsonMap | None:
        try:
            return super().patch(path, body)
        except ServerFailed as reason:
            self._note(reason)
        return None

    def evict(self, pod: JsonMap) -> bool:
        try:
            return super().evict(pod)
        except ServerFailed as reason:
            self._note(reason)
        return False

    def _note(self, reason: ServerFailed) -> None:
        message = reason.message[:300]
        self.refused[message] = self.refused.get(message, 0) + 1


class RehearsalChanges:
    """The changes of a twin, from its own watch."""

    def __init__(self, twin: Twin) -> None:
        self._twin, self._watch = twin, twin.watch()
        self._unread_elsewhere = -1
        """How many of the pending changes are of kinds that are not read: at the same number, none is to be taken."""
        self.unserved: set[str] = set()

    def restart(self) -> None:
        self._twin.unwatch(self._watch)
        self._watch = self._twin.watch()
        self._unread_elsewhere = -1

    def read(self, paths: Iterable[str]) -> Iterator[ObjectChange]:
        if self._unread_elsewhere == self._watch.count:
            return
        for path in paths:
            changes = self._twin.taken(self._watch, path)
            if changes is None:
                self.unserved.add(path)
                continue
            self.unserved.discard(path)
            for document, gone in changes:
                yield ObjectChange(path, document, gone=gone)
        self._unread_elsewhere = self._watch.count


class RehearsalWriter(TwinWriter):
    """The requests of the executor; answers with the identity of the cluster that the plan was made for."""

    def __init__(self, twin: Twin, identity: ClusterIdentity, *, state: ClusterState) -> None:
        super().__init__(twin)
        self._cluster, self._of, self._state = twin, identity, state
        self._decoded: dict[tuple[Resource, object], dict[int, tuple[JsonMap, Any]]] = {}
        """By list and reader: the objects of the last call, by identity, with their decoded values."""

    def identity(self) -> ClusterIdentity:
        return self._of

    def pages(self, resource: Resource) -> Iterator[ListPage]:
        """The whole list in one page."""
        items = [msgspec.Raw(msgspec.json.encode(document)) for document in self._objects(resource)]
        yield ListPage(items, kind="List")

    def decoded(self, resource: Resource, read: Callable[[msgspec.Raw | bytes], T]) -> list[T]:
        """The result of `read` for each object of a list, cached until the object changes, because gates read the same
        lists repeatedly. Raises NotServed, ServerFailed.
        """
        if resource.field_selector:
            return [read(msgspec.json.encode(document)) for document in self._objects(resource)]
        earlier, fresh = self._decoded.get((resource, read), {}), dict[int, tuple[JsonMap, Any]]()
        for document in self._objects(resource):
            known = earlier.get(id(document))
            fresh[id(document)] = known if known is not None else (document, read(msgspec.json.encode(document)))
        self._decoded[resource, read] = fresh
        return [value for _, value in fresh.values()]

    def _objects(self, resource: Resource) -> Iterable[JsonMap]:
        if resource.plural == "pods" and resource.field_selector in (PENDING, *self._on_nodes(resource)):
            return self._pods(resource)
        if not (resource.label_selector or resource.field_selector):
            return self._all(resource)
        query = {"labelSelector": resource.label_selector, "fieldSelector": resource.field_selector}
        answer = self._cluster.request("GET", resource.path, query={key: text for key, text in query.items() if text})
        if answer.status == 404:
            raise NotServed(f"{resource.plural} are not served")
        if answer.status >= 400:
            raise ServerFailed(str(answer.document.get("message", "")))
        items: list[JsonMap] = answer.document["items"]
        return items

    def _all(self, resource: Resource) -> list[JsonMap]:
        """The whole list of objects, without encoding them. Raises NotServed, ServerFailed."""
        try:
            documents = self._cluster.objects(resource.path)
        except RequestRefused as refused:
            raise ServerFailed(str(refused.answer.document.get("message", ""))) from None
        if documents is None:
            raise NotServed(f"{resource.plural} are not served")
        return documents

    def _on_nodes(self, resource: Resource) -> tuple[str, ...]:
        """The selector, if it selects the pods of one node; else empty."""
        return (resource.field_selector,) if resource.field_selector.startswith(ON_NODE) else ()

    def _pods(self, resource: Resource) -> Iterator[JsonMap]:
        """The pods that a gate reads, found through the simulator's state instead of a scan of all pods."""
        state = self._state
        if resource.field_selector == PENDING:
            pod_states = [*state.waiting.values(), *state.starting.values(), *state.ending.values()]
        else:
            node = state.nodes.get(resource.field_selector.removeprefix(ON_NODE))
            pod_states = list(node.pods.values()) if node else []
        for pod in sorted(pod_states, key=lambda pod_state: (pod_state.namespace, pod_state.name)):
            answer = self._cluster.request("GET", pod.path)
            if answer.status != 200:
                continue
            phase = (answer.document.get("status") or {}).get("phase")
            if resource.field_selector != PENDING or phase == "Pending":
                yield answer.document

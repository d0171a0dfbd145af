"""The twin as the simulator and the executor see it: without HTTP, and with its changes told as they happen."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any
from urllib.parse import unquote

import msgspec

from migrations_app.actions.changes import FIELD_MANAGER, MERGE_PATCH, Change, ObjectTarget, RbacNeed
from migrations_app.actions.conditions import Tree
from migrations_app.actions.plan import ClusterIdentity
from migrations_app.actions.request import ObjectVersion, completed
from migrations_app.clients.kubernetes.api import ListPage, Resource, WriteResult
from migrations_app.errors import NotServed, ServerFailed
from migrations_app.simulator.api import Document, pod_path
from migrations_app.simulator.changes import ObjectChange
from migrations_app.twin.objects.kinds import Place
from migrations_app.twin.server import Twin

_LOST = (404, 409)
_HELD = 429


class TwinSimulatorApi:
    """A SimulatorApi on a twin. `refused` counts the messages with which the twin refused what it should have taken."""

    def __init__(self, twin: Twin) -> None:
        self._twin = twin
        self.writes = 0
        self.refused: dict[str, int] = {}

    def items(self, path: str) -> list[Document] | None:
        answer = self._twin.request("GET", path)
        return None if answer.status == 404 else list(answer.document["items"])

    def create(self, path: str, body: Document) -> Document | None:
        return self._done("POST", path, body=body)

    def patch(self, path: str, body: Document) -> Document | None:
        return self._done("PATCH", path, body=body, content_type=MERGE_PATCH)

    def delete(self, path: str, *, uid: str, more: Mapping[str, Any] | None = None) -> bool:
        options = {"apiVersion": "v1", "kind": "DeleteOptions", "preconditions": {"uid": uid}, **(more or {})}
        return self._done("DELETE", path, body=options) is not None

    def evict(self, pod: Document) -> bool:
        metadata = pod["metadata"]
        body = {
            "apiVersion": "policy/v1",
            "kind": "Eviction",
            "metadata": {"name": metadata["name"], "namespace": metadata["namespace"]},
            "deleteOptions": {"preconditions": {"uid": metadata["uid"]}},
        }
        return self._done("POST", f"{pod_path(pod)}/eviction", body=body) is not None

    def drop_finalizer(self, path: str, found: Document, finalizer: str) -> bool:
        left = [name for name in found["metadata"].get("finalizers", ()) if name != finalizer]
        return self.patch(path, {"metadata": {"finalizers": left}}) is not None

    def _done(self, method: str, path: str, **sent: Any) -> Document | None:  # noqa: ANN401 - body and its type
        answer = self._twin.request(method, path, **sent)
        if answer.status < 400:
            self.writes += 1
            return answer.document
        if answer.status not in (*_LOST, _HELD):
            message = str(answer.document.get("message", ""))[:300]
            self.refused[message] = self.refused.get(message, 0) + 1
        return None


class TwinChanges:
    """Changes of a twin, told by itself."""

    def __init__(self, twin: Twin) -> None:
        self._twin = twin
        self._events: list[tuple[Place, Document, bool]] = []
        self._whole = True
        self.unserved: set[str] = set()
        twin.watch(lambda place, document, gone: self._events.append((place, document, gone)))

    def restart(self) -> None:
        self._whole = True

    def read(self, paths: Iterable[str]) -> Iterator[ObjectChange]:
        events, self._events = self._events, []
        if self._whole:
            self._whole = False
            yield from self._everything(paths)
            return
        if not events:
            return
        by_place: dict[Place, list[str]] = {}
        for path in paths:
            by_place.setdefault(_place(path), []).append(path)
        for place, document, gone in events:
            found = by_place.get(place)
            if found:
                path, shown = self._shown(found, document, gone=gone)
                yield ObjectChange(path, shown, gone=gone)

    def _everything(self, paths: Iterable[str]) -> Iterator[ObjectChange]:
        self.unserved.clear()
        seen: set[Place] = set()
        for path in paths:
            answer = self._twin.request("GET", path)
            if answer.status == 404:
                self.unserved.add(path)
            elif _place(path) not in seen:
                seen.add(_place(path))
                for document in answer.document["items"]:
                    yield ObjectChange(path, document)

    def _shown(self, paths: list[str], document: Document, *, gone: bool) -> tuple[str, Document]:
        """The object in a version of these lists."""
        mine = next((path for path in paths if _group_version(path) == document["apiVersion"]), "")
        if mine or gone:
            return mine or paths[0], document
        answer = self._twin.request("GET", f"{paths[0]}/{document['metadata']['name']}")
        return paths[0], answer.document if answer.status == 200 else document


def _place(path: str) -> Place:
    parts = path.strip("/").split("/")
    return ("", parts[2]) if parts[0] == "api" else (parts[1], parts[3])


def _group_version(path: str) -> str:
    parts = path.strip("/").split("/")
    return parts[1] if parts[0] == "api" else f"{parts[1]}/{parts[2]}"


class TwinWriter:
    """A Writer on a twin, which answers as the cluster that a plan was made for."""

    def __init__(self, twin: Twin, identity: ClusterIdentity) -> None:
        self._twin, self._identity = twin, identity
        self._encoded: dict[str, tuple[str, msgspec.Raw]] = {}

    def identity(self) -> ClusterIdentity:
        return self._identity

    def read(self, target: ObjectTarget) -> Tree | None:
        answer = self._twin.request("GET", target.path)
        if answer.status == 404:
            if not (answer.document.get("details") or {}).get("name"):
                raise NotServed(f"{target.plural} are not served")
            return None
        if answer.status >= 400:
            raise ServerFailed(str(answer.document.get("message", "")))
        return answer.document

    def pages(self, resource: Resource) -> Iterator[ListPage]:
        query = {"labelSelector": resource.label_selector, "fieldSelector": resource.field_selector}
        answer = self._twin.request("GET", resource.path, query={key: text for key, text in query.items() if text})
        if answer.status == 404:
            raise NotServed(f"{resource.plural} are not served")
        if answer.status >= 400:
            raise ServerFailed(str(answer.document.get("message", "")))
        yield ListPage([self._raw(one) for one in answer.document["items"]], kind=answer.document["kind"])

    def may(self, need: RbacNeed, *, namespace: str = "", name: str = "") -> bool:  # noqa: ARG002 - the port's signature
        """Rights are those of the real run."""
        return True

    def dry_run(self, change: Change, tie: ObjectVersion, *, own: dict[str, str]) -> WriteResult:
        return self._sent(change, tie, own=own, dry=True)

    def send(self, change: Change, tie: ObjectVersion, *, own: dict[str, str], purpose: str) -> WriteResult:  # noqa: ARG002 - the port's
        return self._sent(change, tie, own=own, dry=False)

    def close(self) -> None:
        """Nothing is open."""

    def _raw(self, document: Document) -> msgspec.Raw:
        """The object as JSON, encoded once for each of its versions."""
        metadata = document["metadata"]
        known = self._encoded.get(metadata["uid"])
        mark = f"{document.get('apiVersion')}/{metadata['resourceVersion']}"
        if known is None or known[0] != mark:
            known = self._encoded[metadata["uid"]] = (mark, msgspec.Raw(msgspec.json.encode(document)))
        return known[1]

    def _sent(self, change: Change, tie: ObjectVersion, *, own: dict[str, str], dry: bool) -> WriteResult:
        body = completed(change, tie, own=own)
        query = {"fieldManager": FIELD_MANAGER} if change.verb != "delete" else {}
        if change.verb == "apply":
            query["force"] = "false"
        if dry and change.verb == "delete":
            body = body | {"dryRun": ["All"]}
        elif dry:
            query["dryRun"] = "All"
        answer = self._twin.request(
            change.method, unquote(change.path), query=query, body=body, content_type=change.content_type
        )
        return _result(answer.status, answer.document)


def _result(status: int, document: Document) -> WriteResult:
    if status < 400:
        metadata = document.get("metadata") or {}
        uid = metadata.get("uid") or (document.get("details") or {}).get("uid") or ""
        version = metadata.get("resourceVersion") or ""
        return WriteResult(status=status, uid=str(uid), resource_version=str(version), object=document)
    causes = (document.get("details") or {}).get("causes") or ()
    kept = [str(one.get("message", "")) for one in causes if one.get("reason") == "FieldManagerConflict"]
    managers = {part for message in kept for part in message.split('"')[1:2]}
    reason, message = str(document.get("reason", "")), str(document.get("message", ""))
    return WriteResult(status=status, reason=reason, message=message, conflicts=tuple(sorted(managers)))

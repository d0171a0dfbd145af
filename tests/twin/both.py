"""The same request on the twin and on a real API server, and what of two answers has to be equal."""

import re
from collections.abc import Callable, Mapping
from typing import Any

from migrations_app.twin.answers import Answer
from migrations_app.twin.server import Twin
from tests.servers.apiserver import ApiServer

Tree = dict[str, Any]
Ask = Callable[..., Answer]
_OF_ONE_SERVER = ("uid", "resourceVersion", "creationTimestamp", "managedFields", "selfLink")
_PLACES = re.compile(r"\[\d+\]")
"""Servers differ in whether the path of a missing field names the place in a list."""
_TIMES = ("deletionTimestamp", "lastTransitionTime", "lastProbeTime", "lastHeartbeatTime")


def of_server(server: ApiServer) -> Ask:
    """Requests to the real server, as admin."""

    def ask(method: str, path: str, *, query: Mapping[str, str], body: Any, content_type: str) -> Answer:
        told = server.admin.request(method, path, body=body, content_type=content_type, **query)
        return Answer(told.status, told.json())

    return ask


def of_twin(twin: Twin) -> Ask:
    """Requests to the twin, as admin."""

    def ask(method: str, path: str, *, query: Mapping[str, str], body: Any, content_type: str) -> Answer:
        return twin.request(method, path, query=query, body=body, content_type=content_type)

    return ask


def compared(answer: Answer) -> Any:
    """What has to be equal: status, reason and causes of a refusal; the object without what each server makes up."""
    document = answer.document
    if document.get("kind") == "Status":
        return answer.status, document.get("reason", ""), _causes(document)
    if "items" in document:
        rest = document["metadata"].get("remainingItemCount")
        return answer.status, document["kind"], rest, [_object(one) for one in document["items"]]
    return answer.status, _object(document)


def _causes(document: Tree) -> set[tuple[str, str]]:
    causes = (document.get("details") or {}).get("causes") or ()
    return {(one.get("reason", ""), _PLACES.sub("", one.get("field", ""))) for one in causes}


def _object(document: Tree) -> Tree:
    told = _plain(document["metadata"])
    metadata = {key: value for key, value in told.items() if key not in _OF_ONE_SERVER}
    if metadata.get("ownerReferences"):
        metadata["ownerReferences"] = [{**one, "uid": "-"} for one in metadata["ownerReferences"]]
    rest = {key: _plain(value) for key, value in document.items() if key not in ("metadata", "apiVersion", "kind")}
    return {"metadata": metadata} | {key: value for key, value in rest.items() if value not in (None, {}, [])}


def _plain(value: Any, key: str = "") -> Any:
    """The value without nulls, whose times are only there or not."""
    if isinstance(value, Mapping):
        if key == "disruptedPods":
            return sorted(value)
        found = {name: "then" if name in _TIMES else _plain(held, name) for name, held in value.items()}
        return {name: held for name, held in found.items() if value[name] is not None and name not in _TIMES[1:]}
    return [_plain(one) for one in value] if isinstance(value, list) else value

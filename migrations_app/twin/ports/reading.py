"""The twin as a ClusterApi: what a scan reads, with the errors of a live server."""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from threading import Lock

import msgspec

from migrations_app.clients.kubernetes import discovery
from migrations_app.clients.kubernetes.api import ApiRequest, Clock, ListPage, Resource, Served, api_request
from migrations_app.clients.kubernetes.errors import from_status
from migrations_app.twin.access import ADMIN, REVIEWS
from migrations_app.twin.answers import Answer
from migrations_app.twin.server import Twin

_REVIEW = f"/apis/{REVIEWS}/v1/selfsubjectaccessreviews"


@dataclass(slots=True)
class TwinReader:
    """A ClusterApi over a twin, as one user; thread-safe. Pages are encoded object by object, nothing is copied."""

    twin: Twin
    user: str = ADMIN
    _calls: Counter[tuple[str, str]] = field(default_factory=Counter)
    _bytes: int = 0
    _counting: Lock = field(default_factory=Lock)

    def get(self, path: str) -> bytes:
        return self._encoded(self._request(api_request("get", path)).document)

    def served(self) -> Served:
        return discovery.served(lambda path, _: self.get(path))

    def pages(self, resource: Resource) -> Iterator[ListPage]:
        token = ""
        while True:
            answer = self._request(api_request("list", resource.path), query=_query(resource, token))
            metadata = answer.document["metadata"]
            items = [msgspec.Raw(self._encoded(document)) for document in answer.document["items"]]
            size = sum(len(memoryview(raw)) for raw in items)
            yield ListPage(items, metadata["resourceVersion"], size, answer.document["kind"])
            token = metadata.get("continue", "")
            if not token:
                return

    def clock(self) -> Clock:
        """The twin's own time, which may be simulated."""
        return Clock(self.twin.now(), sum(self._calls.values()), self._bytes, dict(self._calls))

    def close(self) -> None:
        """There is no connection to close."""

    def may(self, attributes: Mapping[str, str]) -> bool:
        """Returns whether the user has the permission in these resourceAttributes; without a name, for every object."""
        spec = {"resourceAttributes": {key: value for key, value in attributes.items() if value}}
        answer = self.twin.request("POST", _REVIEW, body={"spec": spec}, user=self.user)
        return bool(answer.document["status"]["allowed"])

    def _encoded(self, document: object) -> bytes:
        body = msgspec.json.encode(document)
        with self._counting:
            self._bytes += len(body)
        return body

    def _request(self, request: ApiRequest, *, query: Mapping[str, str] | None = None) -> Answer:
        answer = self.twin.request("GET", request.path, query=query, user=self.user)
        with self._counting:
            self._calls[request.verb, str(answer.status)] += 1
        refuse(answer, request)
        return answer


def refuse(answer: Answer, request: ApiRequest) -> None:
    """Raises the ReadError for this response of a server; returns if the response is below 400."""
    if answer.status >= 400:
        body = msgspec.json.encode(answer.document)
        raise from_status(answer.status, body, headers={}, request=request).error


def _query(resource: Resource, token: str) -> dict[str, str]:
    pairs = {
        "limit": str(resource.page_size),
        "continue": token,
        "labelSelector": resource.label_selector,
        "fieldSelector": resource.field_selector,
    }
    return {key: value for key, value in pairs.items() if value}

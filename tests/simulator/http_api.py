"""The simulator's requests to a real API server."""

import ssl
from collections.abc import Mapping
from typing import Any

from tests.servers.api_client import PATCHES, Answer, Client, Document, RefusedError
from tests.servers.apiserver import ApiServer

AGENT = "karpdash-simulator"
LOST = (404, 409)
BUDGET_HOLDS = 429


class HttpSimulatorApi:
    """`writes` counts the requests that changed something."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self.writes = 0

    @classmethod
    def of(cls, server: ApiServer) -> "HttpSimulatorApi":
        """As the admin of this server, under a name of its own in the audit log."""
        tls = ssl.create_default_context(cadata=server.ca_pem)
        return cls(Client(server.url, tls=tls, token=server.admin_token, agent=AGENT))

    def close(self) -> None:
        self._client.close()

    def items(self, path: str) -> list[Document] | None:
        """The objects of a list; None for one that is not served."""
        answer = self._client.request("GET", path)
        return None if answer.status == 404 else list(answer.good()["items"])

    def revision(self) -> str:
        """What every write to the server changes, whatever it is about."""
        answer = self._client.request("GET", "/api/v1/namespaces", limit=1)
        return str(answer.good()["metadata"]["resourceVersion"])

    def create(self, path: str, body: Document) -> Document | None:
        """The object as stored; None when there is one of its name."""
        return self._told(self._client.request("POST", path, body=body))

    def patch(self, path: str, body: Document) -> Document | None:
        return self._told(self._client.request("PATCH", path, body=body, content_type=PATCHES["merge"]))

    def delete(self, path: str, *, uid: str, more: Mapping[str, Any] | None = None) -> bool:
        """Whether this very object is going now."""
        options = {"apiVersion": "v1", "kind": "DeleteOptions", "preconditions": {"uid": uid}, **(more or {})}
        return self._told(self._client.request("DELETE", path, body=options)) is not None

    def evict(self, pod: Document) -> bool:
        """Whether the pod is going; False while a budget holds it."""
        metadata = pod["metadata"]
        body = {
            "apiVersion": "policy/v1beta1",
            "kind": "Eviction",
            "metadata": {"name": metadata["name"], "namespace": metadata["namespace"]},
            "deleteOptions": {"preconditions": {"uid": metadata["uid"]}},
        }
        answer = self._client.request("POST", f"{pod_path(pod)}/eviction", body=body)
        return answer.status != BUDGET_HOLDS and self._told(answer) is not None

    def drop_finalizer(self, path: str, found: Document, *, finalizer: str) -> bool:
        """Whether it was taken off; the object goes with the last one."""
        metadata = found["metadata"]
        left = [name for name in metadata.get("finalizers", ()) if name != finalizer]
        body = {"metadata": {"finalizers": left, "resourceVersion": metadata["resourceVersion"]}}
        return self.patch(path, body) is not None

    def _told(self, answer: Answer) -> Document | None:
        if answer.status in LOST:
            return None
        if answer.status >= 400:
            raise RefusedError(answer)
        self.writes += 1
        return answer.json()


def pod_path(pod: Document) -> str:
    """The path of this pod."""
    metadata = pod["metadata"]
    return f"/api/v1/namespaces/{metadata['namespace']}/pods/{metadata['name']}"

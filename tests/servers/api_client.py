"""A small JSON client of an API server, for tests, so that they prepare and check objects without the product."""

import http.client
import json
import ssl
import threading
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote, urlencode, urlsplit

Document = dict[str, Any]

JSON = "application/json"
PATCHES = {
    "merge": "application/merge-patch+json",
    "json": "application/json-patch+json",
    "strategic": "application/strategic-merge-patch+json",
    "apply": "application/apply-patch+yaml",
}


class Answer:
    """One answer: `status`, `headers`, `body` in bytes; `json()` decodes it."""

    def __init__(self, status: int, headers: Mapping[str, str], body: bytes) -> None:
        self.status, self.headers, self.body = status, headers, body

    def json(self) -> Document:
        document: Document = json.loads(self.body)
        return document

    def good(self) -> Document:
        """Returns the decoded body; raises RefusedError for 400 and above."""
        if self.status >= 400:
            raise RefusedError(self)
        return self.json()


class RefusedError(Exception):
    """The server answered 400 or above, with `status` and `answer`."""

    def __init__(self, answer: Answer) -> None:
        super().__init__(f"{answer.status}: {answer.body[:2000].decode(errors='replace')}")
        self.status, self.answer = answer.status, answer


class Client:
    """Sends requests as one user: by a token, or by the client certificate loaded into `tls`. One connection a thread,
    kept open.

    `close` closes those of all threads.
    """

    def __init__(self, url: str, *, tls: ssl.SSLContext, token: str = "", agent: str = "karpdash-tests") -> None:
        address = urlsplit(url)
        self._host, self._port = address.hostname or "", address.port
        self._tls = tls
        self._headers = {"User-Agent": agent, "Accept": JSON} | ({"Authorization": f"Bearer {token}"} if token else {})
        self._own = threading.local()
        self._open: list[http.client.HTTPSConnection] = []
        self._plurals: dict[tuple[str, str], tuple[str, bool]] = {}

    def request(
        self,
        method: str,
        path: str,
        *,
        body: Document | list[Any] | None = None,
        content_type: str = JSON,
        headers: Mapping[str, str] | None = None,
        **query: Any,
    ) -> Answer:
        """Returns any answer of the server, including refusals."""
        target = f"{path}?{urlencode(query)}" if query else path
        sent = {**self._headers, **(headers or {}), **({"Content-Type": content_type} if body is not None else {})}
        data = None if body is None else json.dumps(body).encode()
        try:
            return self._exchange(method, target, data, sent)
        except (http.client.RemoteDisconnected, ConnectionResetError, BrokenPipeError):
            # An idle connection that the server had closed: the request never got there.
            self._own.connection.close()
            return self._exchange(method, target, data, sent)

    def get(self, path: str, **query: Any) -> Document:
        return self.request("GET", path, **query).good()

    def items(self, path: str, **query: Any) -> list[Document]:
        """Returns all items of a list, page after page."""
        page = self.get(path, limit=500, **query)
        items: list[Document] = list(page["items"])
        while token := page["metadata"].get("continue"):
            page = self.get(path, limit=500, **{**query, "continue": token})
            items += page["items"]
        return items

    def create(self, document: Document, **query: Any) -> Document:
        """Creates the object at the path of its apiVersion, kind and namespace; returns it as stored."""
        path = self.collection_of(document)
        return self.request("POST", path, body=document, **query).good()

    def apply(
        self, document: Document, *, subresource: str = "", manager: str = "tests", force: bool = True
    ) -> Document:
        """Server-side apply; creates the object if there is none."""
        query: dict[str, Any] = {"fieldManager": manager, "force": str(force).lower()}
        path = self.path_of(document, subresource)
        return self.request("PATCH", path, body=document, content_type=PATCHES["apply"], **query).good()

    def replace(self, document: Document, *, subresource: str = "") -> Document:
        """PUT of the object; with a resourceVersion in it, only over that version."""
        return self.request("PUT", self.path_of(document, subresource), body=document).good()

    def patch(self, path: str, patch: Document | list[Any], *, how: str = "merge", **query: Any) -> Document:
        """Patches by path; `how` is a key of PATCHES."""
        return self.request("PATCH", path, body=patch, content_type=PATCHES[how], **query).good()

    def delete(self, path: str, options: Document | None = None, **query: Any) -> Document:
        return self.request("DELETE", path, body=options, **query).good()

    def path_of(self, document: Document, subresource: str = "") -> str:
        """Returns the object's own path."""
        name = quote(document["metadata"]["name"], safe="")
        return f"{self.collection_of(document)}/{name}" + (f"/{subresource}" if subresource else "")

    def collection_of(self, document: Document) -> str:
        """Returns the path of the list that the object belongs to."""
        version = document["apiVersion"]
        root = f"/apis/{version}" if "/" in version else f"/api/{version}"
        plural, namespaced = self._resource(root, document["kind"])
        if not namespaced:
            return f"{root}/{plural}"
        return f"{root}/namespaces/{quote(document['metadata'].get('namespace', 'default'), safe='')}/{plural}"

    def _resource(self, root: str, kind: str) -> tuple[str, bool]:
        if (root, kind) not in self._plurals:
            for resource in self.get(root)["resources"]:
                if "/" not in resource["name"]:
                    self._plurals[root, resource["kind"]] = resource["name"], resource["namespaced"]
        return self._plurals[root, kind]

    def _exchange(self, method: str, target: str, data: bytes | None, headers: Mapping[str, str]) -> Answer:
        connection = self._connection()
        try:
            connection.request(method, target, body=data, headers=dict(headers))
            response = connection.getresponse()
            return Answer(response.status, dict(response.headers), response.read())
        except BaseException:
            connection.close()  # half an exchange would answer the next request
            raise

    def _connection(self) -> http.client.HTTPSConnection:
        if not hasattr(self._own, "connection"):
            self._own.connection = http.client.HTTPSConnection(self._host, self._port, timeout=60, context=self._tls)
            self._open.append(self._own.connection)
        connection: http.client.HTTPSConnection = self._own.connection
        return connection

    def close(self) -> None:
        for connection in self._open:
            connection.close()

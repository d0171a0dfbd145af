"""A ClusterApi in memory: a few objects, and failures on demand.

api = FakeCluster(a_pod, a_node)
api.refuse("secrets", Forbidden("may not list secrets"))
api.version = {"gitVersion": "v1.30.0"}
"""

import json
import threading
from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from migrations_app.clients.bundle.documents import BundleObject
from migrations_app.clients.bundle.index import guessed_plural, selector
from migrations_app.clients.kubernetes.api import Clock, ListPage, Resource, Served
from migrations_app.errors import NotServed, ReadError
from migrations_app.inventory.objects.karpenter import ServedResource
from migrations_app.karpenter import kinds

Doc = dict[str, Any]


class FakeCluster:
    """`lists` counts how often each plural was listed. Every known kind is served unless `without` names its plural."""

    def __init__(self, *docs: Doc, version: str = "v1.30.4-eks-a5df82a", without: Sequence[str] = ()) -> None:
        self.docs = list(docs)
        self.version: Doc = {"major": "1", "minor": version.split(".")[1], "gitVersion": version}
        self.without = set(without)
        self.failed: dict[str, str] = {}
        self.lists: dict[str, int] = {}
        self.closed = False
        self.server_date: str | None = "2026-01-02T03:04:05Z"
        self._refusals: dict[str, list[ReadError | None]] = {}
        self._lock = threading.Lock()

    def refuse(self, what: str, *errors: ReadError | None) -> None:
        """Makes lists of that plural, or gets of that path, fail: one error after another, None for a normal
        answer.

        The last one is repeated.
        """
        self._refusals[what] = list(errors)

    def get(self, path: str) -> bytes:
        self._fail(path)
        if path == "/version":
            return json.dumps(self.version).encode()
        document = next((doc for doc in self.docs if _path(doc) == path), None)
        if document is None:
            raise NotServed(f"there is no {path}", code="absent")
        return json.dumps(document).encode()

    def served(self) -> Served:
        self._fail("/apis")
        rows = [
            ServedResource(
                group=row.group, version=version, plural=row.plural, kind=row.kind, namespaced=row.namespaced
            )
            for row in kinds.KINDS
            for version in row.versions
            if row.plural not in self.without
        ]
        return Served(tuple(rows), dict(self.failed))

    def pages(self, resource: Resource) -> Iterator[ListPage]:
        with self._lock:
            self.lists[resource.plural] = self.lists.get(resource.plural, 0) + 1
        self._fail(resource.plural)
        if resource.plural in self.without:
            raise NotServed(f"the API server does not serve {resource.plural}")
        items = [raw for doc in self.docs if (raw := _chosen(doc, resource)) is not None]
        for start in range(0, max(len(items), 1), resource.page_size):
            yield ListPage(items[start : start + resource.page_size], "1")

    def clock(self) -> Clock:
        return Clock(self.server_date, sum(self.lists.values()), 0)

    def close(self) -> None:
        self.closed = True

    def _fail(self, what: str) -> None:
        with self._lock:
            errors = self._refusals.get(what) or [None]
            error = errors.pop(0) if len(errors) > 1 else errors[0]
        if error is not None:
            raise error


def _chosen(doc: Doc, resource: Resource) -> msgspec.Raw | None:
    group, metadata = doc["apiVersion"].rpartition("/")[0], doc["metadata"]
    if (group, _plural(doc)) != (resource.group, resource.plural):
        return None
    if resource.namespace and metadata.get("namespace") != resource.namespace:
        return None
    raw = msgspec.Raw(json.dumps(doc).encode())
    return raw if selector(resource)(BundleObject(raw)) else None


def _plural(doc: Doc) -> str:
    row = kinds.find(doc["kind"], group=doc["apiVersion"].rpartition("/")[0])
    return row.plural if row else guessed_plural(doc["kind"])


def _path(doc: Doc) -> str:
    group, _, version = doc["apiVersion"].rpartition("/")
    home = doc["metadata"].get("namespace", "")
    return f"{Resource(group, version, _plural(doc), home).path}/{doc['metadata']['name']}"

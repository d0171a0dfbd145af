"""An API server that answers reads of a clean cluster correctly, in short pages; other modules add faults to its
answers.
"""

import json
import random
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from migrations_app.clients.bundle.bundle import Bundle, open_bundle
from migrations_app.clients.bundle.index import is_built_in
from migrations_app.clients.kubernetes.api import Resource, api_request
from migrations_app.errors import NotServed
from migrations_app.karpenter import kinds
from migrations_app.samples.kubernetes_objects import server_version
from tests.acceptance.clusters import find, objects
from tests.acceptance.judging import as_list
from tests.fakes.evilk8s import Request

PAGE = 3
"""Objects on one page: most lists of the clean clusters have several."""
REVISION = "4711"
NOT_FOUND = "404 Not Found"
OK = "200 OK"
Document = dict[str, Any]
MISSING: Document = {"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": 404}
Key = tuple[str, str, str]
"""Group, version and plural."""


@dataclass(frozen=True, slots=True)
class Answer:
    status: str
    document: Document

    @property
    def body(self) -> bytes:
        return json.dumps(self.document).encode()


@dataclass(slots=True)
class Honest:
    """The correct server. `name` is that of a clean cluster of the acceptance tests."""

    name: str
    bundle: Bundle = field(init=False)
    served: dict[Key, str] = field(init=False)
    """The kind of each resource."""

    def __post_init__(self) -> None:
        clean = find(self.name)
        documents = objects(clean)
        for number, one in enumerate(documents):
            one["metadata"] |= {"uid": f"00000000-0000-4000-8000-{number:012}", "resourceVersion": str(number + 1)}
        self.bundle = open_bundle(as_list(documents, kubernetes=clean.kubernetes))
        built_in = {(one.group, one.versions[0], one.plural): one.kind for one in kinds.KINDS if is_built_in(one.group)}
        shown = {(one.group, one.version, one.plural): one.kind for one in self.bundle.served().resources}
        self.served = {key: kind for key, kind in (shown | built_in).items() if key[2] != "*"}

    def answer(self, request: Request) -> Answer:
        if request.path == "/version":
            return Answer(OK, server_version(find(self.name).kubernetes))
        if request.path in ("/api", "/apis"):
            return Answer(OK, self.discovery(core=request.path == "/api"))
        asked = api_request("list", request.path)
        version = request.path.split("/")[3 if asked.group else 2]
        kind = self.served.get((asked.group, version, asked.plural))
        if kind is None:
            return Answer(NOT_FOUND, MISSING)
        if asked.name:
            return self.one(request.path)
        told = Resource(
            asked.group, version, asked.plural, asked.namespace,
            request.query.get("labelSelector", ""), request.query.get("fieldSelector", ""),
        )  # fmt: skip
        return Answer(OK, self.page(told, kind, start=int(request.query.get("continue", "0"))))

    def one(self, path: str) -> Answer:
        try:
            return Answer(OK, json.loads(self.bundle.get(path)))
        except NotServed:
            return Answer(NOT_FOUND, MISSING)

    def page(self, resource: Resource, kind: str, *, start: int) -> Document:
        items = [json.loads(bytes(raw)) for page in self.bundle.pages(resource) for raw in page.items]
        metadata: Document = {"resourceVersion": REVISION}
        if start + PAGE < len(items):
            metadata |= {"continue": str(start + PAGE), "remainingItemCount": len(items) - start - PAGE}
        return {
            "kind": f"{kind}List", "apiVersion": resource.group_version,
            "metadata": metadata, "items": items[start : start + PAGE],
        }  # fmt: skip

    def discovery(self, *, core: bool) -> Document:
        """Returns the aggregated form: one group after the other."""
        groups: dict[str, dict[str, list[Document]]] = {}
        for (group, version, plural), kind in self.served.items():
            if core is (group == ""):
                row = {"resource": plural, "scope": "Cluster", "verbs": ["list"], "responseKind": {"kind": kind}}
                groups.setdefault(group, {}).setdefault(version, []).append(row)
        items = [
            {
                "metadata": {"name": group},
                "versions": [{"version": version, "resources": rows} for version, rows in versions.items()],
            }
            for group, versions in groups.items()
        ]
        return {"kind": "APIGroupDiscoveryList", "apiVersion": "apidiscovery.k8s.io/v2", "items": items}


@cache
def honest(name: str) -> Honest:
    return Honest(name)


@dataclass(slots=True)
class Turn:
    """One request that is answered badly: the correct answer, dice, and what the fault stores between answers."""

    request: Request
    server: Honest
    dice: random.Random
    kept: dict[str, Any]

    @property
    def document(self) -> Document:
        return self.server.answer(self.request).document

    @property
    def body(self) -> bytes:
        return self.server.answer(self.request).body

    @property
    def status(self) -> str:
        return self.server.answer(self.request).status

    @property
    def is_later(self) -> bool:
        """Whether the request is for a page after the first."""
        return "continue" in self.request.query

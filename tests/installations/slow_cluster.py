"""Serves the cluster of a sample story over TLS and delays the list of pods until the test releases it."""

import json
import threading
from collections import defaultdict
from typing import Any

import yaml

from migrations_app.karpenter import kinds
from migrations_app.samples.fleet import find
from tests.fakes.evilk8s import AUTHORITY, EvilServer, Request, Wire

Document = dict[str, Any]
HELD = "/api/v1/pods"
PATIENCE = 120.0
UID = "3b4e6c1a-0f3e-4a7e-9d1e-2f1f0a9c7d10"


class SlowCluster:
    """A context manager. `asked` is set when a client lists pods; the list is answered once `go_on` is set."""

    def __init__(self, story: str = "halfway_032") -> None:
        found = find(story)
        assert found is not None
        self._version = found.version
        self._lists: dict[str, list[Document]] = defaultdict(list)
        self._groups: dict[str, list[Document]] = defaultdict(list)
        for document in found.docs:
            self._take(document)
        self.asked, self.go_on = threading.Semaphore(0), threading.Event()
        self.server = EvilServer(self._answer)

    def __enter__(self) -> "SlowCluster":
        self.server.__enter__()
        return self

    def __exit__(self, *_: object) -> None:
        self.go_on.set()
        self.server.__exit__()

    @property
    def kubeconfig(self) -> str:
        import base64

        ca = base64.b64encode(AUTHORITY.pem.encode()).decode()
        cluster = {"server": self.server.url, "certificate-authority-data": ca}
        document = {
            "apiVersion": "v1",
            "kind": "Config",
            "current-context": "slow",
            "clusters": [{"name": "slow", "cluster": cluster}],
            "users": [{"name": "slow", "user": {"token": "token"}}],
            "contexts": [{"name": "slow", "context": {"cluster": "slow", "user": "slow"}}],
        }
        return yaml.safe_dump(document)

    @property
    def times_pods_were_listed(self) -> int:
        return sum(request.path == HELD for request in self.server.requests)

    def _take(self, document: Document) -> None:
        kind = next(k for k in kinds.KINDS if k.kind == document["kind"] and k.group == _group(document))
        root = f"/apis/{document['apiVersion']}" if kind.group else "/api/v1"
        space = document["metadata"].get("namespace", "")
        self._lists[f"{root}/{kind.plural}"].append(document)
        if space:
            self._lists[f"{root}/namespaces/{space}/{kind.plural}"].append(document)
        resource = {"name": kind.plural, "kind": kind.kind, "namespaced": bool(space), "verbs": ["list", "get"]}
        if resource not in self._groups[root]:
            self._groups[root].append(resource)

    def _answer(self, request: Request, wire: Wire) -> None:
        if request.path == HELD:
            self.asked.release()
            self.go_on.wait(PATIENCE)
        body = self._body(request.path)
        if body is None:
            wire.answer(b'{"kind":"Status","code":404,"reason":"NotFound"}', status="404 Not Found")
        else:
            wire.answer(json.dumps(body).encode())

    def _body(self, path: str) -> Document | None:
        if path == "/version":
            return dict(self._version)
        if path == "/api/v1/namespaces/kube-system":
            metadata = {"name": "kube-system", "uid": UID}
            return {"kind": "Namespace", "apiVersion": "v1", "metadata": metadata}
        if path == "/apis":
            names = [root.removeprefix("/apis/").split("/") for root in self._groups if root != "/api/v1"]
            return {"kind": "APIGroupList", "groups": [{"name": g, "versions": [{"version": v}]} for g, v in names]}
        if path in self._groups:
            return {"kind": "APIResourceList", "resources": self._groups[path]}
        root = "/".join(path.split("/")[: 4 if path.startswith("/apis/") else 3])
        if root not in self._groups and root != "/api/v1":
            return None
        return {"kind": "List", "metadata": {"resourceVersion": "1"}, "items": self._lists.get(path, [])}


def _group(document: Document) -> str:
    group, slash, _ = str(document["apiVersion"]).partition("/")
    return group if slash else ""

"""Puts objects into a real API server: over many connections, with what a 1.20 server does not know worded for it."""

import threading
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from tests.servers.api_client import Client, RefusedError
from tests.servers.apiserver import ApiServer

Document = dict[str, Any]

CONNECTIONS = 16
_GIVEN_BY_SERVER = ("uid", "resourceVersion", "creationTimestamp", "generation")
_OLD_VERSIONS = {
    ("policy/v1", "PodDisruptionBudget"): "policy/v1beta1",
    ("batch/v1", "CronJob"): "batch/v1beta1",
}
_BORN_WITH_STATUS = {"Node"}


def install(server: ApiServer, documents: Iterable[Document]) -> int:
    """Puts a whole cluster in: CRDs first, then namespaces, then the rest; the number of objects."""
    crds: list[Document] = []
    rest: list[Document] = []
    for document in documents:
        (crds if document["kind"] == "CustomResourceDefinition" else rest).append(document)
    server.load_documents([definition(crd) for crd in crds])
    for crd in crds:
        server.store_versions(crd["metadata"]["name"], crd["status"]["storedVersions"])
    return len(crds) + fill(server.admin, namespaces(rest)) + fill(server.admin, rest)


def definition(crd: Document) -> Document:
    """A CRD whose schemas only sketch its fields, as those of the samples do: every other field is let through too."""
    names = crd["spec"]["names"]
    named = {"listKind": f"{names['kind']}List", "singular": names["kind"].lower()} | names
    versions = [_served(version) for version in crd["spec"]["versions"]]
    made = creatable(crd) | {"spec": crd["spec"] | {"names": named, "versions": versions}}
    return {key: value for key, value in made.items() if key != "status"}


def _served(version: Document) -> Document:
    given = version.get("schema", {}).get("openAPIV3Schema", {"type": "object"})
    return {"subresources": {"status": {}}} | version | {"schema": {"openAPIV3Schema": _open(given)}}


def _open(schema: Document) -> Document:
    """The same schema, whose objects keep fields that it does not name: pruning goes field by field."""
    made = dict(schema)
    if "properties" in schema:
        made["properties"] = {name: _open(inner) for name, inner in schema["properties"].items()}
    if "items" in schema:
        made["items"] = _open(schema["items"])
    return made | ({"x-kubernetes-preserve-unknown-fields": True} if schema.get("type") == "object" else {})


def creatable(document: Document) -> Document:
    """The document as it can be sent to a 1.20 server to be created."""
    metadata = {key: value for key, value in document["metadata"].items() if key not in _GIVEN_BY_SERVER}
    version = _OLD_VERSIONS.get((document["apiVersion"], document["kind"]), document["apiVersion"])
    return {**document, "apiVersion": version, "metadata": metadata}


def fill(admin: Client, documents: Iterable[Document]) -> int:
    """Creates every document with its status; the number of them. What is there already is left as it is."""
    source, lock = iter(documents), threading.Lock()
    with ThreadPoolExecutor(CONNECTIONS) as pool:
        return sum(pool.map(lambda _: _drain(admin, _shared(source, lock)), range(CONNECTIONS)))


def _shared(source: Iterator[Document], lock: threading.Lock) -> Iterator[Document]:
    while True:
        with lock:
            found = next(source, None)
        if found is None:
            return
        yield found


def _drain(admin: Client, documents: Iterator[Document]) -> int:
    return sum(put(admin, document) for document in documents)


def put(admin: Client, document: Document) -> int:
    """Creates one object, then writes the status that creating drops; 0 when it was there already, else 1."""
    wanted = creatable(document)
    try:
        made = admin.create(wanted)
    except RefusedError as refused:
        if refused.status == 409:
            return 0
        raise
    if wanted.get("status") and wanted["kind"] not in _BORN_WITH_STATUS:
        admin.patch(f"{admin.path_of(made)}/status", {"status": wanted["status"]})
    return 1


def namespaces(documents: Iterable[Document]) -> list[Document]:
    """A Namespace for each one that the documents lie in."""
    names = {document["metadata"].get("namespace", "") for document in documents} - {""}
    return [{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}} for name in sorted(names)]

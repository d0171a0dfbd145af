"""A cluster of documents on a real API server: loaded, scanned live, and changed by lines for kubectl."""

import copy
import os
import subprocess
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from migrations_app.clients.addresses import OutboundPolicy
from migrations_app.clients.kubernetes.kubeconfig import read_kubeconfig
from migrations_app.clients.kubernetes.reader import open_live
from migrations_app.inventory.objects.karpenter import ServerVersion
from migrations_app.inventory.parts import Seen
from migrations_app.readiness.evaluate import evaluate
from migrations_app.readiness.report import Report
from migrations_app.use_cases.collect.collect import collect
from tests.acceptance.clusters import Clean, version_file
from tests.servers.apiserver import ApiServer
from tests.servers.crds import without_rules
from tests.servers.processes import environment

Document = dict[str, Any]
CRD = "CustomResourceDefinition"
HERE = OutboundPolicy(allow_loopback=True)
GIVEN_OUT = ("uid", "resourceVersion", "generation", "creationTimestamp", "managedFields", "ownerReferences")
LEFT_OUT = ("Pod", "PodDisruptionBudget", "EndpointSlice", "Endpoints", "ControllerRevision", "ReplicaSet")
"""What a server of 1.20 does not serve in that version, makes by itself, or refuses without the rest of a cluster."""
LAST = ("ValidatingWebhookConfiguration", "MutatingWebhookConfiguration")
"""They would be called for what comes after them."""


def load(server: ApiServer, documents: Iterable[Document]) -> None:
    """Puts the cluster there, CRDs first, each object with its status."""
    every = [copy.deepcopy(one) for one in documents if one["kind"] not in LEFT_OUT]
    definitions = [one for one in every if one["kind"] == CRD]
    server.load_documents([_definition(one) for one in definitions])
    for one in definitions:
        server.store_versions(one["metadata"]["name"], one["status"]["storedVersions"])
    for space in sorted({one["metadata"].get("namespace", "") for one in every} - {""}):
        server.admin.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": space}})
    objects = [one for one in every if one["kind"] not in (CRD, "Namespace")]
    for one in sorted(objects, key=lambda each: each["kind"] in LAST):
        _put(server, one)


def _definition(document: Document) -> Document:
    """As a server of 1.20 takes it: without rules, and without the certificate that only stands for one."""
    made = without_rules({**document, "metadata": _own(document)})
    target = made["spec"].get("conversion", {}).get("webhook", {}).get("clientConfig", {})
    target.pop("caBundle", None)
    return {key: value for key, value in made.items() if key != "status"}


def _own(document: Document) -> Document:
    return {key: value for key, value in document["metadata"].items() if key not in GIVEN_OUT}


def _put(server: ApiServer, document: Document) -> None:
    made = {**without_rules(document), "metadata": _own(document)}
    server.admin.create(made)
    if made.get("status"):
        path = server.admin.path_of(made, "status")
        server.admin.request(
            "PATCH", path, body={"status": made["status"]}, content_type="application/merge-patch+json"
        )


def scan(server: ApiServer, clean: Clean) -> Report:
    """The report of a live scan; the server is taken for the Kubernetes of that cluster."""
    api = open_live(read_kubeconfig(server.kubeconfig(server.admin_token).encode()), reach=HERE)
    try:
        found = collect(api, cluster=clean.name)
    finally:
        api.close()
    version = Seen((ServerVersion(git_version=version_file(clean)["gitVersion"]),))
    return evaluate(replace(found, inventory=replace(found.inventory, version=version))).report


def run(lines: str, *, kubectl: Path, kubeconfig: Path) -> subprocess.CompletedProcess[str]:
    """What became of the lines in a shell that ends at the first error."""
    told = {**environment(), "PATH": f"{kubectl.parent}:{os.environ['PATH']}", "KUBECONFIG": str(kubeconfig)}
    words: Sequence[str] = ("bash", "-e", "-o", "pipefail", "-c", lines)
    return subprocess.run(
        words, cwd=kubeconfig.parent, env=told, capture_output=True, text=True, check=False, timeout=60
    )

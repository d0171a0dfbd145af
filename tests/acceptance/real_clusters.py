"""A cluster of documents on a real API server: loaded, scanned live, and changed by lines for kubectl."""

import copy
import os
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from migrations_app.clients.addresses import OutboundPolicy
from migrations_app.clients.kubernetes.kubeconfig import read_kubeconfig
from migrations_app.clients.kubernetes.reader import open_live
from migrations_app.collect.collect import collect
from migrations_app.inventory.objects.karpenter import ServerVersion
from migrations_app.inventory.parts import Seen
from migrations_app.readiness.evaluate import evaluate
from migrations_app.readiness.report import Report
from tests.acceptance.clusters import Clean, version_file
from tests.servers.api_client import PATCHES
from tests.servers.apiserver import ApiServer
from tests.servers.crds import without_rules
from tests.servers.processes import environment

Document = dict[str, Any]
CRD = "CustomResourceDefinition"
HERE = OutboundPolicy(allow_loopback=True)
GIVEN_OUT = ("uid", "resourceVersion", "generation", "creationTimestamp", "managedFields", "ownerReferences")
LEFT_OUT = ("Pod", "PodDisruptionBudget", "EndpointSlice", "Endpoints", "ControllerRevision", "ReplicaSet")
"""What a server of 1.20 does not serve in that version, makes by itself, or refuses without the rest of a cluster."""
ADDRESSES = ("clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy", "internalTrafficPolicy")
"""What a server gives to a Service out of its own range."""
LAST = ("ValidatingWebhookConfiguration", "MutatingWebhookConfiguration")
"""They would be called for what comes after them."""
ANSWERED_BY_NOBODY = {"sideEffects": "None", "admissionReviewVersions": ["v1"]}
"""No pod runs behind the Services of this server, so its webhooks let everything pass."""


def load(server: ApiServer, documents: Iterable[Document]) -> None:
    """Puts the cluster there, CRDs first, each object with its status."""
    named = {(one["kind"], one["metadata"].get("namespace"), one["metadata"]["name"]): one for one in documents}
    every = [copy.deepcopy(one) for one in named.values() if one["kind"] not in LEFT_OUT]
    definitions = [one for one in every if one["kind"] == CRD]
    written = {(one["apiVersion"].partition("/")[0], one["kind"]): one["apiVersion"].partition("/")[2] for one in every}
    server.load_documents([_definition(one, written) for one in definitions])
    for one in definitions:
        server.store_versions(one["metadata"]["name"], one["status"]["storedVersions"])
    for space in sorted({one["metadata"].get("namespace", "") for one in every} - {""}):
        server.admin.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": space}})
    objects = [one for one in every if one["kind"] not in (CRD, "Namespace")]
    for one in sorted(objects, key=lambda each: each["kind"] in LAST):
        _put(server, one)


def _definition(document: Document, written: Mapping[tuple[str, str], str]) -> Document:
    """As a server of 1.20 takes it: without rules, and without the certificate that only stands for one. Objects that
    are written in another version than the stored one are stored as written: nothing converts them here."""
    made = without_rules({**document, "metadata": _own(document)})
    target = made["spec"].get("conversion", {}).get("webhook", {}).get("clientConfig", {})
    target.pop("caBundle", None)
    spec = made["spec"]
    version = written.get((spec["group"], spec["names"]["kind"]), "")
    if version and not any(one["name"] == version and one["storage"] for one in spec["versions"]):
        spec["versions"] = [{**one, "storage": one["name"] == version} for one in spec["versions"]]
        spec["conversion"] = {"strategy": "None"}
    return {key: value for key, value in made.items() if key != "status"}


def _own(document: Document) -> Document:
    return {key: value for key, value in document["metadata"].items() if key not in GIVEN_OUT}


def _put(server: ApiServer, document: Document) -> None:
    made = {**without_rules(document), "metadata": _own(document)}
    if made["kind"] == "Service":
        made["spec"] = {key: value for key, value in made["spec"].items() if key not in ADDRESSES}
    if made["kind"] in LAST:
        made["webhooks"] = [{**ANSWERED_BY_NOBODY, **one, "failurePolicy": "Ignore"} for one in made["webhooks"]]
    server.admin.create(made)
    if made.get("status"):
        path = server.admin.path_of(made, "status")
        body = {"status": made["status"]}
        server.admin.request("PATCH", path, body=body, content_type=PATCHES["merge"])


def scan(server: ApiServer, clean: Clean) -> Report:
    """The report of a live scan; the server is taken for the Kubernetes of that cluster, and its objects for a day
    old."""
    api = open_live(read_kubeconfig(server.kubeconfig(server.admin_token).encode()), reach=HERE)
    try:
        found = collect(api, cluster=clean.name)
    finally:
        api.close()
    version = Seen((ServerVersion(git_version=version_file(clean)["gitVersion"]),))
    later = datetime.fromisoformat(found.inventory.taken_at) + timedelta(days=1)
    inventory = replace(found.inventory, version=version, taken_at=later.isoformat().replace("+00:00", "Z"))
    return evaluate(replace(found, inventory=inventory)).report


def kubeconfig_of(server: ApiServer, folder: Path) -> Path:
    """A kubeconfig of the server's admin in the folder, for nobody else to read."""
    path = folder / "kubeconfig"
    path.write_text(server.kubeconfig(server.admin_token))
    path.chmod(0o600)
    return path


def run(lines: str, *, kubectl: Path, kubeconfig: Path) -> subprocess.CompletedProcess[str]:
    """What became of the lines in a shell that ends at the first error."""
    told = {**environment(), "PATH": f"{kubectl.parent}:{os.environ['PATH']}", "KUBECONFIG": str(kubeconfig)}
    words: Sequence[str] = ("bash", "-e", "-o", "pipefail", "-c", lines)
    return subprocess.run(
        words, cwd=kubeconfig.parent, env=told, capture_output=True, text=True, check=False, timeout=60
    )

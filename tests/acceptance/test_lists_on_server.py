"""Patches that add to a list, on a real API server: made once, refused for another list, and taken back."""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
import pytest

from migrations_app.checks.base import Evidence
from migrations_app.checks.changes import ChangeTarget, ObjectPatch
from migrations_app.checks.remedies.controller_network import open_ports
from migrations_app.checks.remedies.karpenter_objects import append_patch, append_undo
from migrations_app.checks.remedies.placement import add_toleration
from migrations_app.inventory.objects.karpenter import NodePool
from tests.acceptance.clusters import find, objects
from tests.acceptance.own_objects import POOL
from tests.acceptance.planting import one
from tests.acceptance.real_clusters import load
from tests.builders.clusters import a_cluster
from tests.servers.api_client import PATCHES, Document
from tests.servers.apiserver import ApiServer

PORT = Evidence(kind="NetworkPolicy", namespace="default", name="guard").with_data(port="8080")
TAINTS = "spec.template.spec.tolerations"
OLD, NEW = "karpenter.sh/disruption", "karpenter.sh/disrupted"
TARGET = ChangeTarget("NodePool", "default", resource="nodepools.karpenter.sh")
SELECTED: Document = {"matchLabels": {"app": "web"}}


def policy(*rules: Document) -> Document:
    spec = {"podSelector": {}, "policyTypes": ["Ingress"], "ingress": list(rules)}
    meta = {"name": "guard", "namespace": "default"}
    return {"apiVersion": "networking.k8s.io/v1", "kind": "NetworkPolicy", "metadata": meta, "spec": spec}


def deployment(*tolerations: Document) -> Document:
    pod = {"containers": [{"name": "web", "image": "web"}], "tolerations": list(tolerations)}
    template = {"metadata": {"labels": SELECTED["matchLabels"]}, "spec": pod}
    meta = {"name": "web", "namespace": "default"}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": meta,
        "spec": {"selector": SELECTED, "template": template},
    }


def sent(server: ApiServer, document: Document, patch: Sequence[Mapping[str, Any]]) -> int:
    path = server.admin.path_of(document)
    return server.admin.request("PATCH", path, body=[*patch], content_type=PATCHES["json"]).status


def made_once_and_taken_back(server: ApiServer, before: Document, patch: ObjectPatch) -> None:
    """The patch is made, refused a second time, and its undo leads back to the same spec."""
    assert isinstance(patch.undo, ObjectPatch)
    assert isinstance(patch.body, tuple)
    assert isinstance(patch.undo.body, tuple)
    path = server.admin.path_of(before)
    assert sent(server, before, patch.body) == 200
    assert server.admin.get(path)["spec"] != before["spec"]
    assert sent(server, before, patch.body) == 422
    assert sent(server, before, patch.undo.body) == 200
    assert server.admin.get(path)["spec"] == before["spec"]
    assert sent(server, before, patch.undo.body) in (409, 422)


@pytest.mark.parametrize("rules", [[], [{"from": [{"podSelector": {}}], "ports": [{"port": 9}]}]])
def test_rules_of_a_network_policy(clean_apiserver: ApiServer, rules: list[Document]) -> None:
    before = clean_apiserver.admin.create(policy(*rules))
    inventory = a_cluster().with_docs(before).build()
    patch = open_ports(inventory, [PORT]).change
    assert isinstance(patch, ObjectPatch)
    made_once_and_taken_back(clean_apiserver, before, patch)


def test_tolerations_of_a_workload(clean_apiserver: ApiServer) -> None:
    listed: list[Document] = [
        {"key": OLD, "operator": "Exists"},
        {"key": "a", "effect": "NoExecute", "tolerationSeconds": 5},
    ]
    before = clean_apiserver.admin.create(deployment(*listed))
    inventory = a_cluster().with_docs(before).build()
    row = Evidence(kind="Deployment", namespace="default", name="web", path=TAINTS)
    patch = add_toleration(inventory, row, old=OLD, new=NEW)
    assert isinstance(patch, ObjectPatch)
    made_once_and_taken_back(clean_apiserver, before, patch)


@pytest.mark.parametrize("path", ["spec.template.spec.requirements", "spec.template.spec.taints"])
def test_lists_of_a_pool(clean_apiserver: ApiServer, path: str) -> None:
    """The pool has requirements and no taints."""
    documents = objects(find("v1-10"))
    load(clean_apiserver, documents)
    before = clean_apiserver.admin.get(clean_apiserver.admin.path_of(one(documents, POOL)))
    pool = msgspec.convert(before, NodePool)
    value = {"key": "example.com/a", "operator": "In", "values": ["b"]}
    if path.endswith("taints"):
        value = {"key": "example.com/a", "value": "b", "effect": "NoSchedule"}
    undo = ObjectPatch(target=TARGET, body=tuple(append_undo(pool, path, value=value)))
    patch = ObjectPatch(target=TARGET, body=tuple(append_patch(pool, path, value=value)), undo=undo)
    made_once_and_taken_back(clean_apiserver, before, patch)

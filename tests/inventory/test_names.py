"""Names that Kubernetes would refuse are set aside with the reason, and the part is partial."""

import json

import msgspec
import pytest

from migrations_app.clients.bundle.bundle import open_bundle
from migrations_app.collect.collect import collect
from migrations_app.inventory.objects.cluster import ClusterRole
from migrations_app.inventory.objects.karpenter import NodePool
from migrations_app.inventory.parse import read_items
from migrations_app.inventory.parts import UnparsableObject
from tests.builders.pools import a_pool, put

REASON = "Kubernetes refuses such a name"


def read(kind, name, namespace=None):
    metadata = {"name": name} | ({"namespace": namespace} if namespace is not None else {})
    return read_items([msgspec.Raw(json.dumps({"metadata": metadata}).encode())], kind)


GOOD = ["a", "web-1", "a.b.c", "9", "x" * 253, "sh.helm.release.v1.karpenter.v12", "ip-10-0-0-1.eu.compute.internal"]
BAD = ["A", "a_b", "-a", "a-", ".a", "a.", "a..b", "a.-b", "a-.b", "a b", "a/b", "ä", "a\n", "$(x)", "x" * 254, "a:b"]


@pytest.mark.parametrize("name", GOOD)
def test_what_kubernetes_accepts_is_read(name):
    good, bad = read(NodePool, name)
    assert ([one.name for one in good], bad) == ([name], [])


@pytest.mark.parametrize("name", BAD)
def test_what_it_refuses_is_set_aside_with_the_reason(name):
    good, (bad,) = read(NodePool, name)
    assert (good, bad) == ([], UnparsableObject("NodePool", "", name[:253], "$.metadata.name", REASON))


@pytest.mark.parametrize("namespace", ["a.b", "A", "x" * 64, "a;b"])
def test_a_namespace_is_a_label(namespace):
    _, (bad,) = read(NodePool, "web", namespace)
    assert (bad.field, bad.why) == ("$.metadata.namespace", REASON)


@pytest.mark.parametrize(("name", "kept"), [("system:node", True), ("A b", True), ("a/b", False), ("..", False)])
def test_roles_may_have_every_name_that_stands_in_a_path(name, kept):
    good, bad = read(ClusterRole, name)
    assert (len(good), len(bad)) == ((1, 0) if kept else (0, 1))


def test_the_scan_is_partial_and_says_so():
    docs = [a_pool(), put(a_pool(name="x"), {"metadata.name": "web; true"})]
    files = {"objects.json": json.dumps({"apiVersion": "v1", "kind": "List", "items": docs}).encode()}
    found = collect(open_bundle(files), cluster="test")
    line = next(one for one in found.parts if one.name == "nodepools")
    assert (line.count, line.quarantined, line.detail) == (1, 1, f"web; true: {REASON}")
    assert found.complete is False

"""K12, K18, T07: one bad object is set aside with the field that is wrong, and the rest is kept."""

import json

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from migrations_app.inventory.objects.karpenter import Node, NodePool, Pod, Provisioner
from migrations_app.inventory.parse import LONGEST_OBJECT, read_crd, read_items
from migrations_app.inventory.parts import UnparsableObject

LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"


def raw(*objects):
    return [msgspec.Raw(item if isinstance(item, bytes) else json.dumps(item).encode()) for item in objects]


def node(name="n1", **extra):
    return {"metadata": {"name": name}, **extra}


def test_good_objects_around_a_bad_one_are_kept():
    bad = node("bad", spec={"taints": [{"key": 7}]})
    good, aside = read_items(raw(node("a"), bad, node("b")), Node)
    assert [item.name for item in good] == ["a", "b"]
    assert aside == [UnparsableObject("Node", "", "bad", "$.spec.taints[0].key", "Expected `str`, got `int`")]


@pytest.mark.parametrize("body", [b"[]", b'"text"', b"1", b"null", b"{}", b'{"metadata":{}}', b'{"metadata":null}'])
def test_what_is_no_named_object_is_set_aside(body):
    good, aside = read_items(raw(body), Node)
    assert good == []
    assert [item.name for item in aside] == ["(no name)"]


def test_fields_may_be_missing_or_null():
    good, aside = read_items(raw(node(spec={"taints": None, "providerID": None}, status=None)), Node)
    assert aside == []
    assert good[0].spec.provider_id is None


def test_deep_nesting_is_set_aside_and_ends_nothing():  # K18
    deep = b'{"metadata":{"name":"deep"},"spec":{"x":' + b"[" * 200_000 + b"]" * 200_000 + b"}}"
    good, aside = read_items(raw(deep, node("ok")), Provisioner)
    assert [item.name for item in good] == ["ok"]
    assert len(aside) == 1


def test_nul_and_lone_surrogates_become_the_replacement_character():  # T07
    body = rb'{"metadata":{"name":"a","labels":{"kubernetes.io/os":"x\u0000y\ud800z\ud83d\ude00"}}}'
    good, aside = read_items(raw(body), Node)
    assert aside == []
    assert good[0].metadata.labels == {"kubernetes.io/os": "x\ufffdy\ufffdz\U0001f600"}


def test_an_object_longer_than_a_server_can_store_is_set_aside():
    huge = node("huge", spec={"note": "x" * LONGEST_OBJECT})
    good, aside = read_items(raw(huge, node("ok")), Node)
    assert [item.name for item in good] == ["ok"]
    assert aside[0].name == "huge"
    assert "too large" in aside[0].why


def test_the_last_applied_text_is_dropped():  # T23
    item = {"metadata": {"name": "p", "annotations": {LAST_APPLIED: "secret-canary", "team": "a"}}}
    good, _ = read_items(raw(item), Provisioner)
    assert good[0].metadata.annotations == {LAST_APPLIED: "", "team": "a"}


def test_nodes_keep_only_labels_that_somebody_asks_for():
    labels = {"karpenter.sh/nodepool": "p", "example.com/rack": "r1", "eks.amazonaws.com/nodegroup": "g"}
    good, _ = read_items(raw({"metadata": {"name": "n", "labels": labels}}), Node)
    assert good[0].metadata.labels == {"karpenter.sh/nodepool": "p", "eks.amazonaws.com/nodegroup": "g"}


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=12,
)


@given(
    st.lists(st.fixed_dictionaries({"metadata": json_values, "spec": json_values, "status": json_values}), max_size=5)
)
def test_nothing_is_lost_whatever_comes(objects):
    good, aside = read_items(raw(*objects), Pod)
    assert len(good) + len(aside) == len(objects)


def test_an_object_of_another_kind_than_its_list_is_set_aside():  # K12
    items = [msgspec.Raw(b'{"kind": "%s", "metadata": {"name": "a"}}' % kind) for kind in (b"NodePool", b"Lease", b"")]
    good, bad = read_items(items, NodePool)
    assert ([one.kind for one in good], [one.field for one in bad]) == (["NodePool", ""], ["$.kind"])


def test_an_object_of_another_namespace_than_its_list_is_set_aside():  # K12
    items = raw(*({"metadata": {"name": name, "namespace": name}} for name in ("a", "b")), {"metadata": {"name": "c"}})
    good, bad = read_items(items, Pod, namespace="a")
    assert ([one.name for one in good], [one.name for one in bad]) == (["a"], ["b", "c"])
    assert {one.field for one in bad} == {"$.metadata.namespace"}
    assert len(read_items(items, Pod)[0]) == 3


def test_a_crd_with_half_a_surrogate_keeps_its_fields():  # T07
    spec = {"versions": [{"name": "v1", "schema": {"openAPIV3Schema": {"properties": {"spec": {"type": "object"}}}}}]}
    crd = {"metadata": {"name": "nodepools.karpenter.sh"}, "spec": {"group": "karpenter.sh"} | spec}
    whole = read_crd(msgspec.Raw(json.dumps(crd).encode()))
    odd = read_crd(msgspec.Raw(json.dumps(crd | {"odd": "@"}).encode().replace(b"@", b"\\ud800")))
    assert whole.spec.versions[0].fields is not None
    assert odd == whole

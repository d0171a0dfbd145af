"""What the conversion webhook makes of objects comes back as it was."""

import json
from typing import Any

import pytest

from migrations_app.conversion.webhook import NEVER, converted
from migrations_app.karpenter import labels

BETA, V1 = "karpenter.k8s.aws/v1beta1", "karpenter.k8s.aws/v1"
BETA_CORE, V1_CORE = "karpenter.sh/v1beta1", "karpenter.sh/v1"
REFERENCE = {"group": "karpenter.k8s.aws", "kind": "EC2NodeClass", "name": "default"}


def node_class(version: str, **spec: Any) -> dict[str, Any]:
    return {"apiVersion": version, "kind": "EC2NodeClass", "metadata": {"name": "default"}, "spec": spec}


@pytest.mark.parametrize("disks", [{}, {"blockDeviceMappings": [{"deviceName": "/dev/sda1"}]}])
@pytest.mark.parametrize("terms", [{}, {"amiSelectorTerms": [{"id": "ami-1"}]}])
def test_an_ubuntu_class_becomes_al2_with_a_mark_and_comes_back(terms, disks):
    beta = node_class(BETA, amiFamily="Ubuntu", **terms, **disks)
    there = converted(beta, V1)
    assert there["spec"]["amiFamily"] == "AL2"
    assert set(there["metadata"]["annotations"][labels.UBUNTU_COMPATIBILITY].split(",")) == {
        "amiFamily",
        *(() if terms else ("incompatible",)),
        *(() if disks else ("blockDeviceMappings",)),
    }
    assert converted(there, BETA) == beta


def test_the_version_of_an_alias_outlives_the_way_through_v1beta1():
    pinned = node_class(V1, amiSelectorTerms=[{"alias": "al2023@v20240807"}])
    there = converted(pinned, BETA)
    assert (there["spec"], there["metadata"]["annotations"]) == (
        {"amiFamily": "AL2023"},
        {labels.ALIAS_VERSION_COMPATIBILITY: "v20240807"},
    )
    assert converted(there, V1) == pinned


@pytest.mark.parametrize(("beta", "v1"), [({}, NEVER), ({"consolidateAfter": "5m"}, "5m")])
def test_when_empty_without_a_time_never_consolidates(beta, v1):
    pool = {
        "apiVersion": "karpenter.sh/v1beta1",
        "kind": "NodePool",
        "metadata": {"name": "general"},
        "spec": {"disruption": {"consolidationPolicy": "WhenEmpty", **beta}, "template": {"spec": {}}},
    }
    assert converted(pool, "karpenter.sh/v1")["spec"]["disruption"]["consolidateAfter"] == v1


def test_a_claim_gets_the_expiry_of_its_pool_in_v1_alone():
    claim = {"apiVersion": "karpenter.sh/v1beta1", "kind": "NodeClaim", "metadata": {"name": "a"}, "spec": {}}
    there = converted(claim, "karpenter.sh/v1", expire_after="720h")
    assert there["spec"]["expireAfter"] == "720h"
    assert "expireAfter" not in converted(there, "karpenter.sh/v1beta1", expire_after="720h")["spec"]


@pytest.mark.parametrize(
    ("disruption", "beta"),
    [
        ({}, {"consolidationPolicy": "WhenUnderutilized"}),
        (
            {"consolidationPolicy": "WhenEmptyOrUnderutilized", "consolidateAfter": "30s"},
            {"consolidationPolicy": "WhenUnderutilized"},
        ),
        (
            {"consolidationPolicy": "WhenEmpty", "consolidateAfter": "30s"},
            {"consolidationPolicy": "WhenEmpty", "consolidateAfter": "30s"},
        ),
    ],
)
def test_only_when_empty_keeps_its_time_in_v1beta1(disruption, beta):
    spec = {"disruption": disruption, "template": {"spec": {"expireAfter": "720h"}}}
    pool = {"apiVersion": "karpenter.sh/v1", "kind": "NodePool", "metadata": {"name": "general"}, "spec": spec}
    assert converted(pool, "karpenter.sh/v1beta1")["spec"]["disruption"] == beta | {"expireAfter": "720h"}


def of_core(kind: str, version: str, spec: Any, **annotations: str) -> dict[str, Any]:
    """A NodePool whose template, or a NodeClaim whose spec, is `spec`."""
    metadata = {"name": "general", **({"annotations": annotations} if annotations else {})}
    disruption = {"consolidationPolicy": "WhenEmpty", "consolidateAfter": "30s"}
    whole = {"disruption": disruption, "template": {"spec": spec}} if kind == "NodePool" else spec
    return {"apiVersion": version, "kind": kind, "metadata": metadata, "spec": whole}


def inner(document: dict[str, Any]) -> Any:
    return document["spec"]["template"]["spec"] if document["kind"] == "NodePool" else document["spec"]


@pytest.mark.parametrize("kind", ["NodePool", "NodeClaim"])
def test_the_mark_of_rewritten_objects_is_not_shown_in_v1beta1(kind):
    marked = of_core(kind, V1_CORE, {"nodeClassRef": REFERENCE}, **{labels.STORED_VERSION_DONE: "true", "acme": "kept"})
    assert converted(marked, BETA_CORE)["metadata"] == {"name": "general", "annotations": {"acme": "kept"}}
    assert converted(marked | {"apiVersion": BETA_CORE}, V1_CORE)["metadata"]["annotations"] == {
        labels.STORED_VERSION_DONE: "true",
        "acme": "kept",
        labels.NODE_CLASS_REFERENCE_COMPATIBILITY: json.dumps(REFERENCE, separators=(",", ":")),
    }


def test_a_class_loses_that_mark_and_its_kubelet_settings_in_v1beta1():
    marked = node_class(V1, amiSelectorTerms=[{"alias": "al2@latest"}], kubelet={"maxPods": 1})
    marked["metadata"]["annotations"] = {labels.STORED_VERSION_DONE: "true"}
    assert converted(marked, BETA) == node_class(BETA, amiFamily="AL2")


@pytest.mark.parametrize("kind", ["NodePool", "NodeClaim"])
@pytest.mark.parametrize(
    "reference",
    [
        {"name": "default"},
        {"kind": "EC2NodeClass", "name": "default"},
        {"apiVersion": "karpenter.k8s.aws/v1beta1", "kind": "EC2NodeClass", "name": "default"},
    ],
)
def test_a_reference_comes_back_as_it_was(kind, reference):
    beta = of_core(kind, BETA_CORE, {"nodeClassRef": reference})
    there = converted(beta, V1_CORE)
    assert inner(there)["nodeClassRef"] == REFERENCE
    assert inner(converted(there, BETA_CORE))["nodeClassRef"] == reference


@pytest.mark.parametrize("kind", ["NodePool", "NodeClaim"])
def test_a_reference_that_nothing_remembers_has_no_api_version_in_v1beta1(kind):
    there = converted(of_core(kind, V1_CORE, {"nodeClassRef": REFERENCE}), BETA_CORE)
    assert inner(there)["nodeClassRef"] == {"kind": "EC2NodeClass", "name": "default"}


def test_a_budget_has_no_reasons_in_v1beta1():
    pool = of_core("NodePool", V1_CORE, {"nodeClassRef": REFERENCE})
    pool["spec"]["disruption"]["budgets"] = [{"nodes": "10%", "reasons": ["Empty"]}, {"nodes": "0"}]
    there = converted(pool, BETA_CORE)
    assert there["spec"]["disruption"]["budgets"] == [{"nodes": "10%"}, {"nodes": "0"}]


@pytest.mark.parametrize("kind", ["NodePool", "NodeClaim"])
@pytest.mark.parametrize(
    ("kubelet", "marks"),
    [({}, {}), ({"kubelet": {"maxPods": 2}}, {labels.KUBELET_COMPATIBILITY: '{"maxPods":2}'})],
)
def test_kubelet_settings_that_are_gone_leave_no_annotation_in_v1(kind, kubelet, marks):
    stale = {labels.KUBELET_COMPATIBILITY: '{"maxPods":1}'}
    there = converted(of_core(kind, BETA_CORE, {"nodeClassRef": {"name": "default"}, **kubelet}, **stale), V1_CORE)
    left = {labels.NODE_CLASS_REFERENCE_COMPATIBILITY: '{"name":"default"}'} | marks
    assert there["metadata"]["annotations"] == left

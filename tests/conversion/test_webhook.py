"""What the conversion webhook makes of objects comes back as it was."""

from typing import Any

import pytest

from migrations_app.conversion.webhook import NEVER, converted
from migrations_app.karpenter import labels

BETA, V1 = "karpenter.k8s.aws/v1beta1", "karpenter.k8s.aws/v1"


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

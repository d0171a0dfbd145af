"""The objects of sample clusters: whole, told apart, and converted without loss."""

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from migrations_app.conversion.webhook import converted
from migrations_app.samples.changeable.charts import chart
from migrations_app.samples.changeable.clusters import SAMPLES
from migrations_app.samples.changeable.past import DAYS, past

NOW = datetime(2026, 11, 22, 12, tzinfo=UTC)


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda one: one.name)
def test_every_object_has_a_uid_of_its_own_and_every_owner_is_there(sample):
    docs = sample.build(NOW)
    uids = [one["metadata"]["uid"] for one in docs]
    assert len(uids) == len(set(uids))
    owners = {owner["uid"] for one in docs for owner in one["metadata"].get("ownerReferences") or ()}
    assert owners <= set(uids)


def test_the_three_samples_begin_where_they_say():
    kinds = {
        sample.name: {kind: sum(one["kind"] == kind for one in sample.build(NOW)) for kind in ("Machine", "NodeClaim")}
        for sample in SAMPLES
    }
    assert kinds == {
        "live-alpha": {"Machine": 20, "NodeClaim": 0},
        "live-halfway": {"Machine": 6, "NodeClaim": 6},
        "live-stored": {"Machine": 0, "NodeClaim": 8},
    }


@pytest.mark.parametrize("version", ["0.32.10", "0.37.8", "1.0.14"])
def test_a_chart_brings_the_definitions_of_its_release(version):
    files = chart(version)
    assert sorted(name for name in files if "karpenter.sh" in name and "nodepools" in name) == [
        "crds/nodepools.karpenter.sh.yaml"
    ]
    assert version.encode() in files["Chart.yaml"]


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda one: one.name)
def test_a_past_covers_ninety_days_and_goes_forward(sample):
    days = [one.days_ago for one in past(sample.name)]
    assert (days[0], days) == (DAYS, sorted(days, reverse=True))


POLICIES = st.sampled_from([("WhenUnderutilized", None), ("WhenEmpty", "30s"), ("WhenEmpty", "Never")])
EXPIRIES = st.sampled_from(["Never", "720h", "24h"])
REFERENCE = {"apiVersion": "karpenter.k8s.aws/v1beta1", "kind": "EC2NodeClass", "name": "default"}


@given(policy=POLICIES, expiry=EXPIRIES, taints=st.booleans())
def test_a_pool_comes_back_from_v1_as_it_was(policy, expiry, taints):
    name, after = policy
    disruption = {"consolidationPolicy": name, "expireAfter": expiry} | ({"consolidateAfter": after} if after else {})
    inner = {"nodeClassRef": REFERENCE} | ({"taints": [{"key": "a", "effect": "NoSchedule"}]} if taints else {})
    pool = {
        "apiVersion": "karpenter.sh/v1beta1",
        "kind": "NodePool",
        "metadata": {"name": "general"},
        "spec": {"disruption": disruption, "template": {"spec": inner}},
    }
    there = converted(pool, "karpenter.sh/v1")
    assert there["spec"]["template"]["spec"]["expireAfter"] == expiry
    assert "expireAfter" not in there["spec"]["disruption"]
    assert converted(there, "karpenter.sh/v1beta1") == pool


@given(family=st.sampled_from(["AL2", "AL2023", "Bottlerocket", "Custom"]))
def test_a_class_comes_back_from_v1_as_it_was(family):
    found = {
        "apiVersion": "karpenter.k8s.aws/v1beta1",
        "kind": "EC2NodeClass",
        "metadata": {"name": "default"},
        "spec": {"amiFamily": family, "role": "nodes"},
    }
    assert converted(converted(found, "karpenter.k8s.aws/v1"), "karpenter.k8s.aws/v1beta1") == found

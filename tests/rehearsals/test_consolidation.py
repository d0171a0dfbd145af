"""Consolidation that is not played is bound by the budgets of the pools, and said."""

import pytest

from migrations_app.rehearsals.assumptions import CONSOLIDATION, unplayed_consolidation
from migrations_app.rehearsals.reading import ClusterReading

MANY = 10**6


def reading(*disruptions, claims=20, provisioner=None):
    pools = [
        {"kind": "NodePool", "metadata": {"name": f"p{number}"}, "spec": {"disruption": one}}
        for number, one in enumerate(disruptions)
    ]
    found = ClusterReading("2026-09-14T08:00:00+00:00", {"NodePool": pools})
    found.objects["NodeClaim"] = [
        {"metadata": {"labels": {"karpenter.sh/nodepool": f"p{number}"}}}
        for number in range(len(pools))
        for _ in range(claims)
    ]
    if provisioner is not None:
        found.objects["Provisioner"] = [{"kind": "Provisioner", "metadata": {"name": "old"}, "spec": provisioner}]
    return found


@pytest.mark.parametrize(
    ("disruption", "more"),
    [
        ({}, 2),
        ({"consolidationPolicy": "WhenUnderutilized"}, 2),
        ({"consolidationPolicy": "WhenEmptyOrUnderutilized", "budgets": [{"nodes": "50%"}, {"nodes": "3"}]}, 3),
        ({"budgets": [{"nodes": "5", "reasons": ["Underutilized"]}, {"nodes": "1", "reasons": ["Drifted"]}]}, 5),
        ({"budgets": [{"nodes": "0", "schedule": "@daily", "duration": "1h"}]}, 20),
    ],
)
def test_the_budgets_of_a_pool_bound_the_peak(disruption, more):
    found = unplayed_consolidation(reading(disruption), at_once=MANY)
    assert found.code == CONSOLIDATION
    assert "NodePool p0: prices are not known. Here nodes" in found.words
    assert f"up to {more} more nodes" in found.words


@pytest.mark.parametrize(
    "disruption",
    [
        {"consolidationPolicy": "WhenEmpty"},
        {"consolidateAfter": "Never"},
        {"budgets": [{"nodes": "0"}]},
        {"budgets": [{"nodes": "0", "reasons": ["Underutilized"]}]},
    ],
)
def test_nothing_is_said_where_no_node_is_consolidated(disruption):
    assert unplayed_consolidation(reading(disruption), at_once=MANY) is None


def test_nodes_that_a_rollout_brings_into_the_pool_count():
    halfway = reading({}, claims=0)
    halfway.objects["Machine"] = [{}] * 30
    assert "up to 3 more nodes" in unplayed_consolidation(halfway, at_once=MANY).words


def test_pools_are_added_up_and_before_budgets_one_node_goes_at_a_time():
    both = reading({}, {"budgets": [{"nodes": "4"}]}, provisioner={"consolidation": {"enabled": True}})
    assert "up to 9 more nodes" in unplayed_consolidation(both, at_once=MANY).words
    assert "up to 1 more node," in unplayed_consolidation(both, at_once=1).words
    assert unplayed_consolidation(reading(provisioner={"ttlSecondsAfterEmpty": 30}), at_once=1) is None

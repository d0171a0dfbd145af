"""Between two batches: wait, go on, or stop and call a person; what could not be counted never lets it go on."""

import pytest

from migrations_app.actions.changes import ObjectTarget
from migrations_app.actions.gate import ClusterCounters, Gate, GateDecision, judge

NODE = ObjectTarget("", "v1", "nodes", "Node", "node-1")
BEFORE = ClusterCounters(taken_at="0", unready_claims=1, pending_pods=2, legacy_nodes=3)


def now(**changed):
    return ClusterCounters(
        **{"taken_at": "1", "unready_claims": 1, "pending_pods": 2, "legacy_nodes": 0, "draining_nodes": 0} | changed
    )


GATE = Gate(gone=(NODE,), replaced=True, no_legacy_nodes=True, no_drains=True, seconds=60)


def test_go_when_everything_is_so():  # A24
    assert judge(GATE, before=BEFORE, now=now(), waited=0) == GateDecision(judgement="go")


WAITS = [
    ({"standing": ("Node node-1",)}, "Node node-1 is still there"),
    ({"unready_claims": 2}, "2 claims without a Ready node, at most 1 are allowed"),
    ({"pending_pods": 3}, "3 Pending pods, at most 2 are allowed"),
    (
        {"pending_pods": 4, "pending": ("shop/a", "shop/b")},
        "4 Pending pods, at most 2 are allowed: shop/a, shop/b and 2 more",
    ),
    ({"draining_nodes": 2}, "2 nodes that Karpenter drains are left"),
    ({"draining_nodes": None}, "nodes that Karpenter drains could not be counted"),
    ({"legacy_nodes": 1}, "1 nodes of Provisioners are left"),
    ({"unready_claims": None}, "claims without a Ready node could not be counted"),
    ({"pending_pods": None}, "Pending pods could not be counted"),
    ({"legacy_nodes": None}, "nodes of Provisioners could not be counted"),
]


@pytest.mark.parametrize(("changed", "reason"), WAITS)
def test_wait_and_then_pause_with_the_reason(changed, reason):  # A24, R24
    assert judge(GATE, before=BEFORE, now=now(**changed), waited=59) == GateDecision(
        judgement="wait", reasons=(reason,)
    )
    late = judge(GATE, before=BEFORE, now=now(**changed), waited=60)
    assert late == GateDecision(judgement="pause", reasons=("after 60 s still not so", reason))


def test_without_a_baseline_nothing_is_compared():
    assert judge(GATE, before=ClusterCounters(taken_at="0"), now=now(), waited=0).judgement == "wait"


def test_only_what_the_gate_asks_counts():
    bare = Gate(pending_above=None)
    assert judge(bare, before=BEFORE, now=ClusterCounters(taken_at="1"), waited=0) == GateDecision(judgement="go")

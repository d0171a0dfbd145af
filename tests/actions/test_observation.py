"""What gates saw is folded look by look: counts only grow, an order is never changed, and nothing grows for ever."""

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from migrations_app.actions.gate import BlockedEviction, ClusterCounters, LeavingPods, NodeMark
from migrations_app.actions.observation import MAX_NODES, MAX_PODS, RunObservation, observed

NAMES = st.sampled_from([f"n{number}" for number in range(6)])
LOOKS = st.lists(
    st.builds(
        ClusterCounters,
        taken_at=st.just(""),
        all_nodes=st.none() | st.integers(0, 50),
        nodes=st.lists(st.builds(NodeMark, name=NAMES, draining=st.booleans()), max_size=6).map(tuple),
        nodes_rest=st.integers(0, 1),
        leaving=st.lists(st.builds(LeavingPods, node=NAMES, pods=st.integers(0, 9)), max_size=6).map(tuple),
        blocked=st.lists(
            st.builds(
                BlockedEviction, namespace=st.just("shop"), pod=NAMES, node=NAMES, by=st.just("it"),
                budget=st.sampled_from(["", "shop/a", "shop/b"]),
            ),
            max_size=6,
        ).map(tuple),
    ),
    max_size=8,
)  # fmt: skip


def folded(looks):
    found = [RunObservation()]
    for look in looks:
        found.append(observed(found[-1], look))
    return found


@given(looks=LOOKS)
def test_what_was_seen_is_never_unseen(looks):
    steps = folded(looks)
    for before, after in pairwise(steps):
        assert after.looks == before.looks + 1
        assert after.drained[: len(before.drained)] == before.drained
        assert len(set(after.nodes_drained)) == len(after.nodes_drained)
        assert all(after.drained)
        assert (after.nodes_peak or 0) >= (before.nodes_peak or 0)
        assert all(set(pods) <= set(after.held[by]) for by, pods in before.held.items())
        assert after.pods_moved >= before.pods_moved
    counts = [look.all_nodes for look in looks if look.all_nodes is not None]
    assert steps[-1].nodes_peak == max(counts, default=None)
    pods = {(one.budget or "annotation", one.pod) for look in looks for one in look.blocked}
    assert {(by, name.removeprefix("shop/")) for by, names in steps[-1].held.items() for name in names} == pods


def look(*names, draining=(), **more):
    marks = tuple(NodeMark(name=name, draining=name in draining) for name in names)
    return ClusterCounters(taken_at="", nodes=marks, all_nodes=len(names), **more)


def test_a_node_that_went_between_two_looks_is_drained_before_those_that_drain_now():
    seen = folded([look("a", "b", "c"), look("b", "c", draining=["c"]), look("b")])[-1]
    assert (seen.drained, seen.nodes_peak) == ((("a", "c"),), 3)


def test_a_node_that_is_not_named_any_more_is_not_taken_for_gone():
    assert folded([look("a", "b"), look("b", nodes_rest=1)])[-1].drained == ()
    unread = ClusterCounters(taken_at="")
    assert folded([look("a", "b"), unread, look("a", "b")])[-1].drained == ()


def test_pods_count_on_drained_nodes_only_and_at_their_most():
    waiting = (LeavingPods(node="a", pods=5), LeavingPods(node="b", pods=9))
    seen = folded([look("a", "b", leaving=waiting), look("a", "b", draining=["a"], leaving=waiting[:0])])[-1]
    assert (seen.pods_moved, seen.leaving) == (5, {"a": 5, "b": 9})


def test_more_pods_than_are_kept_are_told():
    blocked = tuple(
        BlockedEviction(namespace="shop", pod=f"p{number}", node="a", by="", budget="shop/a")
        for number in range(MAX_PODS + 5)
    )
    seen = folded([look("a", blocked=blocked)])[-1]
    assert (len(seen.held["shop/a"]), seen.cut) == (MAX_PODS, True)


def test_of_more_drained_nodes_than_are_kept_none_is_added():
    names = [f"n{number}" for number in range(MAX_NODES + 5)]
    steps = folded([look(*names), look(*names, draining=names), look(*names[5:], draining=names[5:]), look()])
    assert [(len(seen.nodes_drained), seen.cut) for seen in steps[2:]] == [(MAX_NODES, True)] * 3

"""Rules of pods about other pods: apart, together, evenly spread, for the scheduler and for what Karpenter launches."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from migrations_app.simulator.changes import ObjectChange
from migrations_app.simulator.generations import NODES, PODS, current
from tests.simulator.test_rules import cluster, nodepool, planned

ZONE, HOST = "topology.kubernetes.io/zone", "kubernetes.io/hostname"
MINE = {"matchLabels": {"app": "a"}}
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
READY = {"conditions": [{"type": "Ready", "status": "True"}]}


def apart(key):
    return {"affinity": {"podAntiAffinity": {REQUIRED: [{"topologyKey": key, "labelSelector": MINE}]}}}


def together(key, app="a"):
    chosen = {"matchLabels": {"app": app}}
    return {"affinity": {"podAffinity": {REQUIRED: [{"topologyKey": key, "labelSelector": chosen}]}}}


def spread(key, most=1, **more):
    rule = {"topologyKey": key, "maxSkew": most, "whenUnsatisfiable": "DoNotSchedule", "labelSelector": MINE}
    return {"topologySpreadConstraints": [rule | more]}


def pod(number, *, app="a", node="", **spec):
    metadata = {"name": f"p{number:03d}", "namespace": "n", "uid": f"u{number}", "labels": {"app": app}}
    inside = [{"name": "c", "resources": {"requests": {"cpu": "100m"}}}]
    return PODS, {"metadata": metadata, "spec": {"containers": inside, **({"nodeName": node} if node else {}), **spec}}


def node(name, zone="a"):
    labels = {ZONE: zone, HOST: name}
    return NODES, {"metadata": {"name": name, "uid": name, "labels": labels}, "spec": {}, "status": READY}


def scheduled(state):
    """Where pods that wait are put, one after the other, by name."""
    found = {}
    for one in sorted(state.waiting.values(), key=lambda each: each.name):
        place = state.room_for(one.shape)
        if place is not None:
            found[one.name] = place.name
            state.update(one, node=place.name)
    return found


def test_pods_that_stay_apart_never_share_a_host():
    nodes = [node(f"n{number}") for number in range(3)]
    state = cluster(*nodes, *(pod(number, **apart(HOST)) for number in range(5)))
    assert sorted(scheduled(state).values()) == ["n0", "n1", "n2"]
    assert len(state.waiting) == 2


def test_a_pod_keeps_off_where_another_one_wants_to_be_alone():
    state = cluster(node("n0"), node("n1", "b"), pod(1, app="b", node="n0", **apart(ZONE)), pod(2))
    assert scheduled(state) == {"p002": "n1"}


def test_pods_that_belong_together_follow_the_first_one():
    state = cluster(node("n0"), node("n1", "b"), pod(1, node="n1"), *(pod(n, **together(ZONE)) for n in range(2, 5)))
    assert set(scheduled(state).values()) == {"n1"}


def test_the_first_of_a_group_may_go_anywhere_and_a_stranger_nowhere():
    alone = cluster(node("n0"), pod(1, **together(HOST)))
    assert scheduled(alone) == {"p001": "n0"}
    assert scheduled(cluster(node("n0"), pod(1, **together(HOST, app="absent")))) == {}


@given(count=st.integers(1, 12), most=st.integers(1, 3), there=st.lists(st.sampled_from("abc"), max_size=4))
def test_no_zone_has_more_pods_than_the_spread_allows(count, most, there):
    nodes = [node(f"n{number}", zone) for number, zone in enumerate("abc")]
    before = [pod(100 + number, node=f"n{'abc'.index(zone)}") for number, zone in enumerate(there)]
    state = cluster(*nodes, *before, *(pod(number, **spread(ZONE, most)) for number in range(count)))
    began = Counter(there)
    for name in scheduled(state).values():
        zone = "abc"[int(name[1:])]
        began[zone] += 1
        assert began[zone] - min(began[one] for one in "abc") <= most


def test_a_pod_that_went_is_counted_no_more():
    state = cluster(node("n0"), pod(1, node="n0", **apart(HOST)), pod(2, **apart(HOST)))
    assert scheduled(state) == {}
    state.apply(ObjectChange(PODS, pod(1, node="n0", **apart(HOST))[1], gone=True))
    assert scheduled(state) == {"p002": "n0"}


@pytest.mark.parametrize(("rule", "nodes"), [(apart(HOST), 4), (spread(HOST), 4), ({}, 1)])
def test_karpenter_launches_a_host_for_each_pod_that_needs_its_own(rule, nodes):
    pool = (current("v1").pools_path, nodepool())
    found, no_place = planned(cluster(pool, *(pod(number, **rule) for number in range(4))))
    assert (len(found), no_place) == (nodes, {})


def test_karpenter_spreads_over_the_zones_in_which_it_can_launch():
    pool = (current("v1").pools_path, nodepool())
    state = cluster(pool, *(pod(number, **spread(ZONE)) for number in range(6)))
    found, no_place = planned(state, zones=("a", "b", "c"))
    assert no_place == {}
    assert [sorted({one.zone for one in node.options}) for node in found] == [["a"], ["b"], ["c"]]
    assert [node.used.pods for node in found] == [2, 2, 2]
    assert not any(state.domains.fullness(one.shape, {ZONE: "a"})[0] for one in state.waiting.values())


def test_a_full_zone_leaves_evenly_spread_pods_without_a_place():
    pool = (current("v1").pools_path, nodepool())
    state = cluster(pool, *(pod(number, **spread(ZONE)) for number in range(4)))
    found, no_place = planned(state, zones=("a", "b"), full=("b",))
    assert (sum(node.used.pods for node in found), set(no_place.values())) == (1, {"pod_rules"})

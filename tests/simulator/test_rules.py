"""The simulator's rules alone: amounts, placement, packing, budgets of pools, and time."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from migrations_app.simulator.agenda import Agenda
from migrations_app.simulator.behaviour import Behaviour
from migrations_app.simulator.changes import ObjectChange
from migrations_app.simulator.clock import SimulatedClock
from migrations_app.simulator.cluster_state import ClusterState
from migrations_app.simulator.generations import NODES, PODS, current
from migrations_app.simulator.instance_sizes import InstanceSize, allocatable, known_sizes, offerings
from migrations_app.simulator.karpenter.launch import NodeLauncher
from migrations_app.simulator.karpenter.provisioning import NodeProvisioner
from migrations_app.simulator.placement.room import emptiness
from migrations_app.simulator.pod_shapes import PodShapes, matches
from migrations_app.simulator.resources import ResourceAmounts, amounts, requested

START = datetime(2026, 9, 14, tzinfo=UTC)
SIZES = tuple(
    InstanceSize(
        f"s{n}", ResourceAmounts(n * 1000, n * 2**30, 10), ResourceAmounts(n * 1000, n * 2**30, 10), float(n), {}
    )
    for n in (1, 2, 4)
)
AMOUNTS = st.builds(ResourceAmounts, st.integers(0, 4000), st.integers(0, 2**32), st.integers(0, 10))


def pod(number, *, cpu="0", memory="0", node="", **spec):
    inside = [{"name": "c", "resources": {"requests": {"cpu": cpu, "memory": memory}}}]
    metadata = {"name": f"p{number}", "namespace": "n", "uid": f"u{number}", "labels": {"app": "a"}}
    return {"metadata": metadata, "spec": {"containers": inside, **({"nodeName": node} if node else {}), **spec}}


def nodepool(**spec):
    return {
        "metadata": {"name": "web", "uid": "pool", "resourceVersion": "1"},
        "spec": {"template": {"spec": {}}, **spec},
    }


def cluster(*documents):
    state = ClusterState("v1", unknown_size=ResourceAmounts(1000, 2**30, 3))
    for path, document in documents:
        state.apply(ObjectChange(path, document))
    return state


def planned(state, *, zones=("a",), full=()):
    """The nodes that are planned for the pods that wait, and why others get none."""
    behaviour = Behaviour(version="v1", sizes=SIZES, zones=zones, full_zones=frozenset(full))
    agenda = Agenda(SimulatedClock(START))
    provisioner = NodeProvisioner(behaviour, agenda, launcher=NodeLauncher(None, behaviour, agenda=agenda))
    return provisioner.plan(state, state.waiting.values()), provisioner.no_place


@given(first=AMOUNTS, second=AMOUNTS)
def test_amounts_add_up(first, second):
    assert first.plus(second).minus(second) == first
    assert first.plus(second).holds(first)
    whole = second._replace(pods=max(1, second.pods))
    count = first.count(whole)
    assert first.holds(ResourceAmounts().plus(whole, count)) or count == 0
    assert not first.holds(ResourceAmounts().plus(whole, count + 1))


@pytest.mark.parametrize(
    ("given_amounts", "wanted"),
    [
        ({"cpu": "250m", "memory": "1Gi"}, ResourceAmounts(250, 2**30, 0)),
        ({"cpu": 2, "pods": "58"}, ResourceAmounts(2000, 0, 58)),
        ({"cpu": "0.1", "memory": "odd"}, ResourceAmounts(100, 0, 0)),
        ({}, ResourceAmounts()),
    ],
)
def test_quantities_are_read(given_amounts, wanted):
    assert amounts(given_amounts) == wanted


def test_an_init_container_counts_where_it_is_larger_and_a_sidecar_always():
    def one(cpu, **more):
        return {"resources": {"requests": {"cpu": cpu}}, **more}

    spec = {"containers": [one("1"), one("500m")], "initContainers": [one("4"), one("250m", restartPolicy="Always")]}
    assert requested(spec) == ResourceAmounts(4000, 0, 1)
    spec["initContainers"][0] = one("1")
    assert requested(spec | {"overhead": {"cpu": "100m"}}) == ResourceAmounts(1850, 0, 1)


VALUES = st.sampled_from(["", "a", "b", "3", "12"])


@given(value=st.none() | VALUES, values=st.lists(VALUES, max_size=3))
def test_operators_and_their_opposites_never_agree(value, values):
    found = {} if value is None else {"k": value}
    chosen = tuple(values)
    assert matches(("k", "In", chosen), found) != matches(("k", "NotIn", chosen), found)
    assert matches(("k", "Exists", ()), found) != matches(("k", "DoesNotExist", ()), found)
    assert not (matches(("k", "Gt", chosen), found) and matches(("k", "Lt", chosen), found))
    assert not matches(("k", "Unheard", chosen), found)


def test_equal_pods_have_one_shape_and_labels_of_their_own_do_not_count():
    shapes = PodShapes()
    first, second = pod(1), pod(2)
    second["metadata"]["labels"] = {"app": "a", "apps.kubernetes.io/pod-index": "2"}
    assert shapes.of(first) is shapes.of(second)
    assert shapes.of(first) is not shapes.of(pod(3, cpu="1"))


@given(requests=st.lists(st.integers(0, 5000), max_size=30))
def test_every_pod_has_a_place_on_a_planned_node_or_a_reason(requests):
    pool = (current("v1").pools_path, nodepool())
    state = cluster(pool, *((PODS, pod(number, cpu=f"{cpu}m")) for number, cpu in enumerate(requests)))
    nodes, no_place = planned(state)
    small = [cpu for cpu in requests if cpu <= 4000]
    assert sum(node.used.pods for node in nodes) == len(small)
    assert sum(node.used.cpu for node in nodes) == sum(small)
    assert all(one.size.allocatable.holds(node.used) for node in nodes for one in node.options)
    assert set(no_place.values()) == ({"no_size"} if len(small) < len(requests) else set())


@given(requests=st.lists(st.integers(1, 4000), min_size=1, max_size=30), cores=st.integers(0, 12))
def test_no_plan_exceeds_the_limit_of_its_pool(requests, cores):
    pool = (current("v1").pools_path, nodepool(limits={"cpu": str(cores)}))
    state = cluster(pool, *((PODS, pod(number, cpu=f"{cpu}m")) for number, cpu in enumerate(requests)))
    nodes, no_place = planned(state)
    assert sum(node.options[0].size.capacity.cpu for node in nodes) <= cores * 1000
    assert set(no_place.values()) <= {"limit"}


def test_without_a_pool_and_without_capacity_there_are_reasons():
    waiting = (PODS, pod(1, cpu="1", nodeSelector={"topology.kubernetes.io/zone": "a"}))
    assert planned(cluster(waiting))[1] == {"u1": "no_pool"}
    pool = (current("v1").pools_path, nodepool())
    assert planned(cluster(pool, waiting), zones=("a", "b"), full=("a",))[1] == {"u1": "no_capacity"}
    tainted = nodepool()
    tainted["spec"]["template"]["spec"]["taints"] = [{"key": "k", "effect": "NoSchedule"}]
    assert planned(cluster((current("v1").pools_path, tainted), waiting))[1] == {"u1": "no_pool"}


@given(placed=st.lists(st.tuples(st.integers(0, 3), st.integers(0, 800)), max_size=25), gone=st.integers(0, 25))
def test_what_nodes_hold_is_the_sum_of_their_pods(placed, gone):
    ready = {"conditions": [{"type": "Ready", "status": "True"}]}
    nodes = [(NODES, {"metadata": {"name": f"n{n}", "uid": f"n{n}"}, "spec": {}, "status": ready}) for n in range(4)]
    pods = [pod(number, cpu=f"{cpu}m", node=f"n{where}") for number, (where, cpu) in enumerate(placed)]
    state = cluster(*nodes[:2], *((PODS, one) for one in pods), *nodes[2:])
    for one in pods[:gone]:
        state.apply(ObjectChange(PODS, one, gone=True))
    for name, node in state.nodes.items():
        left = [cpu for where, cpu in placed[gone:] if f"n{where}" == name]
        assert (node.used.cpu, node.used.pods, len(node.pods)) == (sum(left), len(left), len(left))
        assert (name in state.empty_nodes) is (not left)
    assert state.room.ranked() == sorted(emptiness(node) for node in state.nodes.values())


def test_a_pod_goes_to_the_emptiest_node_that_takes_it():
    ready = {"conditions": [{"type": "Ready", "status": "True"}]}
    nodes = [(NODES, {"metadata": {"name": name, "uid": name}, "spec": {}, "status": ready}) for name in "abc"]
    nodes[2][1]["spec"]["taints"] = [{"key": "k", "effect": "NoSchedule"}]
    state = cluster(*nodes, (PODS, pod(1, cpu="500m", node="a")), (PODS, pod(2)))
    assert state.room.find(state.waiting["u2"].shape).name == "b"
    state.apply(ObjectChange(PODS, pod(3, cpu="1", node="b")))
    assert state.room.find(state.waiting["u2"].shape).name == "a"


def test_known_sizes_leave_less_than_they_have_and_larger_ones_cost_more():
    sizes = list(known_sizes())
    assert len({one.name for one in sizes}) == len(sizes) == 126
    assert all(one.capacity.holds(one.allocatable) for one in sizes)
    assert allocatable(2, memory=8 * 2**30, pods=29) == ResourceAmounts(1930, 7238949273, 29)
    prices = [one.price for one in sizes if one.name.startswith("m6i.")]
    assert prices == sorted(prices)
    assert [one.capacity_type for one in offerings(SIZES[:1], zones=("a",))] == ["spot", "on-demand"]


def test_simulated_time_never_runs_backwards_and_stops_at_what_is_due():
    clock = SimulatedClock(START)
    agenda = Agenda(clock)
    assert (agenda.due("now", after=0), agenda.due("later", after=5), agenda.next()) == (
        True,
        False,
        START.timestamp() + 5,
    )
    clock.advance(START + timedelta(seconds=5))
    assert (agenda.due("later", after=5), agenda.next()) == (True, None)
    with pytest.raises(ValueError, match="is before"):
        clock.advance(START)

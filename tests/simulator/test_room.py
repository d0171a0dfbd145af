"""The search for room finds what looking at every node would find."""

from hypothesis import given
from hypothesis import strategies as st

from migrations_app.simulator.placement.room import RoomIndex, emptiness
from migrations_app.simulator.resources import ResourceAmounts
from tests.simulator.rooms import node, shape

ZONE = "topology.kubernetes.io/zone"
TAINT = {"key": "k", "effect": "NoSchedule"}
SHAPES = (
    shape(cpu=100),
    shape(cpu=700, name="b"),
    shape(cpu=300, name="c", nodeSelector={ZONE: "a"}),
    shape(cpu=300, name="d", tolerations=[{"operator": "Exists"}]),
)


def plainly(nodes, wanted):
    """The emptiest node that takes such a pod, by looking at each."""
    found = [
        emptiness(one)
        for one in nodes.values()
        if one.open and one.free.holds(wanted.requests) and wanted.tolerates(one.taints) and wanted.selects(one.labels)
    ]
    return min(found)[1] if found else None


def fresh(number, kind):
    zone = {ZONE: "ab"[number % 2]}
    return node(f"n{number}", cpu=1000, labels=zone, **({"taints": [TAINT]} if kind == "tainted" else {}))


STEPS = st.one_of(
    st.tuples(st.just("find"), st.integers(0, len(SHAPES) - 1)),
    st.tuples(st.sampled_from(["plain", "tainted", "gone", "cordoned", "freed"]), st.integers(0, 5)),
)


@given(steps=st.lists(STEPS, max_size=60))
def test_it_finds_the_emptiest_node_that_takes_the_pod(steps):
    index, nodes = RoomIndex(), {}
    for what, number in steps:
        name = f"n{number}"
        if what == "find":
            found, wanted = index.find(SHAPES[number]), plainly(nodes, SHAPES[number])
            assert (found.name if found else None) == wanted
            if found:
                found.load(SHAPES[number].requests, 1)
                index.loaded(found, gained=False)
        elif what in ("plain", "tainted"):
            nodes[name] = fresh(number, what)
            index.put(nodes[name], gained=True)
        elif what == "gone":
            nodes.pop(name, None)
            index.drop(name)
        elif name in nodes:
            changed(index, nodes[name], what)
    assert index.ranked() == sorted(emptiness(one) for one in nodes.values() if one.open)


def changed(index, one, what):
    if what == "cordoned":
        one.seen(one.doc | {"spec": one.doc["spec"] | {"unschedulable": True}}, one.allocatable)
        index.put(one, gained=False)
    elif one.used.pods:
        one.load(ResourceAmounts(min(one.used.cpu, 100), 0, 1), -1)
        index.loaded(one, gained=True)

import pytest
from hypothesis import given
from hypothesis import strategies as st

from migrations_app.inventory.facts.node_pools import spot_possible
from migrations_app.samples.karpenter_objects import ON_DEMAND, SPOT, node_template, pool, provisioner
from tests.builders.clusters import an_empty_cluster

KEY = "karpenter.sh/capacity-type"
VALUES = ("spot", "on-demand", "reserved")


def a_pool(*rows, version="v1", **more):
    return pool("web", *rows, node_class="default", version=version, **more)


def a_provisioner(*rows, **more):
    return provisioner("web", *rows, template="default", **more)


def told(*docs):
    return spot_possible(an_empty_cluster().with_docs(*docs).build())


def row(operator, *values):
    return (KEY, operator, values)


@pytest.mark.parametrize(
    ("rows", "found"),
    [
        ((), True),
        ((row("In", "spot"),), True),
        ((SPOT,), True),
        ((ON_DEMAND,), False),
        ((row("In", "reserved", "on-demand"),), False),
        ((row("NotIn", "on-demand"),), True),
        ((row("NotIn", "spot"),), False),
        ((row("Exists"),), True),
        ((row("DoesNotExist"),), False),
        ((SPOT, ON_DEMAND), False),
        ((("kubernetes.io/arch", "In", ("amd64",)),), True),
        ((row("Gt", "1"),), None),
        ((row("In"),), None),
        ((row("NotIn"),), None),
        ((row("in", "spot"),), None),
        ((row("Gt", "1"), ON_DEMAND), False),
    ],
)
def test_what_a_pool_asks(rows, found):
    assert told(a_pool(*rows)) is found


@pytest.mark.parametrize(
    ("rows", "found"),
    [
        ((), False),
        ((SPOT,), True),
        ((ON_DEMAND,), False),
        ((row("Exists"),), True),
        ((row("NotIn", "on-demand"),), True),
        ((row("NotIn", "spot"),), False),
        ((row("Lt", "9"),), None),
    ],
)
def test_a_provisioner_is_on_demand_unless_it_says_more(rows, found):
    assert told(a_provisioner(*rows), node_template("default", cluster="test")) is found


def test_labels_of_the_nodes_bind_too():
    on_demand, spot = ({"metadata": {"labels": {KEY: value}}} for value in ("on-demand", "spot"))
    pools = [a_pool(version="v1beta1") for _ in range(2)]
    for doc, extra in zip(pools, (on_demand, spot), strict=True):
        doc["spec"]["template"] |= extra
    assert [told(doc) for doc in pools] == [False, True]
    assert told(a_provisioner(labels={KEY: "spot"})) is True


@pytest.mark.parametrize("requirements", ["odd", [3], {"key": KEY}])
def test_odd_requirements_leave_it_open(requirements):
    doc = a_pool()
    doc["spec"]["template"]["spec"]["requirements"] = requirements
    assert told(doc) is None
    assert told(a_provisioner(requirements=requirements)) is None


def test_odd_values_and_labels_leave_it_open():
    assert told(a_provisioner(requirements=[{"key": KEY, "operator": "In", "values": "spot"}])) is None
    assert told(a_provisioner(labels=["odd"])) is None


def test_auto_mode_launches_for_itself():
    doc = a_pool()
    doc["spec"]["template"]["spec"]["nodeClassRef"] = {"group": "eks.amazonaws.com", "name": "default"}
    assert told(doc) is False


def test_without_pools_nothing_launches_spot():
    assert told() is False


@pytest.mark.parametrize("part", ["nodepools", "provisioners"])
def test_a_list_that_was_not_read_whole_leaves_it_open(part):
    assert spot_possible(an_empty_cluster().unseen(part).build()) is None
    assert spot_possible(an_empty_cluster().quarantined(part).build()) is None


def test_one_pool_with_spot_decides_whatever_was_not_seen():
    cluster = an_empty_cluster().with_docs(a_pool(SPOT)).unseen("provisioners").quarantined("nodepools")
    assert spot_possible(cluster.build()) is True


@given(st.lists(st.tuples(st.sampled_from(("In", "NotIn")), st.sets(st.sampled_from(VALUES), min_size=1)), max_size=4))
def test_rows_bind_together(rows):
    """Spot is possible where it is in every set of admitted values."""
    admitted = [values if operator == "In" else set(VALUES) - values for operator, values in rows]
    docs = a_pool(*(row(operator, *sorted(values)) for operator, values in rows))
    assert told(docs) is all("spot" in values for values in admitted)

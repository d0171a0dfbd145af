"""How many nodes go at once, and what the largest of them need."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from migrations_app.inventory.aws_facts.replacement_need import (
    ReplacedNode,
    Replacement,
    ReplacementGroup,
    replacement_by_pool,
    replacement_in_batches,
    whole,
)
from migrations_app.samples.karpenter_objects import machine
from tests.builders.capacity import NEXT_ZONE, ZONE, launched, rolled
from tests.builders.clusters import a_cluster
from tests.builders.pods import OLD


def node(name="n", zone="a", vcpus=8):
    return ReplacedNode(
        name=name, pool="NodePool/p", node_class="c", instance_type="m6i.large", zone=zone, market="spot",
        vcpus=vcpus, pods=58,
    )  # fmt: skip


def by_zone(replacement):
    return replacement.peak(lambda one: one.zone, lambda one: one.vcpus)


def test_the_largest_nodes_of_a_group_count():
    group = ReplacementGroup((node(vcpus=2), node(vcpus=16), node(vcpus=8)), 2)
    assert by_zone(Replacement(((group,),))) == {"a": 24}
    assert Replacement(((group,),)).nodes == 2


def test_groups_of_a_stage_add_up_and_stages_do_not():
    one, other = ReplacementGroup((node(),), 1), ReplacementGroup((node(), node(zone="b", vcpus=4)), 5)
    assert by_zone(Replacement(((one, other),))) == {"a": 16, "b": 4}
    assert by_zone(Replacement(((one,), (other,)))) == {"a": 8, "b": 4}
    assert (Replacement(((one, other),)).nodes, Replacement(((one,), (other,))).nodes) == (3, 2)


def test_what_a_node_does_not_tell_is_not_known_for_its_key_alone():
    told = by_zone(Replacement(((ReplacementGroup((node(vcpus=None), node(zone="b")), 1),),)))
    assert told == {"a": None, "b": 8}


@given(st.lists(st.tuples(st.sampled_from("ab"), st.integers(0, 9)), max_size=8), st.integers(1, 9))
def test_no_choice_of_nodes_needs_more(given_nodes, at_once):
    nodes = tuple(node(zone=zone, vcpus=vcpus) for zone, vcpus in given_nodes)
    peak = by_zone(Replacement(((ReplacementGroup(nodes, at_once),),)))
    for zone in "ab":
        mine = sorted((one.vcpus for one in nodes if one.zone == zone), reverse=True)
        assert peak.get(zone, 0) == sum(mine[:at_once])


NODES = (*launched(15), *launched(15, zone=NEXT_ZONE, first=16))
NAMES = {one.node for one in NODES}


@pytest.mark.parametrize(
    ("budgets", "many"),
    [
        ([{"nodes": "10%"}], 3),
        ([{"nodes": "5"}], 5),
        ([{"nodes": 4}], 4),
        ([{"nodes": "50%"}, {"nodes": "2"}], 2),
        ([{"nodes": "0"}], 1),
        ([{"nodes": "100%"}, {"nodes": "0", "schedule": "@daily", "duration": "1h"}], 30),
        ([{"nodes": "9"}, {"nodes": "1", "reasons": ["Empty"]}], 9),
        ([{"nodes": "9"}, {"nodes": "2", "reasons": ["Drifted"]}], 2),
        ([{"nodes": "400"}], 30),
        (None, 3),
        # None of these holds at all times: then Karpenter has no limit.
        ([], 30),
        ([{"nodes": "0", "schedule": "0 9 * * 1-5", "duration": "8h"}], 30),
        ([{"nodes": "0", "reasons": ["Empty"]}], 30),
        ("odd", 30),
        ([{"nodes": "many"}], 30),
        ([{"nodes": "-4"}], 30),
    ],
)
def test_budgets_pace_a_pool(budgets, many):
    cluster = rolled(*NODES)
    (pool,) = cluster._items["nodepools"]
    pool.spec["disruption"]["budgets"] = budgets
    assert replacement_by_pool(cluster.build(), NAMES).nodes == many


def test_budgets_that_could_not_be_read_set_no_limit():
    assert replacement_by_pool(rolled(*NODES).unseen("nodepools").build(), NAMES).nodes == 30


def test_pools_go_at_the_same_time():
    cluster = rolled(*launched(12), *launched(12, name="batch", first=50))
    found = replacement_by_pool(cluster.build(), {one.name for one in cluster.build().nodes.items})
    assert found.nodes == 4
    assert found.peak(lambda one: one.pool, lambda one: one.vcpus) == {"NodePool/web": 16, "NodePool/batch": 16}


def test_only_nodes_of_karpenter_that_are_named():
    inventory = rolled(*launched(2)).build()
    (first, _) = launched(2)
    assert [one.name for one in replacement_by_pool(inventory, {first.node, "gone"}).each()] == [first.node]
    assert replacement_by_pool(inventory, ()).nodes == 0


def test_nodes_behind_machines_have_templates():
    cluster = a_cluster("0.31.4", kubernetes="1.27").with_docs(*machine(OLD, template="old"))
    (found,) = replacement_by_pool(cluster.build(), {OLD.node}).each()
    assert (found.node_class, found.pool) == ("AWSNodeTemplate/old", "Provisioner/web")


def test_batches_go_one_after_the_other():
    inventory = rolled(*launched(3), *launched(1, zone=NEXT_ZONE, first=9)).build()
    names = [one.node for one in (*launched(3), *launched(1, zone=NEXT_ZONE, first=9))]
    found = replacement_in_batches(inventory, [names[:2], names[2:], ["gone"]])
    assert (found.nodes, by_zone(found)) == (2, {ZONE: 16, NEXT_ZONE: 8})
    assert replacement_in_batches(inventory, [["gone"], []]) == Replacement(())


@pytest.mark.parametrize(
    ("given_value", "found"),
    [
        ("8", 8), (8, 8), ("7910m", 8), ("0", 0), ("-1", None), ("many", None), (None, None), (True, None),
        (["8"], None), ("1e40", None), ("9" * 70, None),
    ],
)  # fmt: skip
def test_whole_numbers(given_value, found):
    assert whole(given_value) == found

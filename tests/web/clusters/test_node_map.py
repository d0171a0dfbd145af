"""The nodes as pictures: which square stands where, and what the page says of each."""

import msgspec
import pytest

from migrations_app.readiness.report import OwnedNode, PartLine
from migrations_app.web.clusters.node_map import MAX_SQUARES, node_map, ownership_tree
from tests.builders.rows import a_cluster, a_report, a_snapshot, some_nodes
from tests.web.pages import text


def a_node(name, *, owner="karpenter_beta", **more):
    return OwnedNode(name=name, owner=owner, **more)


def test_the_map_has_a_row_for_each_zone_and_a_column_for_each_owner():
    nodes = (
        a_node("b", zone="z2"), a_node("a", zone="z1"), a_node("c", zone="z1", owner="karpenter_alpha"), a_node("d"),
    )  # fmt: skip
    found = node_map(nodes)
    assert found.owners == ("karpenter_alpha", "karpenter_beta")
    assert [(row.zone, [[node.name for node in cell.nodes] for cell in row.cells]) for row in found.rows] == [
        ("z1", [["c"], ["a"]]), ("z2", [[], ["b"]]), ("", [[], ["d"]]),
    ]  # fmt: skip


def test_many_nodes_are_squares_and_a_number():
    cell = node_map([a_node(f"n-{number:03}") for number in range(MAX_SQUARES + 7)]).rows[0].cells[0]
    assert (cell.count, len(cell.nodes), cell.rest) == (MAX_SQUARES + 7, MAX_SQUARES, 7)


def test_the_tree_leads_from_class_to_pool_to_node_with_legacy_first():
    nodes = (
        a_node("new", pool="web", node_class="default", claim="web-1"),
        a_node("lost", pool="web", node_class="default"),
        a_node("old", owner="karpenter_alpha", pool="old", claim="m-1"),
        a_node("other", owner="managed_node_group", pool="system"),
    )
    found = [
        (branch.name, branch.legacy, [(pool.name, pool.owner, pool.claims, pool.count) for pool in branch.pools])
        for branch in ownership_tree(nodes)
    ]
    assert found == [
        ("", True, [("old", "karpenter_alpha", 1, 1)]), ("default", False, [("web", "karpenter_beta", 1, 2)]),
    ]  # fmt: skip


@pytest.mark.django_db
def test_the_page_says_every_square(ada):
    nodes = some_nodes(2)
    nodes = (msgspec.structs.replace(nodes[0], anomalies=("pool-gone",), node_class="tpl"), *nodes[1:])
    cluster = a_cluster()
    a_snapshot(cluster, a_report(nodes=nodes), nodes=nodes)
    said = text(ada.get(f"/clusters/{cluster.pk}/nodes"))
    assert f"{nodes[0].name}, with anomalies" in said
    assert f"{nodes[1].claim}: {nodes[1].name}" in said
    assert "AWSNodeTemplate tpl Provisioner" in said


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("unread", "bound"), [("", ""), ("nodeclaims", "at least "), ("machines", "")]
)  # the Machines are the claims of Provisioners, of which this cluster has none
def test_claims_that_were_not_read_are_a_lower_bound(ada, unread, bound):
    nodes = (a_node("n", pool="web", node_class="default", claim="web-1"),)
    cluster = a_cluster()
    parts = (PartLine(name=unread or "nodeclaims", seen=not unread, why="forbidden" if unread else ""),)
    a_snapshot(cluster, a_report(nodes=nodes, parts=parts), nodes=nodes)
    said = text(ada.get(f"/clusters/{cluster.pk}/nodes"))
    assert f"NodePool web {bound}1 NodeClaim, 1 node" in said
    assert ("The claims could not be read" in said) is bool(bound)

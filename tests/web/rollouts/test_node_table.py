"""Nodes are chosen in one table: a row for each, a tick for each question, and nothing is both rolled and skipped."""

import re

import pytest
from django.http import QueryDict

from migrations_app.actions.registry import find
from migrations_app.inventory.facts.ownership import OwnedNode
from migrations_app.models.rollout import Rollout
from migrations_app.web.rollouts.node_table import MAX_NODES, node_table
from tests.builders.rows import a_cluster, a_snapshot
from tests.web.pages import text

ALPHA = OwnedNode(name="n-1", owner="karpenter_alpha", pool="web", zone="eu-central-1b", instance_type="m5.large")
BETA = OwnedNode(name="n-2", owner="karpenter_beta", pool="web", zone="eu-central-1a")
OTHER = OwnedNode(name="n-3", owner="managed_node_group", pool="")
ROLL = find("roll_nodes")


def table(*nodes, given="", problems=None):
    return node_table(ROLL, nodes, form=QueryDict(given), problems=problems or {})


def test_a_row_for_each_node_of_karpenter_by_its_pool():
    found = table(OTHER, ALPHA, BETA)
    assert [(line.name, line.pool, line.zone, line.instance_type) for line in found.lines] == [
        ("n-2", "NodePool/web", "eu-central-1a", ""),
        ("n-1", "Provisioner/web", "eu-central-1b", "m5.large"),
    ]
    assert [column.name for column in found.columns] == ["nodes", "without", "with_protected"]


def test_what_was_chosen_is_ticked_and_what_is_wrong_is_said():
    found = table(ALPHA, given="nodes=n-1&with_protected=n-1", problems={"without": "no"})
    assert [(column.name, column.problem, ticked) for column, ticked in found.lines[0].chosen] == [
        ("nodes", "", True),
        ("without", "no", False),
        ("with_protected", "", True),
    ]


def test_no_table_without_nodes_or_questions():
    assert table(OTHER) is None
    assert node_table(find("upgrade_crds"), (ALPHA,), form=None, problems={}) is None


def test_what_is_not_listed_is_counted():
    every = [OwnedNode(name=f"n-{number:04}", owner="karpenter_v1", pool="web") for number in range(MAX_NODES + 3)]
    found = table(*every)
    assert (len(found.lines), found.left_out) == (MAX_NODES, 3)


@pytest.fixture
def address(db):
    shop = a_cluster("shop", source="kubeconfig")
    a_snapshot(shop, nodes=[ALPHA, BETA, OTHER])
    return f"/clusters/{shop.pk}/rollouts/new?action=roll_nodes"


def test_the_form_lists_each_node_once_and_each_pool(ada, address):
    page = ada.get(address)
    every = re.findall(r'name="(\w+)"\s+value="(n-\d)"', page.content.decode())
    assert every == [(column, node) for node in ("n-2", "n-1") for column in ("nodes", "without", "with_protected")]
    words = text(page)
    assert "NodePool/web 1 node Provisioner/web 1 node" in words
    assert "One per line" not in words


def test_a_node_is_not_rolled_and_skipped(ada, address):
    answer = ada.post(address, {"nodes": ["n-1", "n-2"], "without": ["n-2"]})
    assert (answer.status_code, Rollout.objects.count()) == (400, 0)
    assert "Skip: also chosen in nodes: n-2" in text(answer)
    assert answer.content.decode().count("checked") == 3


@pytest.mark.parametrize("batch", ["0", "2", "many"])
def test_a_batch_beyond_the_policy_is_refused_in_the_form(ada, address, batch):
    answer = ada.post(address, {"batch": batch, "ticket": "OPS-7"})
    assert (answer.status_code, Rollout.objects.count()) == (400, 0)
    assert "a whole number from 1 to 1" in text(answer)
    assert 'value="OPS-7"' in answer.content.decode()

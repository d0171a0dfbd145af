import pytest
from hypothesis import given
from hypothesis import strategies as st

from migrations_app.inventory.facts.node_pools import at_once, closed_budgets, unreadable_budgets
from migrations_app.inventory.objects.karpenter import NodePool

VALUES = st.none() | st.booleans() | st.integers() | st.text(max_size=5) | st.lists(st.text(max_size=2), max_size=2)


def pool(*budgets):
    return NodePool(spec={"disruption": {"budgets": list(budgets)}})


@pytest.mark.parametrize(("nodes", "found"), [(0, 0), (1, 1), (10, 1), (11, 2), (100, 10), (101, 11)])
def test_a_tenth_is_rounded_up(nodes, found):
    assert at_once(nodes) == found
    assert at_once(nodes, percent=100) == nodes


def test_budgets_that_are_closed():
    budgets = ({"nodes": "0"}, {"nodes": "1"}, {"nodes": "0", "schedule": "@daily"}, {"nodes": "0%", "reasons": []})
    assert list(closed_budgets(pool(*budgets))) == [(0, "0"), (3, "0%")]


def test_budgets_that_cannot_be_read():
    assert list(unreadable_budgets(pool({"nodes": "5"}, {"nodes": "x"}, {}, {"nodes": "5%"}, {"nodes": True}))) == [
        1,
        2,
        4,
    ]


@given(VALUES, VALUES, VALUES)
def test_no_budget_crashes_them(nodes, reasons, schedule):
    one = pool({"nodes": nodes, "reasons": reasons, "schedule": schedule})
    assert len(list(closed_budgets(one))) + len(list(unreadable_budgets(one))) <= 1

"""What nodes that replace others need at the peak, beside what their pools have left."""

import pytest

from migrations_app.inventory.aws_facts.capacity_room import capacity_lines
from migrations_app.inventory.aws_facts.replacement_need import replacement_by_pool
from tests.builders.capacity import launched, rolled

NODES = launched(20)


def pool_lines(cluster):
    inventory = cluster.build()
    going = replacement_by_pool(inventory, frozenset(node.name for node in inventory.nodes.items))
    return [line for line in capacity_lines(inventory, going) if line.what == "pool"]


def test_a_pool_without_a_limit_has_no_line():
    assert pool_lines(rolled(*NODES)) == []


@pytest.mark.parametrize("why", ["forbidden", "timeout"])
def test_pools_that_could_not_be_read_are_unknown(why):  # unknown is never green
    (line,) = pool_lines(rolled(*NODES).unseen("nodepools", why=why))
    assert (line.standing, line.free) == ("unknown", None)
    assert line.name.startswith("NodePool/")
    assert line.why == f"NodePools could not be read: {why}"

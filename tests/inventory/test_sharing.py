from dataclasses import replace

from migrations_app.inventory.facts.node_pools import own_pools
from migrations_app.inventory.inventory import PART_NAMES, Inventory, once
from migrations_app.inventory.parts import Seen
from migrations_app.samples.karpenter_objects import ON_DEMAND, pool
from tests.builders.clusters import a_cluster


def test_it_is_worked_out_once_for_each_inventory():
    asked = []

    @once
    def named(inventory: Inventory) -> str:
        """Says so."""
        asked.append(inventory.cluster)
        return f"this is {inventory.cluster}"

    one, other = (Inventory(cluster=name, taken_at="") for name in ("one", "other"))
    assert [named(each) for each in (one, other, one, other)] == ["this is one", "this is other"] * 2
    assert asked == ["one", "other"]
    assert (named.__name__, named.__doc__) == ("named", "Says so.")


def test_a_copy_with_other_parts_begins_anew():
    whole = a_cluster().with_docs(pool("web", ON_DEMAND, node_class="default", version="v1")).build()
    assert [one.name for one in own_pools(whole)] == ["web"]
    assert own_pools(replace(whole, nodepools=Seen(()))) == ()


def test_what_is_known_is_no_part_and_makes_no_difference():
    one, other = (Inventory(cluster="c", taken_at="") for _ in range(2))
    own_pools(one)
    assert one == other
    assert repr(one) == repr(other)
    assert "known" not in PART_NAMES

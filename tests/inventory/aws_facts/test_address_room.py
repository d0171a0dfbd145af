"""Addresses that node classes share: held against every way of giving them away."""

from hypothesis import given
from hypothesis import strategies as st

from migrations_app.inventory.aws_facts.address_room import UNLIMITED, by_count, in_whole_blocks, missing_addresses
from migrations_app.inventory.objects.capacity import Subnet


def subnet(free, *classes, size=256, ipv6_only=False):
    return Subnet(id="subnet-1", zone="a", size=size, free=free, classes=classes, ipv6_only=ipv6_only)


def test_classes_that_share_a_subnet_need_the_sum():
    assert missing_addresses({"a": 6, "b": 6}, [subnet(10, "a", "b")], free=by_count) == 2
    assert missing_addresses({"a": 6, "b": 4}, [subnet(10, "a", "b")], free=by_count) == 0


def test_an_address_that_one_class_alone_may_have_is_left_for_it():
    only, both = subnet(5, "a"), subnet(5, "a", "b")
    assert missing_addresses({"a": 5, "b": 5}, [both, only], free=by_count) == 0
    assert missing_addresses({"a": 6, "b": 5}, [both, only], free=by_count) == 1


def test_a_class_without_a_subnet_misses_all():
    assert missing_addresses({"a": 3, "b": 1}, [subnet(10, "b")], free=by_count) == 3
    assert missing_addresses({}, [subnet(10, "b")], free=by_count) == 0
    assert missing_addresses({"a": 3}, [], free=by_count) == 3


def test_a_subnet_for_ipv6_alone_is_never_full():
    assert by_count(subnet(0, "a", ipv6_only=True)) == UNLIMITED
    assert missing_addresses({"a": 50}, [subnet(0, "a", ipv6_only=True)], free=by_count) == 0


def test_whole_blocks_that_are_certain():
    empty = subnet(251, "a")
    assert in_whole_blocks(empty) == 14 * 16
    assert in_whole_blocks(subnet(241, "a")) == 4 * 16
    assert in_whole_blocks(subnet(128, "a")) == 0
    assert in_whole_blocks(subnet(0, "a", size=0, ipv6_only=True)) == UNLIMITED


names = st.sampled_from("abcd")


@given(
    st.dictionaries(names, st.integers(0, 4), max_size=4),
    st.lists(st.tuples(st.integers(0, 4), st.sets(names)), max_size=4),
)
def test_it_is_what_no_choice_can_better(needs, given_away):
    """Hall's theorem: what is missing is the largest lack of any set of classes in all that one of them may have."""
    subnets = [subnet(free, *sorted(classes)) for free, classes in given_away]
    sets = [[name for name, bit in zip("abcd", f"{n:04b}", strict=True) if bit == "1"] for n in range(16)]
    lacks = [
        sum(needs.get(name, 0) for name in some) - sum(one.free for one in subnets if set(some) & set(one.classes))
        for some in sets
    ]
    assert missing_addresses(needs, subnets, free=by_count) == max(0, *lacks)


@given(st.integers(0, 12), st.sets(st.integers(0, 255)))
def test_blocks_that_are_promised_are_there(size, used):
    """However the addresses in use lie, so many blocks are free."""
    many = 16 * (size + 2)
    taken = {one for one in used if one < many} | {0, 1, 2, 3, many - 1}
    promised = in_whole_blocks(subnet(many - len(taken), "a", size=many))
    free_blocks = sum(not any(block * 16 <= one < block * 16 + 16 for one in taken) for block in range(many // 16))
    assert promised <= 16 * free_blocks

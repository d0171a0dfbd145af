"""Whether subnets have addresses for the nodes of several node classes, which may share them."""

from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Mapping
from itertools import pairwise

from migrations_app.inventory.aws_facts.pod_addresses import BLOCK
from migrations_app.inventory.objects.capacity import Subnet

UNLIMITED = 10**12
_RESERVED_BLOCKS = 2
"""AWS keeps the first four addresses and the last one of each subnet."""


def by_count(subnet: Subnet) -> int:
    """The free addresses as AWS counts them; a subnet for IPv6 alone has no lack of them."""
    return UNLIMITED if subnet.ipv6_only else subnet.free


def in_whole_blocks(subnet: Subnet) -> int:
    """Addresses that are certainly free in whole /28 blocks: each address in use may lie in a block of its own."""
    if subnet.ipv6_only:
        return UNLIMITED
    used = max(0, subnet.size - 5 - subnet.free)
    return BLOCK * max(0, subnet.size // BLOCK - _RESERVED_BLOCKS - used)


def missing(needs: Mapping[str, int], subnets: Iterable[Subnet], *, free: Callable[[Subnet], int]) -> int:
    """How many of the needed addresses find no place: what each node class needs, placed in the subnets that it
    selects, so that no address is given twice.
    """
    left: dict[tuple[str, ...], int] = defaultdict(int)
    for subnet in subnets:
        classes = tuple(sorted(name for name in subnet.classes if needs.get(name)))
        left[classes] += free(subnet)
    open_needs = {name: need for name, need in needs.items() if need > 0}
    assigned: dict[tuple[str, tuple[str, ...]], int] = defaultdict(int)
    while way := _way(open_needs, left, assigned=assigned):
        _follow(way, open_needs, left=left, assigned=assigned)
    return sum(open_needs.values())


Group = tuple[str, ...]
"""The subnets that the same node classes select, named by these."""
Way = list[tuple[str, Group]]
"""Class and group, in turn: the first class gets room in the first group, whose holder moves on to the next group."""


def _way(needs: Mapping[str, int], left: Mapping[Group, int], *, assigned: Mapping[tuple[str, Group], int]) -> Way:
    """The shortest way from a class with an open need to a group with room; empty if there is none."""
    waiting: deque[tuple[str, Way]] = deque((name, []) for name, need in needs.items() if need)
    seen: set[Group] = set()
    while waiting:
        name, way = waiting.popleft()
        for group in left:
            if name not in group or group in seen:
                continue
            seen.add(group)
            step: Way = [*way, (name, group)]
            if left[group] > 0:
                return step
            waiting.extend((other, step) for other in group if other != name and assigned.get((other, group), 0) > 0)
    return []


def _follow(way: Way, needs: dict[str, int], *, left: dict[Group, int], assigned: dict[tuple[str, Group], int]) -> None:
    moved = [assigned[later[0], group] for (_, group), later in pairwise(way)]
    amount = min([needs[way[0][0]], left[way[-1][1]], *moved])
    needs[way[0][0]] -= amount
    left[way[-1][1]] -= amount
    for (name, group), later in zip(way, [*way[1:], None], strict=True):
        assigned[name, group] += amount
        if later is not None:
            assigned[later[0], group] -= amount

"""Whether subnets have enough free addresses for the nodes of several node classes, which may share the subnets."""

from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Mapping
from itertools import pairwise

from migrations_app.inventory.aws_facts.pod_addresses import BLOCK
from migrations_app.inventory.objects.capacity import Subnet

UNLIMITED = 10**12
_RESERVED_BLOCKS = 2
"""AWS keeps the first four addresses and the last one of each subnet."""


def by_count(subnet: Subnet) -> int:
    """The free addresses as AWS counts them; a subnet with only IPv6 never lacks any."""
    return UNLIMITED if subnet.ipv6_only else subnet.free


def in_whole_blocks(subnet: Subnet) -> int:
    """Addresses that are certainly free in whole /28 blocks, if every used address lies in a block of its own."""
    if subnet.ipv6_only:
        return UNLIMITED
    used = max(0, subnet.size - 5 - subnet.free)
    return BLOCK * max(0, subnet.size // BLOCK - _RESERVED_BLOCKS - used)


def missing_addresses(needs: Mapping[str, int], subnets: Iterable[Subnet], *, free: Callable[[Subnet], int]) -> int:
    """The number of needed addresses that no subnet can give. Each node class takes addresses of the subnets that it
    selects, and no address is given twice.
    """
    left: dict[tuple[str, ...], int] = defaultdict(int)
    for subnet in subnets:
        classes = tuple(sorted(name for name in subnet.classes if needs.get(name)))
        left[classes] += free(subnet)
    open_needs = {name: need for name, need in needs.items() if need > 0}
    assigned: dict[tuple[str, tuple[str, ...]], int] = defaultdict(int)
    while path := _augmenting_path(open_needs, left, assigned=assigned):
        _assign_along(path, open_needs, left=left, assigned=assigned)
    return sum(open_needs.values())


Group = tuple[str, ...]
"""The node classes that select a subnet; subnets with the same node classes form one group."""
AugmentingPath = list[tuple[str, Group]]
"""Pairs of class and group: the first class gets addresses of its group, whose other class moves to the next group."""


def _augmenting_path(
    needs: Mapping[str, int], left: Mapping[Group, int], *, assigned: Mapping[tuple[str, Group], int]
) -> AugmentingPath:
    """The shortest path from a class that needs addresses to a group with free ones; empty if there is none."""
    waiting: deque[tuple[str, AugmentingPath]] = deque((name, []) for name, need in needs.items() if need)
    seen: set[Group] = set()
    while waiting:
        name, path = waiting.popleft()
        for group in left:
            if name not in group or group in seen:
                continue
            seen.add(group)
            step: AugmentingPath = [*path, (name, group)]
            if left[group] > 0:
                return step
            waiting.extend((other, step) for other in group if other != name and assigned.get((other, group), 0) > 0)
    return []


def _assign_along(
    path: AugmentingPath, needs: dict[str, int], *, left: dict[Group, int], assigned: dict[tuple[str, Group], int]
) -> None:
    moved = [assigned[later[0], group] for (_, group), later in pairwise(path)]
    amount = min([needs[path[0][0]], left[path[-1][1]], *moved])
    needs[path[0][0]] -= amount
    left[path[-1][1]] -= amount
    for (name, group), later in zip(path, [*path[1:], None], strict=True):
        assigned[name, group] += amount
        if later is not None:
            assigned[later[0], group] -= amount

"""Capacity for nodes that replace others: what they need at the peak, and what their pools and AWS still have.

Where a part of AWS was not read or is incomplete, the line is "unknown", never "enough".
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import Any, Literal

import msgspec

from migrations_app.inventory.aws_facts.address_room import by_count, in_whole_blocks, missing_addresses
from migrations_app.inventory.aws_facts.pod_addresses import WORDS, AddressMode, address_mode, addresses_for
from migrations_app.inventory.aws_facts.replacement_need import ReplacedNode, Replacement, is_spot, whole
from migrations_app.inventory.inventory import AWS_PREFIX, Inventory
from migrations_app.inventory.objects.capacity import Subnet, VcpuQuota
from migrations_app.inventory.objects.karpenter import NodePool
from migrations_app.inventory.parts import NOT_ASKED, Part, Unseen
from migrations_app.karpenter import labels
from migrations_app.karpenter.vcpu_quotas import quota_of, quota_row

CapacityKind = Literal["pool", "vcpus", "addresses", "reserved", "offered"]
Standing = Literal["enough", "short", "unknown"]
KNOWN_MODES: tuple[AddressMode, ...] = ("each", "prefixes", "ipv6")
"""The modes in which it is known where pods get their addresses."""
NO_TYPE = "instances whose type is not told"


class CapacityLine(msgspec.Struct, frozen=True, kw_only=True):
    """One limit: how much of it the new nodes need at the peak, and how much is free; None where that is not known.

    `name` is the pool, quota, zone or type. `part` is the inventory part that was not read, if that is the reason for
    "unknown"; `code` is the code of a quota.
    """

    what: CapacityKind
    name: str
    need: int | None
    free: int | None
    standing: Standing
    why: str = ""
    part: str = ""
    code: str = ""


def capacity_lines(inventory: Inventory, replacement: Replacement) -> tuple[CapacityLine, ...]:
    """A line for each limit that the replacement touches; none if nothing is replaced."""
    if not replacement.nodes:
        return ()
    return (
        *_pools(inventory, replacement),
        *_vcpus(inventory, replacement),
        *_addresses(inventory, replacement),
        *_reserved(inventory, replacement),
        *_offered(inventory, replacement),
    )


def _pools(inventory: Inventory, replacement: Replacement) -> Iterator[CapacityLine]:
    """A line for the CPU limit of each NodePool whose nodes are replaced."""
    needs = replacement.peak(lambda node: node.pool, lambda node: node.vcpus)
    if isinstance(inventory.nodepools, Unseen):
        for name in sorted(name for name in needs if name.startswith("NodePool/")):
            why = f"NodePools could not be read: {inventory.nodepools.why}"
            yield _line("pool", name, need=needs[name], free=None, why=why)
    for pool in inventory.nodepools.items:
        name = f"NodePool/{pool.name}"
        limit = pool.get("spec.limits.cpu")
        if name in needs and limit is not None:
            yield _pool_line(pool, limit, need=needs[name])


def _pool_line(pool: NodePool, limit: Any, *, need: int | None) -> CapacityLine:  # noqa: ANN401 - plain JSON of the object
    most, used = whole(limit), whole(pool.get("status.resources.cpu", "0"))
    free = None if most is None or used is None else max(0, most - used)
    why = "spec.limits.cpu or status.resources.cpu cannot be read" if free is None else ""
    return _line("pool", f"NodePool/{pool.name}", need=need, free=free, why=why)


def _line(
    kind: CapacityKind, name: str, *, need: int | None, free: int | None, why: str = "", code: str = ""
) -> CapacityLine:
    if need is None:
        return CapacityLine(
            what=kind,
            name=name,
            need=None,
            free=free,
            standing="unknown",
            why="a node does not tell its size",
            code=code,
        )
    standing: Standing = "unknown" if free is None else "enough" if need <= free else "short"
    return CapacityLine(what=kind, name=name, need=need, free=free, standing=standing, why=why, code=code)


def _unread(kind: CapacityKind, name: str, *, need: int | None, field: str, part: Unseen) -> CapacityLine:
    words = "AWS was not asked" if part == NOT_ASKED else f"{part.why}: {part.detail}" if part.detail else part.why
    return CapacityLine(
        what=kind, name=name, need=need, free=None, standing="unknown", why=words, part=f"{AWS_PREFIX}{field}"
    )


def _quota_code(node: ReplacedNode) -> str | None:
    """The quota that the replacement of the node counts against; empty if that is not known; None for reserved
    capacity, which counts from the time of its reservation.
    """
    if node.market == labels.RESERVED:
        return None
    row = quota_of(node.instance_type, spot=is_spot(node)) if node.market else None
    return row.code if row else ""


def _vcpus(inventory: Inventory, replacement: Replacement) -> Iterator[CapacityLine]:
    part = inventory.aws.quotas
    known = {quota.code: quota for quota in part.items}
    for code, need in sorted(replacement.peak(_quota_code, lambda node: node.vcpus).items()):
        row = quota_row(code)
        if row is None:
            types = sorted({node.instance_type or NO_TYPE for node in replacement.each() if _quota_code(node) == ""})
            why = f"which quota counts is not known for {', '.join(types[:5])}"
            yield _line("vcpus", "other families", need=need, free=None, why=why)
            continue
        name = f"{'Spot' if row.spot else 'On-Demand'} {row.name}"
        if isinstance(part, Unseen):
            yield _unread("vcpus", name, need=need, field="quotas", part=part)
        else:
            yield _quota_line(name, known.get(code), need=need, code=code)


def _quota_line(name: str, quota: VcpuQuota | None, *, need: int | None, code: str) -> CapacityLine:
    if quota is None:
        return _line("vcpus", name, need=need, free=None, why=f"AWS lists no quota {code}", code=code)
    if quota.used is None:
        short = need is not None and need > quota.limit
        why = f"the quota is {quota.limit}; AWS published no measurement of what is used in the last hour"
        return _line("vcpus", name, need=need, free=quota.limit if short else None, why=why, code=code)
    why = f"{quota.used} of {quota.limit} used at {quota.measured_at}"
    return _line("vcpus", name, need=need, free=max(0, quota.limit - quota.used), why=why, code=code)


def _addresses(inventory: Inventory, replacement: Replacement) -> Iterator[CapacityLine]:
    """The free addresses of each zone, in the subnets that the classes of its nodes select."""
    mode, part = address_mode(inventory), inventory.aws.subnets
    ipv6_classes = {name for subnet in part.items if subnet.ipv6_only for name in subnet.classes}

    def need(node: ReplacedNode) -> int | None:
        return addresses_for(mode, pods=node.pods, ipv6_only=node.node_class in ipv6_classes)

    zones: dict[str, dict[str, int | None]] = defaultdict(dict)
    for (zone, node_class), amount in replacement.peak(lambda node: (node.zone, node.node_class), need).items():
        zones[zone][node_class] = amount
    for zone, needs in sorted(zones.items()):
        if isinstance(part, Unseen):
            yield _unread("addresses", zone, need=_sum(needs.values()), field="subnets", part=part)
        else:
            yield _zone_line(zone, needs, part=part, mode=mode)


def _zone_line(zone: str, needs: dict[str, int | None], *, part: Part[Subnet], mode: AddressMode) -> CapacityLine:
    subnets = [subnet for subnet in part.items if subnet.zone == zone and any(name in needs for name in subnet.classes)]
    whole_need, free = _sum(needs.values()), sum(by_count(subnet) for subnet in subnets if not subnet.ipv6_only)
    without = sorted(name for name in needs if not any(name in subnet.classes for subnet in subnets))
    if without or not zone or whole_need is None:
        why = _zone_unknown(zone, without, known=whole_need is not None)
        return _line("addresses", zone, need=whole_need, free=None, why=why)
    known_needs = {name: amount for name, amount in needs.items() if amount is not None}
    why = WORDS[mode] + _free_in_other_zones(zone, needs, part=part)
    if missing_addresses(known_needs, subnets, free=by_count):
        return CapacityLine(what="addresses", name=zone, need=whole_need, free=free, standing="short", why=why)
    sure = mode in KNOWN_MODES and not (
        mode == "prefixes" and missing_addresses(known_needs, subnets, free=in_whole_blocks)
    )
    return CapacityLine(
        what="addresses", name=zone, need=whole_need, free=free, standing="enough" if sure else "unknown", why=why
    )


def _zone_unknown(zone: str, without: list[str], *, known: bool) -> str:
    if not zone:
        return "a node does not tell its zone"
    if not known:
        return "a node does not tell how many pods it may run"
    named = ", ".join(name or "a node without a node class" for name in without[:5])
    return f"no subnet of the zone is known for {named}"


def _free_in_other_zones(zone: str, needs: dict[str, int | None], *, part: Part[Subnet]) -> str:
    others = sum(
        subnet.free for subnet in part.items if subnet.zone != zone and any(name in needs for name in subnet.classes)
    )
    return f"; {others} are free in other zones" if others else ""


def _sum(amounts: Iterable[int | None]) -> int | None:
    every = list(amounts)
    return sum(amount for amount in every if amount is not None) if None not in every else None


def _reserved(inventory: Inventory, replacement: Replacement) -> Iterator[CapacityLine]:
    """Free instances of capacity reservations, for nodes that run in one: of their type and zone."""
    part = inventory.aws.reservations
    needs = replacement.peak(
        lambda node: (node.instance_type, node.zone) if node.market == labels.RESERVED else None, lambda _: 1
    )
    for (kind, zone), need in sorted(needs.items()):
        name = f"{kind or NO_TYPE} in {zone or 'a zone that is not told'}"
        if isinstance(part, Unseen):
            yield _unread("reserved", name, need=need, field="reservations", part=part)
            continue
        alike = [reservation for reservation in part.items if reservation.instance_type == kind]
        others = sum(reservation.free for reservation in alike if reservation.zone != zone)
        why = f"{others} are free in other zones, which do not count" if others else ""
        yield _line(
            "reserved",
            name,
            need=need,
            free=sum(reservation.free for reservation in alike if reservation.zone == zone),
            why=why,
        )


def _offered(inventory: Inventory, replacement: Replacement) -> Iterator[CapacityLine]:
    """How many pairs of instance type and zone the nodes have, and how many of the pairs EC2 offers."""
    part = inventory.aws.offerings
    pairs = sorted({(node.instance_type, node.zone) for node in replacement.each() if node.instance_type and node.zone})
    if not pairs:
        return
    if isinstance(part, Unseen):
        yield _unread("offered", "instance types by zone", need=len(pairs), field="offerings", part=part)
        return
    offered = {(offering.instance_type, offering.zone) for offering in part.items}
    not_offered = [f"{kind} in {zone}" for kind, zone in pairs if (kind, zone) not in offered]
    why = f"not offered: {', '.join(not_offered[:5])}" if not_offered else ""
    yield _line("offered", "instance types by zone", need=len(pairs), free=len(pairs) - len(not_offered), why=why)

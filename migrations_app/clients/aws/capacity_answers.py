"""Converts AWS answers about capacity into values. A wrong shape raises KeyError, TypeError or ValueError."""

import math
import re
from collections.abc import Collection
from datetime import UTC, datetime
from ipaddress import IPv4Network
from typing import Any, NamedTuple

from migrations_app.inventory.objects.capacity import (
    CapacityReservation,
    InstanceOffering,
    Subnet,
    TaggedSubnet,
    VcpuQuota,
)
from migrations_app.karpenter.vcpu_quotas import quota_row

Answer = dict[str, Any]

USAGE = "AWS/Usage"
COUNT = "ResourceCount"
_DIMENSIONS = frozenset({"Class", "Resource", "Service", "Type"})
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:/-]{0,127}", re.ASCII)
_MOST = 10**9
"""Above what any of these numbers can be."""


class ListedQuota(NamedTuple):
    """A quota without what is used of it, and the dimensions of the metric that tells it; none if AWS names none."""

    quota: VcpuQuota
    dimensions: tuple[tuple[str, str], ...] = ()


def tagged_subnet(found: Answer, keys: Collection[str]) -> TaggedSubnet:
    subnet = Subnet(
        id=_name(found["SubnetId"]),
        zone=_name(found["AvailabilityZone"]),
        size=_size(found.get("CidrBlock")),
        free=_number(found["AvailableIpAddressCount"]),
        ipv6_only=found.get("Ipv6Native") is True,
    )
    tags = {str(tag["Key"]): str(tag.get("Value", "")) for tag in found.get("Tags", ()) if tag["Key"] in keys}
    return TaggedSubnet(subnet=subnet, tags=tuple(sorted(tags.items())))


def listed_quota(found: Answer) -> ListedQuota | None:
    """None for a quota that the tables do not know."""
    code = str(found["QuotaCode"])
    if quota_row(code) is None:
        return None
    quota = VcpuQuota(code=code, limit=_number(found["Value"]))
    metric = found.get("UsageMetric") or {}
    dimensions = {str(key): str(value) for key, value in (metric.get("MetricDimensions") or {}).items()}
    named = metric.get("MetricNamespace") == USAGE and metric.get("MetricName") == COUNT
    if not named or dimensions.keys() != _DIMENSIONS or not all(map(_NAME.fullmatch, dimensions.values())):
        return ListedQuota(quota)
    return ListedQuota(quota, tuple(sorted(dimensions.items())))


def measurement(found: Answer) -> tuple[str, int, str] | None:
    """Id of the query, newest value and its time (RFC 3339); None where nothing was measured, or it failed."""
    pairs = list(zip(found.get("Timestamps", ()), found.get("Values", ()), strict=True))
    if not pairs or found.get("StatusCode") not in ("Complete", "PartialData"):
        return None
    at, value = max(pairs, key=lambda pair: _moment(pair[0]))
    return str(found["Id"]), math.ceil(_finite(value)), _moment(at).strftime("%Y-%m-%dT%H:%M:%SZ")


def reservation(found: Answer) -> CapacityReservation:
    return CapacityReservation(
        id=_name(found["CapacityReservationId"]),
        instance_type=_name(found["InstanceType"]),
        zone=_name(found["AvailabilityZone"]),
        total=_number(found["TotalInstanceCount"]),
        free=_number(found["AvailableInstanceCount"]),
    )


def offering(found: Answer) -> InstanceOffering:
    return InstanceOffering(instance_type=_name(found["InstanceType"]), zone=_name(found["Location"]))


def _size(block: object) -> int:
    """The addresses of an IPv4 block; none for a subnet without one, which has IPv6 alone."""
    return IPv4Network(str(block)).num_addresses if block else 0


def _name(found: object) -> str:
    if not isinstance(found, str) or not _NAME.fullmatch(found):
        raise ValueError("not a name of EC2")
    return found


def _number(found: object) -> int:
    """The number, rounded down."""
    return math.floor(_finite(found))


def _finite(found: object) -> float:
    if isinstance(found, bool) or not isinstance(found, int | float) or not 0 <= found <= _MOST:
        raise ValueError("not a count")
    return found


def _moment(found: object) -> datetime:
    if not isinstance(found, datetime):
        raise TypeError("not a time")
    return found.astimezone(UTC) if found.tzinfo else found.replace(tzinfo=UTC)

"""Converts AWS answers about capacity into values. A wrong shape raises KeyError, TypeError or ValueError."""

import math
import re
from collections.abc import Collection
from datetime import UTC, datetime
from ipaddress import IPv4Network
from typing import NamedTuple

from migrations_app.clients.aws.answers import AwsAnswer
from migrations_app.inventory.objects.capacity import (
    CapacityReservation,
    InstanceOffering,
    Subnet,
    TaggedSubnet,
    VcpuQuota,
)
from migrations_app.karpenter.vcpu_quotas import quota_row

USAGE = "AWS/Usage"
COUNT = "ResourceCount"
_DIMENSIONS = frozenset({"Class", "Resource", "Service", "Type"})
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:/-]{0,127}", re.ASCII)
_MAX_NUMBER = 10**9
"""More than any of these numbers can be."""


class ListedQuota(NamedTuple):
    """A quota without its usage, and the dimensions of the metric with the usage; none if AWS names no metric."""

    quota: VcpuQuota
    dimensions: tuple[tuple[str, str], ...] = ()


def tagged_subnet(document: AwsAnswer, keys: Collection[str]) -> TaggedSubnet:
    subnet = Subnet(
        id=_name(document["SubnetId"]),
        zone=_name(document["AvailabilityZone"]),
        size=_size(document.get("CidrBlock")),
        free=_number(document["AvailableIpAddressCount"]),
        ipv6_only=document.get("Ipv6Native") is True,
    )
    tags = {str(tag["Key"]): str(tag.get("Value", "")) for tag in document.get("Tags", ()) if tag["Key"] in keys}
    return TaggedSubnet(subnet=subnet, tags=tuple(sorted(tags.items())))


def listed_quota(document: AwsAnswer) -> ListedQuota | None:
    """The quota; None if the tables do not know it."""
    code = str(document["QuotaCode"])
    if quota_row(code) is None:
        return None
    quota = VcpuQuota(code=code, limit=_number(document["Value"]))
    metric = document.get("UsageMetric") or {}
    dimensions = {str(key): str(value) for key, value in (metric.get("MetricDimensions") or {}).items()}
    is_vcpu_count = metric.get("MetricNamespace") == USAGE and metric.get("MetricName") == COUNT
    if not is_vcpu_count or dimensions.keys() != _DIMENSIONS or not all(map(_NAME.fullmatch, dimensions.values())):
        return ListedQuota(quota)
    return ListedQuota(quota, tuple(sorted(dimensions.items())))


def measurement(document: AwsAnswer) -> tuple[str, int, str] | None:
    """Id of the query, newest value and its time (RFC 3339); None where nothing was measured, or it failed."""
    pairs = list(zip(document.get("Timestamps", ()), document.get("Values", ()), strict=True))
    if not pairs or document.get("StatusCode") not in ("Complete", "PartialData"):
        return None
    at, value = max(pairs, key=lambda pair: _moment(pair[0]))
    return str(document["Id"]), math.ceil(_finite(value)), _moment(at).strftime("%Y-%m-%dT%H:%M:%SZ")


def reservation(document: AwsAnswer) -> CapacityReservation:
    return CapacityReservation(
        id=_name(document["CapacityReservationId"]),
        instance_type=_name(document["InstanceType"]),
        zone=_name(document["AvailabilityZone"]),
        total=_number(document["TotalInstanceCount"]),
        free=_number(document["AvailableInstanceCount"]),
    )


def offering(document: AwsAnswer) -> InstanceOffering:
    return InstanceOffering(instance_type=_name(document["InstanceType"]), zone=_name(document["Location"]))


def _size(block: object) -> int:
    """The number of addresses of an IPv4 block; 0 for a subnet without one, which has only IPv6."""
    return IPv4Network(str(block)).num_addresses if block else 0


def _name(value: object) -> str:
    if not isinstance(value, str) or not _NAME.fullmatch(value):
        raise ValueError("not a name of EC2")
    return value


def _number(value: object) -> int:
    """The number, rounded down."""
    return math.floor(_finite(value))


def _finite(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= _MAX_NUMBER:
        raise ValueError("not a count")
    return value


def _moment(value: object) -> datetime:
    if not isinstance(value, datetime):
        raise TypeError("not a time")
    return value.astimezone(UTC) if value.tzinfo else value.replace(tzinfo=UTC)

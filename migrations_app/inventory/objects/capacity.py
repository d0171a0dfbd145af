"""What an AWS account still has for new nodes: free addresses, vCPU quotas, reserved capacity and offerings by zone."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Subnet:
    """A subnet that at least one node class selects. `size` counts its IPv4 addresses, `free` those not in use."""

    id: str
    zone: str
    size: int
    free: int
    ipv6_only: bool = False
    classes: tuple[str, ...] = ()
    """The node classes and templates that select it, as kind/name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TaggedSubnet:
    """A subnet with those of its tags that selectors name; `subnet.classes` is not filled in yet."""

    subnet: Subnet
    tags: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class VcpuQuota:
    """The quota of one group of instance families in the account and region, in vCPUs.

    `used` is the last count of AWS, taken at `measured_at` (RFC 3339); None if AWS published none.
    """

    code: str
    limit: int
    used: int | None = None
    measured_at: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class CapacityReservation:
    """An active capacity reservation; `free` counts its instances that nobody uses."""

    id: str
    instance_type: str
    zone: str
    total: int
    free: int


@dataclass(frozen=True, slots=True, kw_only=True)
class InstanceOffering:
    """An instance type that EC2 offers in a zone."""

    instance_type: str
    zone: str

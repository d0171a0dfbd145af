"""The sizes of instances: price, capacity and what is left for pods, and the offerings that Karpenter chooses from."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from migrations_app.karpenter import labels as keys
from migrations_app.simulator.resources import ResourceAmounts

GIB = 2**30
_MIB = 2**20
TYPE = "node.kubernetes.io/instance-type"
ARCH, SYSTEM, HOST = "kubernetes.io/arch", "kubernetes.io/os", "kubernetes.io/hostname"
ZONE, REGION = "topology.kubernetes.io/zone", "topology.kubernetes.io/region"
_AWS = "karpenter.k8s.aws/instance-"
SPOT_SHARE = 0.35
"""The assumed price of spot capacity relative to on demand: spot is preferred if a pool allows both."""
_GIB_PRICE = 0.12
"""The assumed price of a GiB of memory relative to a core. Only the order of prices matters here."""

_CORES = {"large": 2, "xlarge": 4, "2xlarge": 8, "4xlarge": 16, "8xlarge": 32, "12xlarge": 48, "16xlarge": 64}
_PODS = {"large": 29, "xlarge": 58, "2xlarge": 58, "4xlarge": 234, "8xlarge": 234, "12xlarge": 234, "16xlarge": 737}
_GIB_A_CORE = {"c": 2, "m": 4, "r": 8}
_KINDS = {"i": "amd64", "a": "amd64", "g": "arm64"}


@dataclass(frozen=True, slots=True)
class InstanceSize:
    """One instance type. `allocatable` is what its node offers to pods; `labels` are those that its name and size
    determine."""

    name: str
    allocatable: ResourceAmounts
    capacity: ResourceAmounts
    price: float = 1.0
    """Relative to other sizes: Karpenter launches the cheapest that fits."""
    labels: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Offering:
    """A size in a zone with a capacity type, with every label of its node that is known before the launch."""

    size: InstanceSize
    zone: str
    capacity_type: str
    labels: Mapping[str, str]

    @property
    def price(self) -> float:
        return self.size.price * (SPOT_SHARE if self.capacity_type == keys.SPOT else 1.0)


def allocatable(cores: int, *, memory: int, pods: int) -> ResourceAmounts:
    """Returns what an instance has left for pods.

    Source: aws/karpenter-provider-aws:pkg/providers/instancetype/types.go: 7.5 % of the memory for the hypervisor, kube
    reserved (6 % of the first core, 1 % of the second, 0.5 % of the next two, 0.25 % of the others; 255 MiB and 11 MiB
    a pod), and 100 MiB below which the kubelet evicts.
    """
    shares = (60, 10, 5, 5)
    reserved = sum(shares[:cores]) + max(0, cores - 4) * 25 // 10
    system_memory = 255 * _MIB + 11 * _MIB * pods + 100 * _MIB
    return ResourceAmounts(cores * 1000 - reserved, memory * 925 // 1000 - system_memory, pods)


def known_sizes() -> Iterator[InstanceSize]:
    """Yields the general families of AWS of the sixth and seventh generation, from large to 16xlarge."""
    for category, gib in _GIB_A_CORE.items():
        for generation in ("6", "7"):
            for kind, arch in _KINDS.items():
                for size, cores in _CORES.items():
                    family = f"{category}{generation}{kind}"
                    memory, pods = cores * gib * GIB, _PODS[size]
                    amounts = allocatable(cores, memory=memory, pods=pods)
                    price = (cores + cores * gib * _GIB_PRICE) * (0.8 if arch == "arm64" else 1.0)
                    capacity = ResourceAmounts(cores * 1000, memory, pods)
                    labels = {ARCH: arch} | size_labels(f"{family}.{size}", cores=cores, memory=memory)
                    yield InstanceSize(f"{family}.{size}", amounts, capacity, price, labels)


def size_labels(name: str, *, cores: int, memory: int) -> dict[str, str]:
    """Returns the labels that follow from the name and size of a type such as `m6i.large`."""
    family, _, size = name.partition(".")
    letters = family.rstrip("abcdefghijklmnopqrstuvwxyz-")
    category = letters.rstrip("0123456789")
    return {
        TYPE: name,
        SYSTEM: "linux",
        f"{_AWS}family": family,
        f"{_AWS}size": size,
        f"{_AWS}category": category,
        f"{_AWS}generation": letters[len(category) :],
        f"{_AWS}cpu": str(cores),
        f"{_AWS}memory": str(memory // _MIB),
        f"{_AWS}hypervisor": "nitro",
    }


def measured_size(name: str, *, arch: str, allocatable: ResourceAmounts, capacity: ResourceAmounts) -> InstanceSize:
    """Returns a size with the amounts that nodes of the cluster report."""
    cores = -(-capacity.cpu // 1000)
    price = (cores + capacity.memory / GIB * _GIB_PRICE) * (0.8 if arch == "arm64" else 1.0)
    labels = {ARCH: arch} | size_labels(name, cores=cores, memory=capacity.memory)
    return InstanceSize(name, allocatable, capacity, price, labels)


def uniform_size(pods: int) -> InstanceSize:
    """Returns a size that only counts pods, for clusters whose pods have no requests."""
    unlimited = ResourceAmounts(10**12, 10**18, pods)
    return InstanceSize(
        "m6i.large", unlimited, ResourceAmounts(pods=pods), 1.0, {ARCH: "amd64", SYSTEM: "linux", TYPE: "m6i.large"}
    )


def offerings(sizes: Iterable[InstanceSize], *, zones: Iterable[str]) -> tuple[Offering, ...]:
    """Returns every size in every zone with both capacity types, the cheapest first."""
    all_zones = tuple(zones)
    combinations = [
        Offering(size, zone, kind, {**size.labels, ZONE: zone, REGION: zone.rstrip("abcdef"), keys.CAPACITY_TYPE: kind})
        for size in sizes
        for zone in all_zones
        for kind in (keys.ON_DEMAND, keys.SPOT)
    ]
    return tuple(sorted(combinations, key=lambda offering: (offering.price, offering.size.name, offering.zone)))

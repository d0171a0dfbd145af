"""Builds clusters whose nodes are replaced, and AWS accounts with a given free capacity."""

from typing import Any

from migrations_app.inventory.objects.capacity import CapacityReservation, InstanceOffering, Subnet, VcpuQuota
from migrations_app.manifests import JsonMap
from migrations_app.samples.karpenter_objects import Launched, claim, node_class, pool
from tests.builders.clusters import ACluster, a_cluster, aws_node

ZONE, NEXT_ZONE = "eu-central-1a", "eu-central-1b"
TYPE = "m6i.2xlarge"
STANDARD, SPOT = "L-1216C47A", "L-34B43A08"
AT = "2026-10-01T05:55:00Z"
CLASS = "EC2NodeClass/default"


def launched(count: int, *, zone: str = ZONE, first: int = 1, name: str = "web", **more: Any) -> list[Launched]:
    """Returns nodes of a pool in one zone, of 8 vCPUs and at most 58 pods each."""
    return [
        Launched(pool=name, number=number, cluster="test", kubelet="v1.29.4", zone=zone, instance_type=TYPE, **more)
        for number in range(first, first + count)
    ]


def rolled(*nodes: Launched, budget: str = "10%", cni: JsonMap | None = None, **limits: str) -> ACluster:
    """Returns a cluster on 0.37 with these nodes of NodePools, which 1.0 replaces."""
    made = a_cluster().with_docs(
        aws_node() if cni is None else cni, node_class("default", cluster="t", version="v1beta1")
    )
    for name in dict.fromkeys(one.pool for one in nodes):
        doc = pool(name, node_class="default", version="v1beta1")
        doc["spec"] |= {"disruption": {"budgets": [{"nodes": budget}]}, "limits": limits}
        made = made.with_docs(doc)
    return made.with_docs(*(doc for one in nodes for doc in claim(one, node_class="default", version="v1beta1")))


def subnet(free: int, *classes: str, zone: str = ZONE, size: int = 4096, **more: Any) -> Subnet:
    return Subnet(id="subnet-1", zone=zone, size=size, free=free, classes=classes or (CLASS,), **more)


def quota(free: int | None, code: str = STANDARD, *, used: int = 100) -> VcpuQuota:
    """Returns a quota with that many free vCPUs; None: AWS measured nothing."""
    if free is None:
        return VcpuQuota(code=code, limit=used)
    return VcpuQuota(code=code, limit=free + used, used=used, measured_at=AT)


def reserved(free: int, *, zone: str = ZONE, kind: str = TYPE) -> CapacityReservation:
    return CapacityReservation(id="cr-1", instance_type=kind, zone=zone, total=free + 1, free=free)


def offered(*zones: str, kind: str = TYPE) -> tuple[InstanceOffering, ...]:
    return tuple(InstanceOffering(instance_type=kind, zone=zone) for zone in zones)


def roomy(cluster: ACluster, **parts: Any) -> ACluster:
    """Puts the cluster into an account with plenty of free capacity, except for these parts."""
    plenty: dict[str, Any] = {
        "subnets": (subnet(3000), subnet(3000, zone=NEXT_ZONE)),
        "quotas": (quota(500), quota(500, SPOT)),
        "reservations": (),
        "offerings": offered(ZONE, NEXT_ZONE),
    }
    return cluster.with_aws(**plenty | parts)

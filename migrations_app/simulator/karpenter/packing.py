"""Nodes that are planned, and how pods are put on them."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from migrations_app.simulator.generations import KarpenterObject
from migrations_app.simulator.instance_sizes import HOST, ZONE, Offering
from migrations_app.simulator.placement.domains import DomainCounts, Domains
from migrations_app.simulator.pod_shapes import PodShape
from migrations_app.simulator.resources import ResourceAmounts

ANOTHER_HOST = "another"
"""A host that could be launched: it has no pods."""


@dataclass(slots=True, eq=False)
class PlannedNode:
    """A node to be launched, or one that is on its way; `options` are the offerings that still fit, cheapest first."""

    pool: KarpenterObject
    options: Sequence[Offering]
    used: ResourceAmounts = field(default=ResourceAmounts())
    claim: str = ""

    def take(self, shape: PodShape, count: int) -> int:
        """How many of these pods it takes; it takes them, and only options on which they fit are left."""
        fitting = [option for option in self.options if shape.selects(option.labels)]
        room = max(
            (offering.size.allocatable.minus(self.used).count(shape.requests) for offering in fitting), default=0
        )
        pod_count = min(count, room)
        if pod_count:
            self.used = self.used.plus(shape.requests, pod_count)
            self.options = [offering for offering in fitting if offering.size.allocatable.holds(self.used)]
        return pod_count

    @property
    def host(self) -> str:
        """A name for the node that is to come."""
        return f"planned-{id(self)}"

    def domains(self, offering: Offering) -> Domains:
        """The labels of the node, were it launched as this offering."""
        return {**offering.labels, HOST: self.host}


class RuledPacking:
    """Puts pods that have rules about other pods on planned nodes, one by one.

    Source: kubernetes-sigs/karpenter:pkg/controllers/provisioning/scheduling/topology.go and topologygroup.go: a pod
    goes to the allowed domain with the fewest pods, the zones that pools could launch in count as domains, and a new
    host always counts as an empty one.
    """

    def __init__(self, domains: DomainCounts) -> None:
        self._domains = domains
        self._noted: list[tuple[PodShape, Domains]] = []

    def put(self, node: PlannedNode, shape: PodShape, *, zones: Iterable[str]) -> bool:
        """Whether the node takes such a pod now; it takes it, and only options in the pod's domain are left."""
        allowed = self._domains.allows(shape, more={ZONE: zones, HOST: (node.host, ANOTHER_HOST)})
        total = node.used.plus(shape.requests)
        fitting = [
            option
            for option in node.options
            if option.size.allocatable.holds(total) and shape.selects(option.labels) and allowed(node.domains(option))
        ]
        if not fitting:
            return False
        best = min(fitting, key=lambda offering: self._domains.fullness(shape, node.domains(offering)))
        keys = self._domains.keys_of(shape) - {HOST}
        same = {key: best.labels.get(key) for key in keys}
        node.options = [
            offering for offering in fitting if all(offering.labels.get(key) == name for key, name in same.items())
        ]
        node.used = total
        self._noted.append((shape, node.domains(best)))
        self._domains.add(*self._noted[-1], times=1)
        return True

    def undo(self) -> None:
        """Counts the pods that were put on planned nodes no more."""
        for shape, domains in self._noted:
            self._domains.add(shape, domains, times=-1)
        self._noted.clear()

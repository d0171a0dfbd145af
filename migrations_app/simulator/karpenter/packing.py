"""Plans new nodes and packs pods on them."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from migrations_app.simulator.generations import KarpenterObject
from migrations_app.simulator.instance_sizes import HOST, ZONE, Offering
from migrations_app.simulator.placement.domains import DomainCounts, Domains
from migrations_app.simulator.pod_shapes import PodShape
from migrations_app.simulator.resources import ResourceAmounts

ANOTHER_HOST = "another"
"""Stands for a host that could be launched and has no pods."""


@dataclass(slots=True, eq=False)
class PlannedNode:
    """A node to launch, or one already launching; `options` are the offerings that still fit, cheapest first."""

    pool: KarpenterObject
    options: Sequence[Offering]
    used: ResourceAmounts = field(default=ResourceAmounts())
    claim: str = ""

    def take(self, shape: PodShape, count: int) -> int:
        """Puts as many of these pods on the node as fit and returns their number; keeps only options on which they
        fit."""
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
        """A unique name for the node."""
        return f"planned-{id(self)}"

    def domains(self, offering: Offering) -> Domains:
        """Returns the labels of the node if it were launched as this offering."""
        return {**offering.labels, HOST: self.host}


class RuledPacking:
    """Puts pods with rules about other pods on planned nodes, one by one.

    Source: kubernetes-sigs/karpenter:pkg/controllers/provisioning/scheduling/topology.go and topologygroup.go: a pod
    goes to the allowed domain with the fewest pods, the zones that pools could launch in count as domains, and a new
    host always counts as an empty one.
    """

    def __init__(self, domains: DomainCounts) -> None:
        self._domains = domains
        self._noted: list[tuple[PodShape, Domains]] = []

    def put(self, node: PlannedNode, shape: PodShape, *, zones: Iterable[str]) -> bool:
        """Puts the pod on the node and returns whether that was possible; keeps only options in the pod's domain."""
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
        domain_of_best = {key: best.labels.get(key) for key in keys}
        node.options = [
            offering
            for offering in fitting
            if all(offering.labels.get(key) == name for key, name in domain_of_best.items())
        ]
        node.used = total
        self._noted.append((shape, node.domains(best)))
        self._domains.add(*self._noted[-1], times=1)
        return True

    def undo(self) -> None:
        """Removes the pods of planned nodes from the counts."""
        for shape, domains in self._noted:
            self._domains.add(shape, domains, times=-1)
        self._noted.clear()

"""How the simulator behaves, well or badly; it may be changed while it runs."""

from dataclasses import dataclass, field
from datetime import timedelta

from migrations_app.simulator.instance_sizes import InstanceSize, uniform_size

ZONE = "eu-central-1a"


@dataclass(frozen=True, slots=True)
class Delays:
    """How long things take, in seconds. All zero: everything happens at once."""

    node_ready: tuple[float, ...] = (0.0,)
    """From a claim's creation to its Ready node: as observed, one is drawn for each node."""
    pod_start: float = 0.0
    """From being placed to being Ready."""
    pod_stop: float = 0.0
    """From being evicted to being gone; never longer than the pod's own grace period."""
    instance_stop: float = 0.0
    """From a drained node to its end."""
    disruption_poll: float = 0.0
    """Between two decisions of Karpenter about what to replace."""
    provision_batch: float = 0.0
    """How long Karpenter collects pods that wait before it launches for them."""
    validation: float = 0.0
    """How long a decision to delete a node in use has to hold before it is carried out."""


@dataclass(slots=True)
class Behaviour:
    """Everything is as it should be unless it is told otherwise."""

    version: str = "v1beta1"
    """Of NodePools and NodeClaims, as the running release speaks."""
    launches: bool = True
    """False: no replacement comes."""
    joins: bool = True
    """False: claims are made, but their nodes never come."""
    finishes: bool = True
    """False: nothing that is being deleted ever goes."""
    drifts: bool = True
    """The feature gate of drift."""
    runs: bool = True
    """False: pods are placed, but never become Ready."""
    same_pod_names: bool = False
    """Pods come again under the names of those that went, as those of a StatefulSet do."""
    same_node_names: bool = False
    """Nodes come again under the names of those that went, as in a small subnet."""
    consolidates: bool = False
    """Empty nodes are removed where their pool says so."""
    consolidates_used: bool = False
    """Nodes whose pods have room on others are deleted where their pool says so."""
    at_once: int = 5
    """How many nodes are disrupted at the same time where no disruption budget of a pool says it."""
    slots: int = 4
    """How many pods a new node takes where `sizes` is empty."""
    sizes: tuple[InstanceSize, ...] = ()
    """What Karpenter can launch; empty: one size that only counts pods."""
    zones: tuple[str, ...] = (ZONE,)
    full_zones: frozenset[str] = frozenset()
    """Zones without capacity: nothing can be launched there."""
    delays: Delays = field(default_factory=Delays)
    seed: int = 0
    """For what is drawn, such as the delay of a node: the same seed, the same run."""
    older: timedelta = timedelta(0)
    """Added to every age: expiry without waiting."""

    def launchable(self) -> tuple[InstanceSize, ...]:
        """The sizes that can be launched."""
        return self.sizes or (uniform_size(self.slots),)

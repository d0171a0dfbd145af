"""The options of the simulator, for normal and for faulty behaviour; they may change while it runs."""

from dataclasses import dataclass, field
from datetime import timedelta

from migrations_app.simulator.instance_sizes import InstanceSize, uniform_size

ZONE = "eu-central-1a"


@dataclass(frozen=True, slots=True)
class Delays:
    """Durations in seconds. With all zero, everything happens at once."""

    node_ready: tuple[float, ...] = (0.0,)
    """From the creation of a claim to its Ready node: observed values, one is drawn for each node."""
    pod_start: float = 0.0
    """From placement to Ready."""
    pod_stop: float = 0.0
    """From eviction until the pod is gone, at most the pod's grace period."""
    instance_stop: float = 0.0
    """From the end of the drain until the node is gone."""
    disruption_poll: float = 0.0
    """Between two decisions of Karpenter about disruption."""
    provision_batch: float = 0.0
    """How long Karpenter collects waiting pods before it launches nodes."""
    validation: float = 0.0
    """How long a decision to delete a node in use has to hold before the deletion."""


@dataclass(slots=True)
class Behaviour:
    """The defaults are normal behaviour."""

    version: str = "v1beta1"
    """The API version of NodePools and NodeClaims that the running release uses."""
    launches: bool = True
    """False: no node is launched."""
    joins: bool = True
    """False: claims are created, but their nodes never register."""
    finishes: bool = True
    """False: no deletion ever ends."""
    drifts: bool = True
    """The feature gate of drift."""
    runs: bool = True
    """False: pods are placed, but never become Ready."""
    same_pod_names: bool = False
    """Replacement pods get the names of the old ones, as in a StatefulSet."""
    same_node_names: bool = False
    """New nodes get the names of deleted ones, as in a small subnet."""
    consolidates: bool = False
    """Empty nodes are removed if their pool says so."""
    consolidates_used: bool = False
    """Nodes whose pods fit on other nodes are deleted if their pool says so."""
    at_once: int = 5
    """How many nodes of a pool without disruption budgets are disrupted at the same time."""
    slots: int = 4
    """How many pods a new node takes if `sizes` is empty."""
    sizes: tuple[InstanceSize, ...] = ()
    """The sizes that Karpenter can launch; empty: one size that only counts pods."""
    zones: tuple[str, ...] = (ZONE,)
    full_zones: frozenset[str] = frozenset()
    """Zones without capacity: no node can be launched there."""
    delays: Delays = field(default_factory=Delays)
    seed: int = 0
    """Seed of random values, such as the delay of a node: the same seed gives the same run."""
    older: timedelta = timedelta(0)
    """Added to every age, to test expiry without waiting."""

    def launchable(self) -> tuple[InstanceSize, ...]:
        """Returns the sizes that can be launched."""
        return self.sizes or (uniform_size(self.slots),)

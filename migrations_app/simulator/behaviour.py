"""How the simulator behaves, well or badly; it may be changed while it runs."""

from dataclasses import dataclass
from datetime import timedelta


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
    at_once: int = 5
    """How many nodes are disrupted at the same time for drift or age."""
    slots: int = 4
    """How many pods a node of ours takes."""
    older: timedelta = timedelta(0)
    """Added to every age: expiry without waiting."""

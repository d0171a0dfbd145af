"""Pods and nodes as the simulator knows them."""

from dataclasses import dataclass, field

from migrations_app.karpenter import labels as keys
from migrations_app.simulator.api import Document
from migrations_app.simulator.generations import ALPHA, going, is_ready
from migrations_app.simulator.instance_sizes import HOST, TYPE, ZONE
from migrations_app.simulator.pod_shapes import PodShape, hard
from migrations_app.simulator.resources import ResourceAmounts


@dataclass(slots=True, eq=False)
class PodState:
    """One pod. `node` is empty while it waits for a place."""

    namespace: str
    name: str
    uid: str
    shape: PodShape
    node: str = ""
    ready: bool = False
    ending: bool = False

    @property
    def path(self) -> str:
        return f"/api/v1/namespaces/{self.namespace}/pods/{self.name}"

    @property
    def document(self) -> Document:
        """As much of it as an eviction needs."""
        return {"metadata": {"namespace": self.namespace, "name": self.name, "uid": self.uid}}


@dataclass(slots=True, eq=False)
class NodeState:
    """One node with the pods on it; `free` is what they leave. What it says of itself is read when it is `seen`."""

    name: str
    free: ResourceAmounts = ResourceAmounts()  # noqa: RUF009 - a tuple
    used: ResourceAmounts = ResourceAmounts()  # noqa: RUF009 - a tuple
    pods: dict[str, PodState] = field(default_factory=dict)
    doc: Document = field(default_factory=dict)
    allocatable: ResourceAmounts = ResourceAmounts()  # noqa: RUF009 - a tuple
    labels: dict[str, str] = field(default_factory=dict)
    taints: list[Document] = field(default_factory=list)
    group: tuple[str, str, str] = ("", "", "")
    """Pool, size and zone; the pool is empty for a node that Karpenter does not own."""
    ready: bool = False
    ending: bool = False
    open: bool = False
    """Whether pods may be placed on it."""

    @property
    def zone(self) -> str:
        return self.group[2]

    def seen(self, doc: Document, allocatable: ResourceAmounts) -> None:
        """Takes in what the node says of itself now."""
        spec = doc.get("spec", {})
        self.doc, self.allocatable = doc, allocatable
        self.free = allocatable.minus(self.used)
        self.labels = doc["metadata"].get("labels") or {}
        if HOST not in self.labels:  # kubelets set it on every node; a dump may lack it
            self.labels = {**self.labels, HOST: self.name}
        self.taints = spec.get("taints") or []
        self.ready, self.ending = is_ready(doc), going(doc)
        self.open = self.ready and not self.ending and not spec.get("unschedulable")
        self.group = _group(self.labels)

    def load(self, requests: ResourceAmounts, times: int) -> None:
        """Counts pods that came, or went."""
        self.used = self.used.plus(requests, times)
        self.free = self.allocatable.minus(self.used)

    def placing(self) -> tuple[object, ...]:
        """What decides whether it takes a pod, besides the room on it."""
        return self.ready, self.ending, self.open, hard(self.taints), self.labels


def _group(labels: dict[str, str]) -> tuple[str, str, str]:
    old = labels.get(ALPHA.label)
    pool = f"{ALPHA.pool}/{old}" if old else labels.get(keys.NODEPOOL, "")
    return pool if old or not pool else f"NodePool/{pool}", labels.get(TYPE, ""), labels.get(ZONE, "")


@dataclass(slots=True, eq=False)
class ShapeCount:
    """How many pods of a shape there are, and how many of them are Ready and stay."""

    total: int = 0
    healthy: int = 0

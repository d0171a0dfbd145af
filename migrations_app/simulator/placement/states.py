"""The state of pods and nodes in memory."""

from dataclasses import dataclass, field

from migrations_app.karpenter import labels as keys
from migrations_app.manifests import JsonMap
from migrations_app.simulator.generations import ALPHA, going, is_ready
from migrations_app.simulator.instance_sizes import HOST, TYPE, ZONE
from migrations_app.simulator.pod_shapes import PodShape, hard
from migrations_app.simulator.resources import ResourceAmounts


@dataclass(slots=True, eq=False)
class PodState:
    """One pod. `node` is empty while it waits for one."""

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
    def document(self) -> JsonMap:
        """The fields that an eviction needs."""
        return {"metadata": {"namespace": self.namespace, "name": self.name, "uid": self.uid}}


@dataclass(slots=True, eq=False)
class NodeState:
    """One node with its pods; `free` is what they leave. `seen` updates the fields from the node's object."""

    name: str
    free: ResourceAmounts = ResourceAmounts()  # noqa: RUF009 - a tuple
    used: ResourceAmounts = ResourceAmounts()  # noqa: RUF009 - a tuple
    pods: dict[str, PodState] = field(default_factory=dict)
    doc: JsonMap = field(default_factory=dict)
    allocatable: ResourceAmounts = ResourceAmounts()  # noqa: RUF009 - a tuple
    labels: dict[str, str] = field(default_factory=dict)
    taints: list[JsonMap] = field(default_factory=list)
    group: tuple[str, str, str] = ("", "", "")
    """Pool, size and zone; the pool is empty for a node that is not Karpenter's."""
    ready: bool = False
    ending: bool = False
    open: bool = False
    """Whether pods may be placed on it."""

    @property
    def zone(self) -> str:
        return self.group[2]

    def seen(self, doc: JsonMap, allocatable: ResourceAmounts) -> None:
        """Updates the fields from the node's object."""
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
        """Adds (or with negative `times` removes) the requests of pods."""
        self.used = self.used.plus(requests, times)
        self.free = self.allocatable.minus(self.used)

    def placing(self) -> tuple[object, ...]:
        """Returns what decides whether it takes a pod, besides its free room."""
        return self.ready, self.ending, self.open, hard(self.taints), self.labels


def _group(labels: dict[str, str]) -> tuple[str, str, str]:
    provisioner = labels.get(ALPHA.label)
    pool = f"{ALPHA.pool}/{provisioner}" if provisioner else labels.get(keys.NODEPOOL, "")
    return pool if provisioner or not pool else f"NodePool/{pool}", labels.get(TYPE, ""), labels.get(ZONE, "")


@dataclass(slots=True, eq=False)
class ShapeCount:
    """The number of pods of a shape, and of those that are Ready and not being deleted."""

    total: int = 0
    healthy: int = 0

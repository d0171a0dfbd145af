"""Nodes and shapes of pods for the search for room."""

from typing import Any

from migrations_app.simulator.placement.states import NodeState
from migrations_app.simulator.pod_shapes import PodShape, PodShapes
from migrations_app.simulator.resources import ResourceAmounts

GIB = 2**30


def node(name: str, *, cpu: int = 1000, labels: dict[str, str] | None = None, **spec: Any) -> NodeState:
    """A Ready node with that many thousandths of a core."""
    made = NodeState(name)
    status = {"conditions": [{"type": "Ready", "status": "True"}]}
    doc = {"metadata": {"name": name, "uid": name, "labels": labels or {}}, "spec": spec, "status": status}
    made.seen(doc, ResourceAmounts(cpu, 4 * GIB, 10))
    return made


def shape(*, cpu: int = 100, name: str = "a", **spec: Any) -> PodShape:
    """What the pods of a workload of that name have in common."""
    inside = [{"name": "c", "resources": {"requests": {"cpu": f"{cpu}m"}}}]
    metadata = {"name": name, "namespace": "shop", "labels": {"app": name}}
    return PodShapes().of({"metadata": metadata, "spec": {"containers": inside, **spec}})

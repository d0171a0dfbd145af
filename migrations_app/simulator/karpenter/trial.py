"""Tests whether pods would fit on the existing nodes, without a request to the cluster."""

from collections.abc import Iterable, Sequence

from migrations_app.simulator.cluster_state import ClusterState
from migrations_app.simulator.placement.states import NodeState, PodState
from migrations_app.simulator.pod_shapes import PodShape
from migrations_app.simulator.resources import ResourceAmounts


class PlacementTrial:
    """Puts each pod on the first node by name that takes it, after the pods that the trial placed before.

    Source: kubernetes-sigs/karpenter:pkg/controllers/provisioning/scheduling/scheduler.go: existing nodes by name, the
    first that takes the pod.
    """

    def __init__(self, state: ClusterState) -> None:
        self._state = state
        self._free: dict[str, ResourceAmounts] = {}
        self._spots: dict[PodShape, list[NodeState]] = {}
        self._lifted: list[PodState] = []
        self._placed: list[tuple[PodState, NodeState]] = []

    def holds(self, pods: Sequence[PodState], *, without: str) -> bool:
        """Returns whether all these pods of the node `without` fit on other nodes; the trial is not changed."""
        lifted, placed = len(self._lifted), len(self._placed)
        self.lift(pods)
        all_placed = all(self.put(pod, without=without) for pod in pods)
        self._back_to(lifted, placed)
        return all_placed

    def lift(self, pods: Iterable[PodState]) -> None:
        """Removes pods from the counts that rules of other pods use."""
        for pod in pods:
            if pod.node and self._state.domains.bound(pod.shape):
                self._state.domains.removed(pod.uid)
                self._lifted.append(pod)

    def put(self, pod: PodState, *, without: str = "") -> bool:
        """Puts the pod on a node and returns whether one took it."""
        shape = pod.shape
        bound = self._state.domains.bound(shape)
        if not bound and self._state.room_for(shape) is None:
            return False
        allowed = self._state.domains.allows(shape) if bound else None
        for node in self._with_room(shape):
            free = self._free.get(node.name, node.free)
            if node.name == without or not free.holds(shape.requests) or (allowed and not allowed(node.labels)):
                continue
            self._free[node.name] = free.minus(shape.requests)
            self._placed.append((pod, node))
            if bound:
                self._state.domains.add(shape, node.labels, times=1)
            return True
        return False

    def undo(self) -> None:
        """Ends the trial: restores the counts of domains."""
        self._back_to(0, 0)

    def _back_to(self, lifted: int, placed: int) -> None:
        for pod, node in self._placed[placed:]:
            self._free[node.name] = self._free[node.name].plus(pod.shape.requests)
            if self._state.domains.bound(pod.shape):
                self._state.domains.add(pod.shape, node.labels, times=-1)
        for pod in self._lifted[lifted:]:
            self._state.count_domains(pod)
        del self._placed[placed:]
        del self._lifted[lifted:]

    def _with_room(self, shape: PodShape) -> list[NodeState]:
        """Returns the nodes that could take one such pod, by name."""
        node_states = self._spots.get(shape)
        if node_states is None:
            node_states = [node for node in self._state.nodes.values() if _takes(node, shape)]
            node_states.sort(key=lambda node: node.name)
            self._spots[shape] = node_states
        return node_states


def _takes(node: NodeState, shape: PodShape) -> bool:
    return node.open and node.free.holds(shape.requests) and shape.tolerates(node.taints) and shape.selects(node.labels)

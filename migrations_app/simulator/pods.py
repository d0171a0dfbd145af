"""Scheduler and kubelets: pods are placed, run and ended."""

from migrations_app.simulator.agenda import Agenda
from migrations_app.simulator.api import SimulatorApi
from migrations_app.simulator.behaviour import Behaviour
from migrations_app.simulator.cluster_state import ClusterState, PodState
from migrations_app.simulator.generations import is_ready
from migrations_app.simulator.pod_shapes import PodShape

READY = [{"type": kind, "status": "True"} for kind in ("Initialized", "Ready", "ContainersReady", "PodScheduled")]


class PodController:
    """One pass."""

    def __init__(self, api: SimulatorApi, behaviour: Behaviour, *, agenda: Agenda) -> None:
        self._api, self._behaviour, self._agenda = api, behaviour, agenda
        self._no_room: dict[PodShape, int] = {}
        """The shapes that found no node, with the state's `room_changes` at that time."""

    def end(self, state: ClusterState) -> None:
        """Pods that are being deleted go when their containers have stopped, at the latest after their grace period."""
        for pod in list(state.ending.values()):
            seconds = min(self._behaviour.delays.pod_stop, pod.shape.grace)
            if not self._agenda.due(("stop", pod.uid), after=seconds if pod.node else 0.0):
                continue
            self._api.delete(pod.path, uid=pod.uid, more={"gracePeriodSeconds": 0})
            state.remove_pod(pod)

    def place(self, state: ClusterState) -> None:
        """Each pod that waits goes to the emptiest node that takes it.

        Source: kubernetes/kubernetes documentation, Kubernetes Scheduler: filter, then score.
        """
        for pod in sorted(state.waiting.values(), key=lambda one: one.name):
            if self._no_room.get(pod.shape) == state.room_changes:
                continue
            node = state.room_for(pod.shape)
            if node is None:
                self._no_room[pod.shape] = state.room_changes
            elif self._bound(pod, node.name):
                state.update(pod, node=node.name)

    def _bound(self, pod: PodState, node: str) -> bool:
        target = {"apiVersion": "v1", "kind": "Node", "name": node}
        body = {"apiVersion": "v1", "kind": "Binding", "metadata": {"name": pod.name}, "target": target}
        return self._api.create(f"{pod.path}/binding", body) is not None

    def run(self, state: ClusterState) -> None:
        """Pods on Ready nodes become Ready."""
        if not self._behaviour.runs:
            return
        for pod in list(state.starting.values()):
            node = state.nodes.get(pod.node)
            if node is None or not is_ready(node.doc):
                continue
            if not self._agenda.due(("start", pod.uid), after=self._behaviour.delays.pod_start):
                continue
            status = {"phase": "Running", "conditions": READY}
            if self._api.patch(f"{pod.path}/status", {"status": status}) is not None:
                state.update(pod, ready=True)

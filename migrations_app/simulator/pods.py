"""Simulates scheduler and kubelets: places, starts and ends pods."""

from migrations_app.simulator.agenda import Agenda, Timers
from migrations_app.simulator.api import SimulatorApi
from migrations_app.simulator.behaviour import Behaviour
from migrations_app.simulator.cluster_state import ClusterState
from migrations_app.simulator.placement.states import PodState
from migrations_app.simulator.pod_shapes import PodShape

READY = [{"type": kind, "status": "True"} for kind in ("Initialized", "Ready", "ContainersReady", "PodScheduled")]


class PodController:
    """The scheduler and the kubelets."""

    def __init__(self, api: SimulatorApi, behaviour: Behaviour, *, agenda: Agenda) -> None:
        self._api, self._behaviour = api, behaviour
        self._stops, self._starts = Timers(agenda), Timers(agenda)
        self._held: dict[str, None] = {}
        """Placed pods whose node is not Ready yet."""

    def end(self, state: ClusterState) -> None:
        """Removes pods that are being deleted once their containers have stopped, at the latest after their grace
        period."""
        new_pods, state.new_ending = state.new_ending, {}
        for pod in new_pods.values():
            seconds = min(self._behaviour.delays.pod_stop, pod.shape.grace)
            self._stops.add(pod.uid, after=seconds if pod.node else 0.0)
        for uid in self._stops.ready():
            ended = state.ending.get(uid)
            if ended is not None:
                self._api.delete(ended.path, uid=uid, more={"gracePeriodSeconds": 0})
                state.remove_pod(ended)

    def place(self, state: ClusterState) -> None:
        """Binds each waiting pod to the emptiest node that takes it.

        Source: kubernetes/kubernetes documentation, Kubernetes Scheduler: filter, then score.
        """
        if not state.unplaced():
            return
        full: set[PodShape] = set()
        for pod in sorted(state.waiting.values(), key=lambda pod_state: pod_state.name):
            if pod.shape in full:
                continue
            node = state.room_for(pod.shape)
            if node is None:
                full.add(pod.shape)
            elif self._bound(pod, node.name):
                state.update(pod, node=node.name)

    def _bound(self, pod: PodState, node: str) -> bool:
        target = {"apiVersion": "v1", "kind": "Node", "name": node}
        body = {"apiVersion": "v1", "kind": "Binding", "metadata": {"name": pod.name}, "target": target}
        return self._api.create(f"{pod.path}/binding", body) is not None

    def run(self, state: ClusterState) -> None:
        """Makes pods on Ready nodes Ready, after their delay."""
        if not self._behaviour.runs:
            return
        new_pods, state.new_starting = state.new_starting, {}
        for uid in (*self._held, *new_pods):
            if self._on_ready_node(state, uid):
                self._held.pop(uid, None)
                self._starts.add(uid, after=self._behaviour.delays.pod_start)
            elif uid in state.starting:
                self._held[uid] = None
            else:
                self._held.pop(uid, None)
        for uid in list(self._starts.ready()):
            if self._on_ready_node(state, uid):
                self._begin(state, state.starting[uid])
            elif uid in state.starting:
                self._held[uid] = None

    def _on_ready_node(self, state: ClusterState, uid: str) -> bool:
        pod = state.starting.get(uid)
        node = state.nodes.get(pod.node) if pod is not None else None
        return node is not None and node.ready

    def _begin(self, state: ClusterState, pod: PodState) -> None:
        status = {"phase": "Running", "conditions": READY}
        if self._api.patch(f"{pod.path}/status", {"status": status}) is not None:
            state.update(pod, ready=True)
        else:
            self._held[pod.uid] = None

"""Simulates termination: a node is cordoned, drained by evictions, and deleted."""

from migrations_app.conversion.quantities import nanoseconds
from migrations_app.simulator.agenda import Agenda
from migrations_app.simulator.api import SimulatorApi
from migrations_app.simulator.behaviour import Behaviour
from migrations_app.simulator.budgets import BudgetController
from migrations_app.simulator.cluster_state import ClusterState
from migrations_app.simulator.generations import (
    CLASS_TERMINATION,
    NODES,
    TERMINATION,
    KarpenterObject,
    classes_path,
    going,
    timestamp,
)
from migrations_app.simulator.karpenter.launch import NodeLauncher
from migrations_app.simulator.measurements import Measurements
from migrations_app.simulator.placement.states import NodeState, PodState
from migrations_app.simulator.pod_shapes import PodShape


class TerminationController:
    """Completes the deletion of claims, nodes, pools and classes.

    Sources: kubernetes-sigs/karpenter:pkg/controllers/node/termination/controller.go and terminator/terminator.go (pods
    that must not be disrupted hold the drain until terminationGracePeriod is over), nodeclaim/termination,
    aws/karpenter-provider-aws:pkg/controllers/nodeclass/termination.
    """

    def __init__(
        self,
        api: SimulatorApi,
        behaviour: Behaviour,
        *,
        agenda: Agenda,
        budgets: BudgetController,
        launcher: NodeLauncher,
        measurements: Measurements,
    ) -> None:
        self._api, self._behaviour, self._agenda = api, behaviour, agenda
        self._budgets, self._launcher, self._measurements = budgets, launcher, measurements
        self._holding: dict[PodShape, tuple[str, ...]] = {}
        """The budgets that refuse evictions of a shape in this pass; they stay the same until the next pass."""
        self._tried: dict[str, int] = {}
        """`pod_changes` of the state at the last evictions of a node: without further changes a retry is useless."""

    def work(self, state: ClusterState) -> None:
        self._holding.clear()
        for claim in sorted(state.claims_ending.values(), key=lambda karpenter: karpenter.name):
            self._end_claim(state, claim)
        for node in sorted(state.nodes_ending.values(), key=lambda node_state: node_state.name):
            self._end_node(state, node)
        self._end_pools(state)
        self._end_classes(state)

    def _end_claim(self, state: ClusterState, claim: KarpenterObject) -> None:
        """Deletes the claim's node first, then removes the finalizer."""
        node = state.nodes.get(claim.node_name)
        if node is not None and state.claim_of(node.name) is claim:
            if not node.ending:
                self._api.delete(f"{NODES}/{node.name}", uid=node.doc["metadata"]["uid"])
        elif self._behaviour.finishes and TERMINATION in claim.doc["metadata"].get("finalizers", ()):
            self._api.drop_finalizer(claim.path, claim.doc, finalizer=TERMINATION)

    def _end_node(self, state: ClusterState, node: NodeState) -> None:
        path = f"{NODES}/{node.name}"
        if TERMINATION not in node.doc["metadata"].get("finalizers", ()):
            return
        claim = state.claim_of(node.name)
        if claim is not None and not claim.going:
            self._api.delete(claim.path, uid=claim.uid)
        if not node.doc.get("spec", {}).get("unschedulable"):
            node_doc = self._api.patch(path, {"spec": {"unschedulable": True}})
            if node_doc is not None:
                state.put_node(node_doc)
                self._measurements.note_drain(node)
            return
        if not self._drained(state, node, claim=claim) or not self._behaviour.finishes:
            return
        if self._agenda.due(("instance", node.doc["metadata"]["uid"]), after=self._behaviour.delays.instance_stop):
            self._launcher.free_name(node.name)
            self._api.drop_finalizer(path, node.doc, finalizer=TERMINATION)

    def _drained(self, state: ClusterState, node: NodeState, *, claim: KarpenterObject | None) -> bool:
        """Returns whether no pod has to move any more, and then deletes the other pods of the node."""
        forced = claim is not None and self._time_is_over(claim)
        if state.has_to_move(node.name):
            if forced or self._tried.get(node.name) != state.pod_changes:
                self._move(state, node, forced=forced)
            return False
        for pod in list(node.pods.values()):
            self._api.delete(pod.path, uid=pod.uid, more={"gracePeriodSeconds": 0})
            state.remove_pod(pod)
        return True

    def _move(self, state: ClusterState, node: NodeState, *, forced: bool) -> None:
        """Evicts the pods that have to move, if annotations and budgets allow it; `forced`: deletes them in any
        case."""
        moving = [pod for pod in node.pods.values() if not pod.shape.stays and (forced or not pod.ending)]
        if forced:
            for pod in moving:
                self._api.delete(pod.path, uid=pod.uid, more={"gracePeriodSeconds": 0})
        elif pinned := next((pod for pod in moving if pod.shape.pinned), None):
            self._measurements.note_held_eviction(pinned, "annotation")
        else:
            for pod in sorted(moving, key=lambda pod_state: (pod_state.namespace, pod_state.name)):
                self._evict(state, pod)
        self._tried[node.name] = state.pod_changes

    def _time_is_over(self, claim: KarpenterObject) -> bool:
        """Returns whether the claim's terminationGracePeriod has passed since its deletion (from v1 on)."""
        text = claim.doc["spec"].get("terminationGracePeriod")
        length = nanoseconds(str(text)) if text else None
        if length is None or not claim.going:
            return False
        since = timestamp(claim.doc, "deletionTimestamp", now=self._agenda.now)
        return self._agenda.reached(since + length / 10**9)

    def _evict(self, state: ClusterState, pod: PodState) -> None:
        """Evicts the pod unless a budget is known to refuse it, and records the result in the state.

        A pod under several budgets is never evicted: kubernetes/kubernetes:pkg/registry/core/pod/storage/eviction.go.
        """
        holding = self._holding.get(pod.shape) or self._held_by(state, pod)
        if holding:
            self._holding[pod.shape] = holding
            for name in holding:
                self._measurements.note_held_eviction(pod, name)
            return
        evicted = self._api.evict(pod.document)
        self._budgets.note_eviction(state, pod.shape, evicted=evicted)
        if evicted:
            self._measurements.note_eviction(pod)
            state.update(pod, ending=True)

    def _held_by(self, state: ClusterState, pod: PodState) -> tuple[str, ...]:
        """Returns namespace and name of the budgets that refuse its eviction; one joined name for several budgets."""
        uids = [uid for uid in self._budgets.over(state, pod.shape) if uid in state.budgets]
        over = [state.budgets[uid]["metadata"]["name"] for uid in uids]
        if len(over) > 1:
            return (f"{pod.namespace}/{' and '.join(sorted(over))}",)
        blocking_budgets = self._budgets.holding(state, (pod.shape,))
        return tuple(f"{budget['metadata']['namespace']}/{budget['metadata']['name']}" for budget in blocking_budgets)

    def _end_pools(self, state: ClusterState) -> None:
        """Deletes the claims of a pool that is being deleted, then removes the pool's finalizer."""
        for pool in list(state.pools.values()):
            if not pool.going or TERMINATION not in pool.doc["metadata"].get("finalizers", ()):
                continue
            key = (pool.of.pool, pool.name)
            claims = [claim for claim in state.claims.values() if (claim.of.pool, claim.pool_name) == key]
            for claim in claims:
                if not claim.going:
                    self._api.delete(claim.path, uid=claim.uid)
            if not claims and self._behaviour.finishes:
                self._api.drop_finalizer(pool.path, pool.doc, finalizer=TERMINATION)

    def _end_classes(self, state: ClusterState) -> None:
        """Removes the finalizer of a class once no claim refers to it."""
        for node_class in list(state.classes.values()):
            if not going(node_class) or CLASS_TERMINATION not in node_class["metadata"].get("finalizers", ()):
                continue
            name = node_class["metadata"]["name"]
            if not any(
                claim.doc["spec"].get("nodeClassRef", {}).get("name") == name for claim in state.claims.values()
            ):
                path = f"{classes_path(self._behaviour.version)}/{name}"
                self._api.drop_finalizer(path, node_class, finalizer=CLASS_TERMINATION)

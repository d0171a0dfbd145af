"""Simulates consolidation of used nodes: deletes, without a replacement, nodes whose pods all fit on other nodes."""

import math
from collections.abc import Callable, Iterable

from migrations_app.conversion.quantities import nanoseconds
from migrations_app.simulator.agenda import Agenda
from migrations_app.simulator.behaviour import Behaviour
from migrations_app.simulator.cluster_state import ClusterState, PoolKey
from migrations_app.simulator.generations import KarpenterObject
from migrations_app.simulator.karpenter.provisioning import NodeProvisioner
from migrations_app.simulator.karpenter.trial import PlacementTrial
from migrations_app.simulator.placement.states import NodeState, PodState

UNDERUTILIZED_POLICIES = ("WhenUnderutilized", "WhenEmptyOrUnderutilized")
MAX_TRIED = 40
"""How many nodes one decision tries; the next decision continues after them if nothing changed. Karpenter tries as
many as it can in three minutes."""
MayGo = Callable[[KarpenterObject, list[PodState]], bool]
"""Returns whether budgets and annotations allow the deletion of a claim with these pods on its node."""
Life = Callable[[KarpenterObject, KarpenterObject], float]
"""Returns the share of its lifetime that a claim of a pool has left, 1.0 if it never expires."""


class UnderusedNodes:
    """Finds one claim at a time. Only deletions are simulated: a cheaper replacement would need prices.

    Sources: kubernetes-sigs/karpenter:pkg/controllers/disruption: consolidation.go (ShouldDisrupt; a node goes when no
    new one is needed for its pods; the same is asked again after 15 s; nothing is tried again until something changed),
    singlenodeconsolidation.go (the lowest disruption cost first, empty nodes are not for it), helpers.go
    (SimulateScheduling: pods that wait and those of nodes that go have to have a place, too), types.go (the cost: one
    for each pod, times the share of life that is left); nodeclaim/podevents and nodeclaim/disruption (consolidateAfter
    counts from the last pod that came or went).
    """

    def __init__(self, behaviour: Behaviour, agenda: Agenda, *, provisioner: NodeProvisioner, life: Life) -> None:
        self._behaviour, self._agenda = behaviour, agenda
        self._provisioner, self._life = provisioner, life
        self._since: dict[str, float] | None = None
        """Time of the last new or removed pod, by node; only for nodes with such a change during the simulation."""
        self._seen: object = None
        self._next = 0
        self._again = math.inf
        """The next time at which a node had no new or removed pod for long enough."""
        self._found: tuple[str, float] | None = None

    def learn(self, state: ClusterState) -> None:
        """Records which nodes gained or lost pods. The first call takes the cluster as unchanged."""
        changed, state.reloaded_nodes = state.reloaded_nodes, {}
        if self._since is None:
            self._since = {}
        else:
            self._since.update(dict.fromkeys(changed, self._agenda.now))

    def is_due(self, state: ClusterState) -> bool:
        """Returns whether a decision may find a node."""
        if not self._behaviour.consolidates_used or not any(quiet_seconds(pool) is not None for pool in _pools(state)):
            return False
        if self._found is not None or self._next > 0 or self._again <= self._agenda.now:
            return True
        return self._seen != self._state_of(state)

    @property
    def validates(self) -> bool:
        """Whether a decision still has to hold for a while; nothing else is decided meanwhile."""
        return self._found is not None and not self._agenda.reached(self._found[1])

    @property
    def proven(self) -> bool:
        """Whether that time is over: the decision is carried out now if it still holds."""
        return self._found is not None and self._agenda.reached(self._found[1])

    def chosen(self, state: ClusterState, *, may_go: MayGo) -> KarpenterObject | None:
        """Returns the claim to delete now; None if there is none."""
        if self._found is not None:
            claim, self._found = state.claims.get(self._found[0]), None
            return claim if claim is not None and self._tried(state, [claim], may_go=may_go) is not None else None
        candidates = self._candidates(state)
        present_state = self._state_of(state)
        first = self._next if self._seen == present_state else 0
        claim = self._tried(state, candidates[first : first + MAX_TRIED], may_go=may_go)
        self._seen, self._next = present_state, first + MAX_TRIED if first + MAX_TRIED < len(candidates) else 0
        if claim is None or self._behaviour.delays.validation <= 0:
            return claim
        self._found = claim.uid, self._agenda.now + self._behaviour.delays.validation
        self._agenda.reached(self._found[1])
        return None

    def _state_of(self, state: ClusterState) -> tuple[object, ...]:
        pools = tuple((pool.uid, pool.doc["metadata"].get("resourceVersion")) for pool in _pools(state))
        return state.pod_changes, state.node_changes, len(state.claims_ending), pools

    def _candidates(self, state: ClusterState) -> list[KarpenterObject]:
        """Returns the claims of pools that consolidate, unchanged for long enough, the lowest cost first."""
        pools: dict[PoolKey, tuple[KarpenterObject, float]] = {}
        for pool in _pools(state):
            wait = quiet_seconds(pool)
            if wait is not None:
                pools[pool.pool_key] = pool, wait
        self._again, candidates = math.inf, []
        for claim in state.claims.values():
            pool_and_wait, node = pools.get(claim.pool_key), state.nodes.get(claim.node_name)
            if pool_and_wait is None or node is None or claim.going or not node.ready or node.ending:
                continue
            quiet_at = (self._since or {}).get(node.name, -math.inf) + pool_and_wait[1]
            if not self._agenda.reached(quiet_at):
                self._again = min(self._again, quiet_at)
            elif state.has_to_move(node.name):
                candidates.append((state.moving(node.name) * self._life(claim, pool_and_wait[0]), claim.name, claim))
        candidates.sort(key=lambda entry: entry[:2])
        return [claim for *_, claim in candidates]

    def _tried(
        self,
        state: ClusterState,
        candidates: Iterable[KarpenterObject],
        *,
        may_go: MayGo,
    ) -> KarpenterObject | None:
        """Returns the first claim that can be deleted while every pod fits on a node."""
        trial = PlacementTrial(state)
        try:
            if not self._others_have_places(state, trial):
                return None
            for claim in candidates:
                node = state.nodes.get(claim.node_name)
                pods = _moving(node) if node is not None else []
                if node is None or not pods or any(pod.shape.unplayed for pod in pods):
                    continue
                if may_go(claim, pods) and trial.holds(pods, without=node.name):
                    return claim
            return None
        finally:
            trial.undo()

    def _others_have_places(self, state: ClusterState, trial: PlacementTrial) -> bool:
        """Returns whether waiting pods, and those of nodes being deleted, need no further new node."""
        moving_pods = [pod for node in state.nodes_ending.values() for pod in _moving(node)]
        trial.lift(moving_pods)
        without_place = [pod for pod in _by_size([*state.waiting.values(), *moving_pods]) if not trial.put(pod)]
        return not without_place or self._provisioner.coming_hold(state, without_place)


def _moving(node: NodeState) -> list[PodState]:
    """Returns the pods that need another node when this one is deleted, the largest first."""
    return _by_size(pod for pod in node.pods.values() if not pod.shape.stays and not pod.ending)


def _by_size(pods: Iterable[PodState]) -> list[PodState]:
    """Source: kubernetes-sigs/karpenter:pkg/controllers/provisioning/scheduling/queue.go (byCPUAndMemoryDescending)."""
    return sorted(pods, key=lambda pod: (-pod.shape.requests.cpu, -pod.shape.requests.memory, pod.namespace, pod.name))


def _pools(state: ClusterState) -> list[KarpenterObject]:
    return [pool for pool in state.pools.values() if not pool.going]


def quiet_seconds(pool: KarpenterObject) -> float | None:
    """Returns how long a used node's pods have to stay unchanged before consolidation; None if it is never
    consolidated."""
    spec = pool.doc["spec"]
    if pool.of.pool == "Provisioner":
        return 0.0 if (spec.get("consolidation") or {}).get("enabled") else None
    disruption = spec.get("disruption") or {}
    after = disruption.get("consolidateAfter")
    if disruption.get("consolidationPolicy", UNDERUTILIZED_POLICIES[0]) not in UNDERUTILIZED_POLICIES:
        return None
    if after == "Never":
        return None
    length = nanoseconds(str(after)) if after else None
    return 0.0 if length is None else length / 10**9

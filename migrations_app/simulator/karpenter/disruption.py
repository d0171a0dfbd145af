"""Simulates disruption: Karpenter replaces nodes that drifted or expired, and removes nodes that no pod needs."""

import hashlib
import json
import math
from collections import Counter
from collections.abc import Callable, Mapping
from datetime import timedelta
from operator import itemgetter

from migrations_app.conversion.quantities import nanoseconds
from migrations_app.karpenter import labels as keys
from migrations_app.simulator.agenda import Agenda
from migrations_app.simulator.api import SimulatorApi
from migrations_app.simulator.behaviour import Behaviour
from migrations_app.simulator.budgets import BudgetController
from migrations_app.simulator.cluster_state import ClusterState, PoolKey
from migrations_app.simulator.generations import KarpenterObject, is_ready, timestamp
from migrations_app.simulator.karpenter.launch import pool_spec
from migrations_app.simulator.karpenter.provisioning import NodeProvisioner
from migrations_app.simulator.karpenter.underused_nodes import UnderusedNodes
from migrations_app.simulator.placement.states import NodeState, PodState

PROVISIONER_STATIC = ("annotations", "kubeletConfiguration", "labels", "providerRef", "startupTaints", "taints")
DRIFTED, EXPIRED, EMPTY, UNDERUTILIZED = "Drifted", "Expired", "Empty", "Underutilized"
_NOT_HASHED = ("requirements", "expireAfter", "terminationGracePeriod")
"""Fields of a NodePool's template that are not part of the hash."""


class DisruptionController:
    """Makes one decision in a pass. `_awaited` are the replacements that a claim waits for before its deletion.

    Sources: kubernetes-sigs/karpenter:pkg/controllers/disruption: controller.go (a decision every 10 s), drift.go,
    expiration.go (up to v1beta1: a replacement first; from v1 on claims are deleted when they expire), emptiness.go,
    helpers.go (budgets of a NodePool: the smallest that is for the reason; a percentage is rounded up).
    """

    def __init__(
        self,
        api: SimulatorApi,
        behaviour: Behaviour,
        *,
        agenda: Agenda,
        budgets: BudgetController,
        provisioner: NodeProvisioner,
    ) -> None:
        self._api, self._behaviour, self._agenda = api, behaviour, agenda
        self._budgets, self._provisioner = budgets, provisioner
        self._hashes: dict[str, str] = {}
        self._versions: dict[str, object] = {}
        self._awaited: dict[str, list[str]] = {}
        self._began: dict[str, float] = {}
        self._outdated: dict[str, tuple[KarpenterObject, str]] = {}
        self._expiries: dict[str, float] = {}
        self._next_expiry = math.inf
        self._gates: object = None
        self._underused = UnderusedNodes(behaviour, agenda, provisioner=provisioner, life=self._life)

    def note_hashes(self, state: ClusterState) -> None:
        """Updates a pool's hash annotation after a change of its static fields. The hash at the first read is kept.

        Source: kubernetes-sigs/karpenter:pkg/controllers/nodepool/hash/controller.go
        """
        for pool in list(state.pools.values()):
            version = pool.doc["metadata"].get("resourceVersion")
            if self._versions.get(pool.uid) == version:
                continue
            self._versions[pool.uid] = version
            current_hash, known_hash = digest(pool), self._hashes.get(pool.uid)
            if known_hash is not None and known_hash != current_hash:
                patch = {"metadata": {"annotations": {pool.of.hash: current_hash}}}
                patched_doc = self._api.patch(pool.path, patch)
                if patched_doc is not None:
                    state.pools[pool.uid] = KarpenterObject(pool.of, patched_doc | {"kind": pool.of.pool})
            self._hashes[pool.uid] = current_hash

    def awaited(self) -> dict[str, list[str]]:
        """Returns the names of the new nodes that each claim waits for before its deletion, by uid."""
        return {uid: list(names) for uid, names in self._awaited.items()}

    def recall(self, awaited: Mapping[str, list[str]]) -> None:
        """Continues the replacements that another controller began."""
        self._awaited.update(awaited)

    def work(self, state: ClusterState) -> None:
        """Starts as many replacements as the budgets allow, and deletes claims whose replacements are Ready.

        Nodes in use are consolidated only if there is nothing else to do.
        """
        self._end_replaced(state)
        self._learn(state)
        self._underused.learn(state)
        if self._underused.validates:
            return
        empty = self._empty(state) if self._behaviour.consolidates else []
        if not self._outdated and not empty and not self._underused.is_due(state):
            return
        proven = self._underused.proven
        if not proven and not self._agenda.due("disruption", after=self._behaviour.delays.disruption_poll):
            return
        allowed, busy = self._allowed(state), self._busy(state)

        def room(pool: PoolKey, reason: str) -> float:
            return min(allowed.get((pool, reason), self._behaviour.at_once), allowed.get((pool, ""), math.inf))

        def has_room(claim: KarpenterObject, reason: str) -> bool:
            pool = claim.pool_key
            return room(pool, reason) > busy[pool] and claim.uid not in self._awaited and not claim.going

        busy_before = busy.total()
        candidates = [*self._in_order(room, busy), *((claim, EMPTY) for claim in empty)]
        for claim, reason in () if proven else candidates:
            if has_room(claim, reason):
                busy[claim.pool_key] += self._begin(state, claim, reason=reason)
        if busy.total() == busy_before and self._underused.is_due(state):
            self._consolidate(state, has_room)

    def _consolidate(self, state: ClusterState, has_room: Callable[[KarpenterObject, str], bool]) -> None:
        """Deletes the cheapest of the nodes whose pods all fit on other nodes."""

        def may_go(claim: KarpenterObject, pods: list[PodState]) -> bool:
            return has_room(claim, UNDERUTILIZED) and not self._protected(
                state, state.nodes[claim.node_name], pods=pods
            )

        claim = self._underused.chosen(state, may_go=may_go)
        if claim is not None:
            self._api.delete(claim.path, uid=claim.uid)

    def _life(self, claim: KarpenterObject, pool: KarpenterObject) -> float:
        """Source: kubernetes-sigs/karpenter:pkg/utils/disruption/disruption.go, LifetimeRemaining."""
        longest_life = lifetime(claim, pool)
        if longest_life is None or not longest_life:
            return 1.0
        age = self._agenda.now - timestamp(claim.doc, "creationTimestamp", now=self._agenda.now)
        return min(1.0, max(0.0, 1.0 - age / longest_life.total_seconds()))

    def _in_order(
        self, room: Callable[[PoolKey, str], float], busy: Mapping[PoolKey, int]
    ) -> list[tuple[KarpenterObject, str]]:
        """Returns the outdated claims by name, of pools that may disrupt one more node."""
        pools: dict[tuple[PoolKey, str], bool] = {}
        candidates = []
        for claim, reason in self._outdated.values():
            key = claim.pool_key, reason
            if key not in pools:
                pools[key] = room(*key) > busy.get(key[0], 0)
            if pools[key]:
                candidates.append((claim.name, claim, reason))
        candidates.sort(key=itemgetter(0))
        return [(claim, reason) for _, claim, reason in candidates]

    def _learn(self, state: ClusterState) -> None:
        """Updates which claims are outdated: checks changed claims, and all claims after a change of a pool."""
        changed, state.changed_claims = state.changed_claims, set()
        if state.changed_pools or self._gates != (self._behaviour.drifts, self._behaviour.older):
            state.changed_pools, self._gates = False, (self._behaviour.drifts, self._behaviour.older)
            changed = {*state.claims, *changed}
        if changed:
            pools = {pool.pool_key: pool for pool in state.pools.values()}
            for uid in changed:
                self._check(state.claims.get(uid), uid, pools=pools)
        if self._next_expiry <= self._agenda.now:
            for uid in [uid for uid, moment in self._expiries.items() if moment <= self._agenda.now]:
                del self._expiries[uid]
                self._outdated[uid] = (state.claims[uid], EXPIRED)
            self._next_expiry = min(self._expiries.values(), default=math.inf)

    def _check(self, claim: KarpenterObject | None, uid: str, *, pools: dict[PoolKey, KarpenterObject]) -> None:
        self._outdated.pop(uid, None)
        self._expiries.pop(uid, None)
        pool = pools.get(claim.pool_key) if claim is not None else None
        if claim is None or pool is None or claim.going:
            return
        claim_hash = claim.doc["metadata"].get("annotations", {}).get(claim.of.hash)
        pool_hash = pool.doc["metadata"].get("annotations", {}).get(claim.of.hash)
        longest_life = lifetime(claim, pool)
        if self._behaviour.drifts and claim_hash is not None and pool_hash is not None and claim_hash != pool_hash:
            self._outdated[uid] = (claim, DRIFTED)
        elif longest_life is not None:
            created = timestamp(claim.doc, "creationTimestamp", now=self._agenda.now)
            moment = created + (longest_life - self._behaviour.older).total_seconds()
            self._expiries[uid] = moment
            self._next_expiry = min(self._next_expiry, moment)
            self._agenda.reached(moment)

    def _empty(self, state: ClusterState) -> list[KarpenterObject]:
        """Returns the claims whose nodes have only had pods of DaemonSets for as long as their pools wait."""
        pools = {pool.pool_key: pool for pool in state.pools.values()}
        for name in self._began.keys() - state.empty_nodes.keys():
            del self._began[name]
        claims = []
        for name in state.empty_nodes:
            claim = state.claim_of(name)
            pool = pools.get(claim.pool_key) if claim is not None else None
            wait = empty_seconds(pool) if pool is not None else None
            if claim is None or claim.going or wait is None:
                continue
            began = self._began.setdefault(name, self._agenda.now)
            if self._agenda.reached(began + wait):
                claims.append(claim)
        return claims

    def _begin(self, state: ClusterState, claim: KarpenterObject, *, reason: str) -> bool:
        """Returns whether the replacement or deletion of the claim began; False if a pod of it must not move."""
        node = state.nodes.get(claim.node_name)
        if node is None:
            return False
        pods = [pod for pod in node.pods.values() if not pod.shape.stays and not pod.ending]
        if reason == EXPIRED and claim.of.version == "v1":
            return self._api.delete(claim.path, uid=claim.uid)
        if self._protected(state, node, pods=pods):
            return False
        names = self._provisioner.launched_for(state, pods) if pods else []
        if names is None:
            return False
        if not names:
            return self._api.delete(claim.path, uid=claim.uid)
        self._awaited[claim.uid] = names
        return True

    def _protected(self, state: ClusterState, node: NodeState, *, pods: list[PodState]) -> bool:
        """Returns whether an annotation, or a budget of a pod that would have to move, forbids disruption."""
        annotations = node.doc["metadata"].get("annotations") or {}
        if any(annotations.get(key) == "true" for key in (keys.DO_NOT_DISRUPT, keys.DO_NOT_CONSOLIDATE)):
            return True
        return any(pod.shape.pinned for pod in pods) or bool(self._budgets.holding(state, {pod.shape for pod in pods}))

    def _end_replaced(self, state: ClusterState) -> None:
        for uid, names in list(self._awaited.items()):
            claim = state.claims.get(uid)
            if claim is None or claim.going:
                del self._awaited[uid]
            elif all(name in state.nodes and is_ready(state.nodes[name].doc) for name in names):
                self._api.delete(claim.path, uid=claim.uid)
                del self._awaited[uid]

    def _busy(self, state: ClusterState) -> Counter[PoolKey]:
        """Returns how many nodes of each pool are being replaced or deleted."""
        awaited = (state.claims[uid] for uid in self._awaited if uid in state.claims)
        return Counter(claim.pool_key for claim in (*state.claims_ending.values(), *awaited))

    def _allowed(self, state: ClusterState) -> dict[tuple[PoolKey, str], int]:
        """Returns how many nodes of a pool may be disrupted at once, by reason; the reason "" is for all reasons."""
        allowances: dict[tuple[PoolKey, str], int] = {}
        for pool in state.pools.values():
            budgets = pool.doc["spec"].get("disruption", {}).get("budgets") if pool.of.pool == "NodePool" else None
            key, size = pool.pool_key, state.claim_counts[pool.pool_key]
            if not budgets:
                continue
            allowances[key, ""] = size
            for budget in budgets:
                limit = share_of(str(budget.get("nodes", "10%")), size)
                for reason in budget.get("reasons") or ("",):
                    allowances[key, reason] = min(limit, allowances.get((key, reason), limit))
            for reason in (DRIFTED, EMPTY, EXPIRED, UNDERUTILIZED):
                allowances.setdefault((key, reason), allowances[key, ""])
        return allowances


def share_of(text: str, of: int) -> int:
    """Returns the number in the text, or that percentage of `of`, rounded up."""
    return math.ceil(of * int(text.removesuffix("%")) / 100) if text.endswith("%") else int(text)


def lifetime(claim: KarpenterObject, pool: KarpenterObject) -> timedelta | None:
    """Returns the age at which a node expires; None if it never does."""
    spec = pool.doc["spec"]
    if pool.of.pool == "Provisioner":
        seconds = spec.get("ttlSecondsUntilExpired")
        return None if seconds is None else timedelta(seconds=seconds)
    own = claim.doc["spec"].get("expireAfter") if claim.of.version == "v1" else None
    text = own or pool_spec(pool).get("expireAfter") or spec.get("disruption", {}).get("expireAfter")
    length = nanoseconds(str(text)) if text and text != "Never" else None
    return None if length is None else timedelta(microseconds=length // 1000)


def empty_seconds(pool: KarpenterObject) -> float | None:
    """Returns how many seconds an empty node is kept; None if for ever."""
    spec = pool.doc["spec"]
    if pool.of.pool == "Provisioner":
        if (spec.get("consolidation") or {}).get("enabled"):
            return 15.0
        after = spec.get("ttlSecondsAfterEmpty")
        return None if after is None else float(after)
    text = spec.get("disruption", {}).get("consolidateAfter")
    if text == "Never":
        return None
    length = nanoseconds(str(text)) if text else None
    return 15.0 if length is None else length / 10**9


def digest(pool: KarpenterObject) -> str:
    """Returns the hash of the fields whose change makes nodes drift."""
    spec = pool.doc["spec"]
    if pool.of.pool == "Provisioner":
        static = {key: spec.get(key) for key in PROVISIONER_STATIC}
    else:
        template = spec.get("template", {})
        inner = {key: value for key, value in template.get("spec", {}).items() if key not in _NOT_HASHED}
        static = {"metadata": template.get("metadata"), "spec": inner}
    return hashlib.sha256(json.dumps(static, sort_keys=True).encode()).hexdigest()[:20]

"""Karpenter: nodes for pods that wait, replacement of what drifted or is too old, drain and termination."""

import hashlib
import json
import math
from datetime import datetime, timedelta

from migrations_app.simulator.api import Document, SimulatorApi, pod_path
from migrations_app.simulator.behaviour import Behaviour
from migrations_app.simulator.clock import SimulatorClock
from migrations_app.simulator.cluster_view import (
    CLASS_TERMINATION,
    CLASSES,
    NODES,
    TERMINATION,
    ClusterView,
    KarpenterObject,
    going,
    is_ready,
    stays_with_node,
    tolerates,
)
from migrations_app.simulator.launch import NodeLauncher
from migrations_app.simulator.pods import waiting

PINNED = ("karpenter.sh/do-not-evict", "karpenter.sh/do-not-disrupt")
PROVISIONER_STATIC = ("annotations", "kubeletConfiguration", "labels", "providerRef", "startupTaints", "taints")


class KarpenterController:
    """One pass a tick. `_awaited` are the replacements that a claim waits for before it goes."""

    def __init__(self, api: SimulatorApi, behaviour: Behaviour, clock: SimulatorClock) -> None:
        self._api, self._behaviour, self._clock = api, behaviour, clock
        self._launcher = NodeLauncher(api, behaviour)
        self._version, self._specs = behaviour.version, dict[str, str]()
        self._awaited: dict[str, list[str]] = {}

    def work(self, view: ClusterView) -> None:
        if self._version != self._behaviour.version:
            # Another release counts with hashes of its own: nothing drifts by the upgrade alone.
            self._version, self._specs = self._behaviour.version, {}
        for pool in view.pools:
            self._note_hash(pool)
        self._launch(view)
        self._disrupt(view)
        for claim in [claim for claim in view.claims if claim.going]:
            self._end_claim(view, claim)
        for node in [node for node in view.nodes.values() if going(node)]:
            self._end_node(view, node)
        self._end_pools(view)

    def _note_hash(self, pool: KarpenterObject) -> None:
        """The hash annotation follows the static fields; what a pool was first seen with counts as in line."""
        now, before = digest(pool), self._specs.get(pool.uid)
        if before is not None and before != now:
            self._api.patch(f"{pool.of.pools_path}/{pool.name}", {"metadata": {"annotations": {pool.of.hash: now}}})
        self._specs[pool.uid] = now

    def _launch(self, view: ClusterView) -> None:
        """Nodes for pods that found no place; what is on its way counts."""
        coming = self._behaviour.slots * sum(not claim.node_name and not claim.going for claim in view.claims)
        wanted: dict[str, tuple[KarpenterObject, int]] = {}
        for pod in waiting(view)[coming:]:
            pool = self._pool_for(view, [pod])
            if pool is not None:
                wanted[pool.uid] = (pool, wanted.get(pool.uid, (pool, 0))[1] + 1)
        for pool, pods in wanted.values():
            self._launcher.launch(view, pool, count=math.ceil(pods / self._behaviour.slots))

    def _pool_for(self, view: ClusterView, pods: list[Document]) -> KarpenterObject | None:
        """The pool whose nodes take all these pods; the newer generation first, then the heavier."""
        order = sorted(view.pools, key=lambda one: (one.of.pool, -one.doc["spec"].get("weight", 0), one.name))
        open_pools = (one for one in order if not one.going)
        return next((one for one in open_pools if all(tolerates(pod, taints(one)) for pod in pods)), None)

    def _disrupt(self, view: ClusterView) -> None:
        """Drift and age: the replacement first, then the old one, some at once."""
        room = self._behaviour.at_once - sum(claim.going for claim in view.claims)
        pools = {(pool.of.pool, pool.name): pool for pool in view.pools}
        for claim in sorted(view.claims, key=lambda one: one.name):
            pool = pools.get((claim.of.pool, claim.pool_name))
            if room <= 0 or pool is None or claim.going or not self._outdated(claim, pool):
                continue
            room -= self._replaced(view, claim)

    def _outdated(self, claim: KarpenterObject, pool: KarpenterObject) -> bool:
        mine = claim.doc["metadata"].get("annotations", {}).get(claim.of.hash)
        wanted = pool.doc["metadata"].get("annotations", {}).get(claim.of.hash)
        drifted = self._behaviour.drifts and mine is not None and wanted is not None and mine != wanted
        return drifted or self._expired(claim, pool)

    def _expired(self, claim: KarpenterObject, pool: KarpenterObject) -> bool:
        most = lifetime(pool)
        born = datetime.fromisoformat(claim.doc["metadata"]["creationTimestamp"].replace("Z", "+00:00"))
        return most is not None and self._clock.now() - born + self._behaviour.older >= most

    def _replaced(self, view: ClusterView, claim: KarpenterObject) -> bool:
        """Whether something was set going for this claim."""
        node = view.nodes.get(claim.node_name)
        pods = [pod for pod in view.pods_on(claim.node_name) if not stays_with_node(pod)]
        if node is None or any(_pinned(pod) for pod in pods) or _held(view, pods):
            return False
        if claim.uid not in self._awaited:
            return self._replacement_launched(view, claim, pods)
        if all(name in view.nodes and is_ready(view.nodes[name]) for name in self._awaited[claim.uid]):
            self._api.delete(f"{claim.of.claims_path}/{claim.name}", uid=claim.uid)
            del self._awaited[claim.uid]
        return True

    def _replacement_launched(self, view: ClusterView, claim: KarpenterObject, pods: list[Document]) -> bool:
        pool = self._pool_for(view, pods)
        if pool is None and pods:
            return False
        count = math.ceil(len(pods) / self._behaviour.slots)
        names = self._launcher.launch(view, pool, count=count) if pool is not None else []
        if len(names) < count:
            return False
        self._awaited[claim.uid] = names
        return True

    def _end_claim(self, view: ClusterView, claim: KarpenterObject) -> None:
        """Its node first; the finalizer when that is gone."""
        node = view.nodes.get(claim.node_name)
        if node is not None and view.claim_of(node) is claim:
            if not going(node):
                self._api.delete(f"{NODES}/{claim.node_name}", uid=node["metadata"]["uid"])
        elif self._behaviour.finishes and TERMINATION in claim.doc["metadata"].get("finalizers", ()):
            self._api.drop_finalizer(f"{claim.of.claims_path}/{claim.name}", claim.doc, TERMINATION)

    def _end_node(self, view: ClusterView, node: Document) -> None:
        """Cordon, drain through the eviction subresource, terminate, let go."""
        path = f"{NODES}/{node['metadata']['name']}"
        if TERMINATION not in node["metadata"].get("finalizers", ()):
            return
        claim = view.claim_of(node)
        if claim is not None and not claim.going:
            self._api.delete(f"{claim.of.claims_path}/{claim.name}", uid=claim.uid)
        if not node["spec"].get("unschedulable"):
            self._api.patch(path, {"spec": {"unschedulable": True}})
            return
        if self._drained(view, node) and self._behaviour.finishes:
            self._launcher.gone(node)
            self._api.drop_finalizer(path, node, TERMINATION)

    def _drained(self, view: ClusterView, node: Document) -> bool:
        pods = view.pods_on(node["metadata"]["name"])
        moving = [pod for pod in pods if not stays_with_node(pod)]
        if not any(_pinned(pod) for pod in moving):
            for pod in moving:
                self._evict(view, pod)
        if moving:
            return False
        for pod in pods:
            self._api.delete(pod_path(pod), uid=pod["metadata"]["uid"], more={"gracePeriodSeconds": 0})
        return True

    def _evict(self, view: ClusterView, pod: Document) -> None:
        """Asks for it unless a budget is known to hold it; what is left of the budgets is kept in the view."""
        mine = _budgets(view, [pod])
        if _held(view, [pod]):
            return
        left = self._api.evict(pod)
        for budget in mine:
            status = budget.setdefault("status", {})
            status["disruptionsAllowed"] = status.get("disruptionsAllowed", 0) - 1 if left else 0

    def _end_pools(self, view: ClusterView) -> None:
        """A pool with our finalizer takes its claims along; a class waits until no claim names it."""
        for pool in view.pools:
            if pool.going and TERMINATION in pool.doc["metadata"].get("finalizers", ()):
                self._end_pool(view, pool)
        for found in view.classes:
            used = any(_class_of(claim) == found["metadata"]["name"] for claim in view.claims)
            if going(found) and not used and CLASS_TERMINATION in found["metadata"].get("finalizers", ()):
                path = f"{CLASSES}/{self._behaviour.version}/ec2nodeclasses/{found['metadata']['name']}"
                self._api.drop_finalizer(path, found, CLASS_TERMINATION)

    def _end_pool(self, view: ClusterView, pool: KarpenterObject) -> None:
        mine = [claim for claim in view.claims if (claim.of.pool, claim.pool_name) == (pool.of.pool, pool.name)]
        for claim in mine:
            if not claim.going:
                self._api.delete(f"{claim.of.claims_path}/{claim.name}", uid=claim.uid)
        if not mine and self._behaviour.finishes:
            self._api.drop_finalizer(f"{pool.of.pools_path}/{pool.name}", pool.doc, TERMINATION)


def taints(pool: KarpenterObject) -> list[Document] | None:
    """The taints that its new nodes get."""
    spec = pool.doc["spec"] if pool.of.pool == "Provisioner" else pool.doc["spec"].get("template", {}).get("spec", {})
    found: list[Document] | None = spec.get("taints")
    return found


def lifetime(pool: KarpenterObject) -> timedelta | None:
    """How old its nodes may become; None: as old as they like."""
    spec = pool.doc["spec"]
    if pool.of.pool == "Provisioner":
        told = spec.get("ttlSecondsUntilExpired")
        return None if told is None else timedelta(seconds=told)
    word = spec.get("template", {}).get("spec", {}).get("expireAfter") or spec.get("disruption", {}).get("expireAfter")
    if not word or word == "Never":
        return None
    return timedelta(**{{"h": "hours", "m": "minutes", "s": "seconds"}[word[-1]]: int(word[:-1])})


def digest(pool: KarpenterObject) -> str:
    """Of the fields whose change makes nodes drift."""
    spec = pool.doc["spec"]
    if pool.of.pool == "Provisioner":
        static = {key: spec.get(key) for key in PROVISIONER_STATIC}
    else:
        template = spec.get("template", {})
        inner = {key: value for key, value in template.get("spec", {}).items() if key not in _FREE}
        static = {"metadata": template.get("metadata"), "spec": inner}
    return hashlib.sha256(json.dumps(static, sort_keys=True).encode()).hexdigest()[:20]


_FREE = ("requirements", "expireAfter")


def _pinned(pod: Document) -> bool:
    marks = pod["metadata"].get("annotations", {})
    return any(marks.get(name) == "true" for name in PINNED)


def _held(view: ClusterView, pods: list[Document]) -> bool:
    """Whether a budget allows none of these pods to go now."""
    return any(one.get("status", {}).get("disruptionsAllowed", 0) <= 0 for one in _budgets(view, pods))


def _budgets(view: ClusterView, pods: list[Document]) -> list[Document]:
    """The budgets that any of these pods is under."""
    return [one for one in view.budgets if any(_under(one, pod) for pod in pods)]


def _under(budget: Document, pod: Document) -> bool:
    wants: dict[str, str] = budget["spec"]["selector"].get("matchLabels", {})
    labels: dict[str, str] = pod["metadata"].get("labels", {})
    return budget["metadata"]["namespace"] == pod["metadata"]["namespace"] and wants.items() <= labels.items()


def _class_of(claim: KarpenterObject) -> str:
    return str(claim.doc["spec"].get("nodeClassRef", {}).get("name", ""))

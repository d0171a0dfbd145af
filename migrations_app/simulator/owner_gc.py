"""Simulates the garbage collector: dependents are deleted after their owner; a foreground deletion waits for them."""

from collections.abc import Iterator

from migrations_app.manifests import JsonMap
from migrations_app.simulator.api import SimulatorApi
from migrations_app.simulator.cluster_state import ClusterState
from migrations_app.simulator.generations import ALPHA, NODES, GenerationNames, going, owners

FOREGROUND = "foregroundDeletion"


class OrphanCollector:
    """Deletes claims and nodes without an owner.

    Source: kubernetes/kubernetes:pkg/controller/garbagecollector/garbagecollector.go. An owner of a kind that is not
    served does not count as deleted.
    """

    def __init__(self, api: SimulatorApi) -> None:
        self._api = api
        self._passed_over: dict[str, None] = {}
        """Objects with an owner of a kind that is not served."""
        self._unserved: frozenset[str] = frozenset()
        self._asked: dict[str, set[str]] = {}
        """The dependents whose deletion was requested, by the uid of an owner that is deleted in the foreground."""

    def work(self, state: ClusterState, *, unserved: set[str]) -> None:
        for path, doc in list(_ending(state)):
            if FOREGROUND in doc["metadata"].get("finalizers", ()):
                self._foreground(state, path, owner=doc)
        uids, state.gone_owners = state.gone_owners, []
        new_paths, state.new_dependents = state.new_dependents, {}
        paths = {**new_paths, **{path: None for uid in uids for path in state.owned_by[uid]}}
        if self._passed_over and self._unserved != unserved:
            paths = {**self._passed_over, **paths}
            self._passed_over.clear()
        self._unserved = frozenset(unserved)
        lists = dict(_lists(state.current))
        for path in paths:
            self._collect(state, path, lists=lists)

    def _collect(self, state: ClusterState, path: str, *, lists: dict[str, str]) -> None:
        """Deletes the object if none of its owners exists."""
        doc = state.dependent(path)
        known_owners = [owner for owner in owners(doc) if owner["kind"] in lists] if doc is not None else []
        if doc is None or going(doc) or not known_owners:
            return
        if any(lists[reference["kind"]] in self._unserved for reference in known_owners):
            self._passed_over[path] = None
        elif not any(reference["uid"] in state.pools or reference["uid"] in state.claims for reference in known_owners):
            self._api.delete(path, uid=doc["metadata"]["uid"])

    def _foreground(self, state: ClusterState, path: str, *, owner: JsonMap) -> None:
        """Deletes the dependents first, in the foreground too; removes the owner's finalizer when none is left."""
        dependents = state.owned_by.get(owner["metadata"]["uid"])
        if not dependents:
            self._api.drop_finalizer(path, owner, finalizer=FOREGROUND)
            return
        requested = self._asked.setdefault(owner["metadata"]["uid"], set())
        if dependents.keys() <= requested:
            return
        for dependent_path in [dependent_path for dependent_path in dependents if dependent_path not in requested]:
            doc = state.dependent(dependent_path)
            policy = {"propagationPolicy": "Foreground"}
            if doc is None or going(doc) or self._api.delete(dependent_path, uid=doc["metadata"]["uid"], more=policy):
                requested.add(dependent_path)


def _ending(state: ClusterState) -> Iterator[tuple[str, JsonMap]]:
    yield from ((pool.path, pool.doc) for pool in state.pools.values() if pool.going)
    yield from ((karpenter.path, karpenter.doc) for karpenter in state.claims_ending.values())
    yield from ((f"{NODES}/{name}", node.doc) for name, node in state.nodes_ending.items())


def _lists(current: GenerationNames) -> Iterator[tuple[str, str]]:
    """Yields the kinds that own claims or nodes, with the path of their list."""
    for generation in (ALPHA, current):
        yield generation.pool, generation.pools_path
        yield generation.claim, generation.claims_path

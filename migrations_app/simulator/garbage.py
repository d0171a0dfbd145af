"""The garbage collector: dependents go with their owner, and a foreground deletion waits for them."""

from collections.abc import Iterator

from migrations_app.simulator.api import Document, SimulatorApi
from migrations_app.simulator.cluster_state import ClusterState
from migrations_app.simulator.generations import ALPHA, NODES, Generation, going, owners

FOREGROUND = "foregroundDeletion"


class OrphanCollector:
    """Looks after claims and nodes.

    Source: kubernetes/kubernetes:pkg/controller/garbagecollector/garbagecollector.go. An owner of a kind that is not
    served is not known to be gone.
    """

    def __init__(self, api: SimulatorApi) -> None:
        self._api = api
        self._passed_over: dict[str, None] = {}
        """Objects with an owner of a kind that is not served."""
        self._unserved: frozenset[str] = frozenset()
        self._asked: dict[str, set[str]] = {}
        """The dependents that were deleted, by the uid of an owner that is deleted in the foreground."""

    def work(self, state: ClusterState, *, unserved: set[str]) -> None:
        for path, doc in list(_ending(state)):
            if FOREGROUND in doc["metadata"].get("finalizers", ()):
                self._foreground(state, path, owner=doc)
        uids, state.gone_owners = state.gone_owners, []
        fresh, state.new_dependents = state.new_dependents, {}
        paths = {**fresh, **{path: None for uid in uids for path in state.owned_by[uid]}}
        if self._passed_over and self._unserved != unserved:
            paths = {**self._passed_over, **paths}
            self._passed_over.clear()
        self._unserved = frozenset(unserved)
        lists = dict(_lists(state.current))
        for path in paths:
            self._collect(state, path, lists=lists)

    def _collect(self, state: ClusterState, path: str, *, lists: dict[str, str]) -> None:
        """Deletes the object if none of its owners is there."""
        doc = state.dependent(path)
        known = [owner for owner in owners(doc) if owner["kind"] in lists] if doc is not None else []
        if doc is None or going(doc) or not known:
            return
        if any(lists[reference["kind"]] in self._unserved for reference in known):
            self._passed_over[path] = None
        elif not any(reference["uid"] in state.pools or reference["uid"] in state.claims for reference in known):
            self._api.delete(path, uid=doc["metadata"]["uid"])

    def _foreground(self, state: ClusterState, path: str, *, owner: Document) -> None:
        """Dependents first, in the foreground as well; the owner goes when none is left."""
        left = state.owned_by.get(owner["metadata"]["uid"])
        if not left:
            self._api.drop_finalizer(path, owner, finalizer=FOREGROUND)
            return
        asked = self._asked.setdefault(owner["metadata"]["uid"], set())
        if left.keys() <= asked:
            return
        for place in [one for one in left if one not in asked]:
            doc = state.dependent(place)
            policy = {"propagationPolicy": "Foreground"}
            if doc is None or going(doc) or self._api.delete(place, uid=doc["metadata"]["uid"], more=policy):
                asked.add(place)


def _ending(state: ClusterState) -> Iterator[tuple[str, Document]]:
    yield from ((pool.path, pool.doc) for pool in state.pools.values() if pool.going)
    yield from ((karpenter.path, karpenter.doc) for karpenter in state.claims_ending.values())
    yield from ((f"{NODES}/{name}", node.doc) for name, node in state.nodes_ending.items())


def _lists(current: Generation) -> Iterator[tuple[str, str]]:
    """The kinds that own claims or nodes, with the path of their list."""
    for of in (ALPHA, current):
        yield of.pool, of.pools_path
        yield of.claim, of.claims_path

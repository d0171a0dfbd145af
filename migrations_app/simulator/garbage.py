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
        self._looked_at = -1

    def work(self, state: ClusterState, *, unserved: set[str]) -> None:
        for path, doc in list(_ending(state)):
            if FOREGROUND in doc["metadata"].get("finalizers", ()):
                self._foreground(state, path, owner=doc)
        if self._looked_at != state.owners_gone:
            looked_at = state.owners_gone
            if self._collect(state, unserved=unserved):
                self._looked_at = looked_at

    def _collect(self, state: ClusterState, *, unserved: set[str]) -> bool:
        """Whether nothing was passed over."""
        lists, whole = dict(_lists(state.current)), True
        for path, doc in list(_dependents(state)):
            known = [one for one in owners(doc) if one["kind"] in lists]
            if going(doc) or not known:
                continue
            if any(lists[one["kind"]] in unserved for one in known):
                whole = False
            elif not any(one["uid"] in state.pools or one["uid"] in state.claims for one in known):
                self._api.delete(path, uid=doc["metadata"]["uid"])
        return whole

    def _foreground(self, state: ClusterState, path: str, *, owner: Document) -> None:
        """Dependents first, in the foreground as well; the owner goes when none is left."""
        uid = owner["metadata"]["uid"]
        left = [(place, doc) for place, doc in _dependents(state) if any(one["uid"] == uid for one in owners(doc))]
        for place, doc in left:
            if not going(doc):
                policy = {"propagationPolicy": "Foreground"}
                self._api.delete(place, uid=doc["metadata"]["uid"], more=policy)
        if not left:
            self._api.drop_finalizer(path, owner, finalizer=FOREGROUND)


def _ending(state: ClusterState) -> Iterator[tuple[str, Document]]:
    yield from ((one.path, one.doc) for one in state.pools.values() if one.going)
    yield from ((one.path, one.doc) for one in state.claims_ending.values())
    yield from ((f"{NODES}/{name}", node.doc) for name, node in state.nodes_ending.items())


def _dependents(state: ClusterState) -> Iterator[tuple[str, Document]]:
    yield from ((one.path, one.doc) for one in state.claims.values())
    yield from ((f"{NODES}/{name}", node.doc) for name, node in state.nodes.items())


def _lists(current: Generation) -> Iterator[tuple[str, str]]:
    """The kinds that own claims or nodes, with the path of their list."""
    for of in (ALPHA, current):
        yield of.pool, of.pools_path
        yield of.claim, of.claims_path

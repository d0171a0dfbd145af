"""The garbage collector: dependents go with their owner, and a foreground deletion waits for them."""

from migrations_app.simulator.api import Document, SimulatorApi
from migrations_app.simulator.cluster_view import ClusterView, going, owners

FOREGROUND = "foregroundDeletion"
PLURALS = {
    "Provisioner": "provisioners",
    "NodePool": "nodepools",
    "Machine": "machines",
    "NodeClaim": "nodeclaims",
}


class GarbageCollector:
    """One pass a tick."""

    def __init__(self, api: SimulatorApi) -> None:
        self._api = api

    def work(self, view: ClusterView) -> None:
        objects = [(f"{one.of.pools_path}/{one.name}", one.doc) for one in view.pools]
        for path, doc in [*objects, *view.addressed()]:
            if going(doc) and FOREGROUND in doc["metadata"].get("finalizers", ()):
                self._foreground(view, path, doc)
        living = {doc["metadata"]["uid"] for _, doc in [*objects, *view.addressed()]}
        for path, doc in view.addressed():
            if not going(doc) and self._orphaned(view, doc, living):
                self._api.delete(path, uid=doc["metadata"]["uid"])

    def _foreground(self, view: ClusterView, path: str, owner: Document) -> None:
        """Dependents first, in the foreground as well; the owner goes when none is left."""
        left = view.owned_by(owner["metadata"]["uid"])
        for place, doc in left:
            if not going(doc):
                policy = {"propagationPolicy": "Foreground"}
                self._api.delete(place, uid=doc["metadata"]["uid"], more=policy)
        if not left:
            self._api.drop_finalizer(path, owner, FOREGROUND)

    def _orphaned(self, view: ClusterView, doc: Document, living: set[str]) -> bool:
        """All owners of kinds that are served are gone; of a kind that is not served nobody can tell."""
        known = [one for one in owners(doc) if one["kind"] in PLURALS]
        if not known or any(PLURALS[one["kind"]] in view.unserved for one in known):
            return False
        return not any(one["uid"] in living for one in known)

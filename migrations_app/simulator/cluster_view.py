"""The cluster as it was read at one moment; a controller that changes something changes it here, too."""

from dataclasses import dataclass, field
from typing import Any

from migrations_app.simulator.api import Document, SimulatorApi

CORE, NODES, PODS = "/apis/karpenter.sh", "/api/v1/nodes", "/api/v1/pods"
CLASSES = "/apis/karpenter.k8s.aws"
TERMINATION = "karpenter.sh/termination"
CLASS_TERMINATION = "karpenter.k8s.aws/termination"


@dataclass(frozen=True, slots=True)
class Generation:
    """The words of one generation of Karpenter's kinds."""

    version: str
    pools: str
    pool: str
    claims: str
    claim: str
    label: str
    hash: str

    @property
    def pools_path(self) -> str:
        return f"{CORE}/{self.version}/{self.pools}"

    @property
    def claims_path(self) -> str:
        return f"{CORE}/{self.version}/{self.claims}"

    @property
    def api_version(self) -> str:
        return f"karpenter.sh/{self.version}"


ALPHA = Generation(
    "v1alpha5", "provisioners", "Provisioner", "machines", "Machine",
    label="karpenter.sh/provisioner-name", hash="karpenter.sh/provisioner-hash",
)  # fmt: skip


def current(version: str) -> Generation:
    """The kinds since 0.32, in this version."""
    return Generation(
        version, "nodepools", "NodePool", "nodeclaims", "NodeClaim",
        label="karpenter.sh/nodepool", hash="karpenter.sh/nodepool-hash",
    )  # fmt: skip


@dataclass(slots=True)
class KarpenterObject:
    """A pool or a claim with the generation it is of."""

    of: Generation
    doc: Document

    @property
    def name(self) -> str:
        return str(self.doc["metadata"]["name"])

    @property
    def uid(self) -> str:
        return str(self.doc["metadata"]["uid"])

    @property
    def going(self) -> bool:
        return "deletionTimestamp" in self.doc["metadata"]

    @property
    def node_name(self) -> str:
        return str(self.doc.get("status", {}).get("nodeName") or "")

    @property
    def pool_name(self) -> str:
        return str(self.doc["metadata"].get("labels", {}).get(self.of.label, ""))


@dataclass(slots=True)
class ClusterView:
    """Everything of one look. `claims` and `pools` hold what is served only; `unserved` names the other plurals."""

    pods: list[Document]
    nodes: dict[str, Document]
    claims: list[KarpenterObject]
    pools: list[KarpenterObject]
    classes: list[Document]
    replicas: list[Document]
    budgets: list[Document]
    unserved: set[str] = field(default_factory=set)

    def pods_on(self, node: str) -> list[Document]:
        return [pod for pod in self.pods if pod["spec"].get("nodeName") == node]

    def claim_of(self, node: Document) -> KarpenterObject | None:
        name = node["metadata"]["name"]
        return next((claim for claim in self.claims if claim.node_name == name), None)

    def owned_by(self, uid: str) -> list[tuple[str, Document]]:
        """(path, object) of everything that names this owner."""
        return [(path, doc) for path, doc in self.addressed() if any(one["uid"] == uid for one in owners(doc))]

    def addressed(self) -> list[tuple[str, Document]]:
        """Every dependent that the collector looks after, with its path."""
        found = [(f"{found.of.claims_path}/{found.name}", found.doc) for found in self.claims]
        found += [(f"{NODES}/{name}", node) for name, node in self.nodes.items()]
        return found


def read_cluster(api: SimulatorApi, version: str) -> ClusterView:
    """One look. Owners are read after what they own: an owner that is missed then is really gone."""
    pods = api.items(PODS) or []
    nodes = {node["metadata"]["name"]: node for node in api.items(NODES) or ()}
    generations = (ALPHA, current(version))
    view = ClusterView(pods, nodes, [], [], [], [], [])
    for of in generations:
        view.claims += _listed(api, of, of.claims, view)
    for of in generations:
        view.pools += _listed(api, of, of.pools, view)
    view.classes = api.items(f"{CLASSES}/{version}/ec2nodeclasses") or []
    view.replicas = api.items("/apis/apps/v1/replicasets") or []
    view.budgets = api.items("/apis/policy/v1beta1/poddisruptionbudgets") or []
    return view


def _listed(api: SimulatorApi, of: Generation, plural: str, view: ClusterView) -> list[KarpenterObject]:
    found = api.items(f"{CORE}/{of.version}/{plural}")
    if found is None:
        view.unserved.add(plural)
    return [KarpenterObject(of, doc) for doc in found or ()]


def owners(doc: Document) -> list[Document]:
    return list(doc["metadata"].get("ownerReferences", ()))


def going(doc: Document) -> bool:
    return "deletionTimestamp" in doc["metadata"]


def is_ready(doc: Document) -> bool:
    """Whether a node or a pod says that it is."""
    conditions = doc.get("status", {}).get("conditions") or ()
    return any(one["type"] == "Ready" and one["status"] == "True" for one in conditions)


def tolerates(pod: Document, taints: list[Any] | None) -> bool:
    """Whether nothing among the taints keeps the pod off."""
    tolerations = pod["spec"].get("tolerations") or ()
    hard = [taint for taint in taints or () if taint.get("effect") != "PreferNoSchedule"]
    return all(any(_tolerated(taint, one) for one in tolerations) for taint in hard)


def _tolerated(taint: Document, toleration: Document) -> bool:
    if toleration.get("effect") not in (None, "", taint.get("effect")):
        return False
    if toleration.get("operator") == "Exists":
        return toleration.get("key") in (None, "", taint["key"])
    same = toleration.get("key") == taint["key"]
    return same and (toleration.get("value") or "") == (taint.get("value") or "")


def stays_with_node(pod: Document) -> bool:
    """Pods of DaemonSets and of the node itself are not moved."""
    return any(one["kind"] in ("DaemonSet", "Node") for one in owners(pod))

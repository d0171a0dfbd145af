"""The names of Karpenter's kinds in each generation, and the paths of all lists that the simulator reads."""

from dataclasses import dataclass
from datetime import datetime

from migrations_app.karpenter import labels as keys
from migrations_app.manifests import JsonMap

CORE, NODES, PODS = "/apis/karpenter.sh", "/api/v1/nodes", "/api/v1/pods"
CLASSES = "/apis/karpenter.k8s.aws"
REPLICA_SETS, STATEFUL_SETS, DAEMON_SETS = (
    f"/apis/apps/v1/{plural}" for plural in ("replicasets", "statefulsets", "daemonsets")
)
WORKLOADS = {REPLICA_SETS: "ReplicaSet", STATEFUL_SETS: "StatefulSet", DAEMON_SETS: "DaemonSet"}
BUDGETS = ("/apis/policy/v1beta1/poddisruptionbudgets", "/apis/policy/v1/poddisruptionbudgets")
TERMINATION = keys.TERMINATION_FINALIZER
CLASS_TERMINATION = keys.NODE_CLASS_FINALIZER


@dataclass(frozen=True, slots=True)
class GenerationNames:
    """The names of one generation's kinds, labels and annotations."""

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


ALPHA = GenerationNames(
    "v1alpha5", "provisioners", "Provisioner", "machines", "Machine",
    label="karpenter.sh/provisioner-name", hash="karpenter.sh/provisioner-hash",
)  # fmt: skip


def current(version: str) -> GenerationNames:
    """Returns the kinds that exist since 0.32, in this API version."""
    return GenerationNames(
        version, "nodepools", "NodePool", "nodeclaims", "NodeClaim",
        label="karpenter.sh/nodepool", hash="karpenter.sh/nodepool-hash",
    )  # fmt: skip


@dataclass(slots=True)
class KarpenterObject:
    """A pool or claim with its generation."""

    of: GenerationNames
    doc: JsonMap

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
    def path(self) -> str:
        lists = self.of.pools_path if self.doc["kind"] == self.of.pool else self.of.claims_path
        return f"{lists}/{self.name}"

    @property
    def node_name(self) -> str:
        return str(self.doc.get("status", {}).get("nodeName") or "")

    @property
    def pool_key(self) -> tuple[str, str]:
        """Kind and name of the pool: the object itself, or the pool of a claim."""
        return self.of.pool, self.name if self.doc["kind"] == self.of.pool else self.pool_name

    @property
    def pool_name(self) -> str:
        return str(self.doc["metadata"].get("labels", {}).get(self.of.label, ""))


def classes_path(version: str) -> str:
    """Returns the path of the list of node classes in this version."""
    return f"{CLASSES}/{version}/ec2nodeclasses"


def owners(doc: JsonMap) -> list[JsonMap]:
    """Returns the owner references of an object."""
    return list(doc["metadata"].get("ownerReferences") or ())


def going(doc: JsonMap) -> bool:
    """Returns whether the object is being deleted."""
    return "deletionTimestamp" in doc["metadata"]


def is_ready(doc: JsonMap) -> bool:
    """Returns whether the condition Ready of a node or pod is True."""
    conditions = doc.get("status", {}).get("conditions") or ()
    return any(condition["type"] == "Ready" and condition["status"] == "True" for condition in conditions)


def timestamp(doc: JsonMap, field: str, *, now: float) -> float:
    """Returns that time of the metadata in seconds since the epoch; `now` if it is no time or in the future.

    Clocks of servers differ, so that an object could otherwise have a negative age.
    """
    try:
        moment = datetime.fromisoformat(str(doc["metadata"].get(field)))
    except ValueError:
        return now
    return min(now, moment.timestamp()) if moment.tzinfo is not None else now

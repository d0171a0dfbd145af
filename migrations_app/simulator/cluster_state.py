"""The cluster as the simulator knows it: kept up to date change by change, with indexes for what is under way.

A controller that changes something says so here, too.
"""

from bisect import bisect_left, insort
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from typing import TypeVar

from migrations_app.karpenter import labels as keys
from migrations_app.simulator.api import Document
from migrations_app.simulator.changes import ObjectChange
from migrations_app.simulator.generations import (
    ALPHA,
    BUDGETS,
    NODES,
    PODS,
    WORKLOADS,
    Generation,
    KarpenterObject,
    classes_path,
    current,
    going,
    is_ready,
)
from migrations_app.simulator.instance_sizes import TYPE, ZONE
from migrations_app.simulator.pod_shapes import PodShape, PodShapes, hard
from migrations_app.simulator.resources import ResourceAmounts, amounts

OVER = ("Succeeded", "Failed")
PoolKey = tuple[str, str]
"""Kind and name of a pool."""


@dataclass(slots=True, eq=False)
class PodState:
    """One pod. `node` is empty while it waits for a place."""

    namespace: str
    name: str
    uid: str
    shape: PodShape
    node: str = ""
    ready: bool = False
    ending: bool = False

    @property
    def path(self) -> str:
        return f"/api/v1/namespaces/{self.namespace}/pods/{self.name}"

    @property
    def document(self) -> Document:
        """As much of it as an eviction needs."""
        return {"metadata": {"namespace": self.namespace, "name": self.name, "uid": self.uid}}


@dataclass(slots=True, eq=False)
class NodeState:
    """One node; `used` is what the pods on it ask for."""

    doc: Document
    allocatable: ResourceAmounts
    used: ResourceAmounts = field(default=ResourceAmounts())
    pods: dict[str, PodState] = field(default_factory=dict)
    rank: tuple[float, str] | None = None
    """Its place among the nodes that take pods; None if it takes none."""

    @property
    def name(self) -> str:
        return str(self.doc["metadata"]["name"])

    @property
    def labels(self) -> dict[str, str]:
        found: dict[str, str] = self.doc["metadata"].get("labels") or {}
        return found

    @property
    def taints(self) -> list[Document]:
        return self.doc.get("spec", {}).get("taints") or []

    @property
    def zone(self) -> str:
        return self.labels.get(ZONE, "")

    @property
    def size(self) -> str:
        return self.labels.get(TYPE, "")

    @property
    def group(self) -> tuple[str, str, str]:
        """Pool, size and zone; the pool is empty for a node that Karpenter does not own."""
        found = self.labels
        old = found.get(ALPHA.label)
        pool = f"{ALPHA.pool}/{old}" if old else found.get(keys.NODEPOOL, "")
        return (pool if old or not pool else f"NodePool/{pool}", self.size, self.zone)

    @property
    def ending(self) -> bool:
        return going(self.doc)

    @property
    def open(self) -> bool:
        return is_ready(self.doc) and not self.ending and not self.doc.get("spec", {}).get("unschedulable")

    @property
    def free(self) -> ResourceAmounts:
        return self.allocatable.minus(self.used)


@dataclass(slots=True, eq=False)
class ShapeCount:
    """How many pods of a shape there are, and how many of them are Ready and stay."""

    total: int = 0
    healthy: int = 0


class ClusterState:
    """Everything by uid, nodes by name, and sets of what is under way."""

    def __init__(self, version: str, *, unknown_size: ResourceAmounts) -> None:
        self.current: Generation = current(version)
        self.unknown_size = unknown_size
        self.shapes = PodShapes()
        self.pods: dict[str, PodState] = {}
        self.nodes: dict[str, NodeState] = {}
        self.claims: dict[str, KarpenterObject] = {}
        self.pools: dict[str, KarpenterObject] = {}
        self.classes: dict[str, Document] = {}
        self.workloads: dict[str, Document] = {}
        self.budgets: dict[str, Document] = {}
        self.waiting: dict[str, PodState] = {}
        self.starting: dict[str, PodState] = {}
        self.ending: dict[str, PodState] = {}
        self.pods_of: dict[str, dict[str, PodState]] = defaultdict(dict)
        self.counts: dict[PodShape, ShapeCount] = {}
        self.ranked: list[tuple[float, str]] = []
        """The nodes that take pods, the emptiest first."""
        self.claim_on: dict[str, str] = {}
        self.claims_ending: dict[str, KarpenterObject] = {}
        self.nodes_ending: dict[str, NodeState] = {}
        self.claim_counts: Counter[PoolKey] = Counter()
        """Claims by kind and name of their pool."""
        self.changed_claims: set[str] = set()
        self.changed_pools = True
        self.empty_nodes: dict[str, None] = {}
        """Nodes without a pod that would have to move."""
        self._moving_on: Counter[str] = Counter()
        self.owners_gone = 0
        """Grows with every pool and claim that goes."""
        self.ready_of: Counter[str] = Counter()
        """Ready pods that stay, by the uid of their controller."""
        self.staying_of: Counter[str] = Counter()
        """Pods that are not being deleted, by the uid of their controller."""
        self.touched_workloads: set[str] = set()
        """The controllers of which a pod changed, for measurements."""
        self.node_counts: Counter[tuple[str, str, str]] = Counter()
        """Nodes by pool, size and zone."""
        self.waiting_changes = 0
        """Grows with every pod that begins or ends to wait for a place."""
        self.changed_nodes: dict[str, None] = {}
        self.pod_changes = 0
        """Grows with every change of a pod or a budget."""
        self.node_changes = 0
        """Grows with every node that comes, goes, or changes in what makes it take pods."""
        self.room_changes = 0
        """Grows whenever a pod that found no place might find one now."""
        self.workload_changes = 0
        self.changed_workloads: set[str] = set()
        self.changed_shapes: set[PodShape] = set()
        self.changed_budgets: set[str] = set()
        self._left_on: dict[str, dict[str, PodState]] = {}

    @property
    def paths(self) -> tuple[str, ...]:
        """The lists to read. Owners come after what they own: an owner that is missed then is really gone."""
        generations = (ALPHA, self.current)
        claims, pools = (one.claims_path for one in generations), (one.pools_path for one in generations)
        return (PODS, NODES, *claims, *pools, classes_path(self.current.version), *WORKLOADS, *BUDGETS)

    def apply(self, change: ObjectChange) -> None:
        """Takes a change in."""
        doc, path, uid = change.document, change.path, str(change.document["metadata"]["uid"])
        if path == PODS:
            self.put_pod(doc, gone=change.gone)
        elif path == NODES:
            self.put_node(doc, gone=change.gone)
        elif path in BUDGETS:
            self.changed_budgets.add(uid)
            self.pod_changes += 1
            if not change.gone or self.budgets.get(uid, {}).get("apiVersion") == _group_version(path):
                _put(self.budgets, uid, value=doc | {"apiVersion": _group_version(path)}, gone=change.gone)
        elif path in WORKLOADS:
            _put(self.workloads, uid, value=doc | {"kind": WORKLOADS[path]}, gone=change.gone)
            self.workload_changes += 1
            self.changed_workloads.add(uid)
            self.changed_budgets |= self.budgets.keys()
        elif path == classes_path(self.current.version):
            _put(self.classes, uid, value=doc, gone=change.gone)
        else:
            self._put_karpenter(path, doc, gone=change.gone)

    def _put_karpenter(self, path: str, doc: Document, *, gone: bool) -> None:
        of = ALPHA if path in (ALPHA.claims_path, ALPHA.pools_path) else self.current
        if path == of.pools_path:
            found = KarpenterObject(of, doc | {"kind": of.pool})
            _put(self.pools, found.uid, value=found, gone=gone)
            self.owners_gone += gone
            self.changed_pools = True
        else:
            self.put_claim(KarpenterObject(of, doc | {"kind": of.claim}), gone=gone)

    def put_claim(self, claim: KarpenterObject, *, gone: bool = False) -> None:
        before = self.claims.get(claim.uid)
        self.changed_claims.add(claim.uid)
        self.claim_counts[claim.pool_key] += (not gone) - (before is not None)
        if before is not None and self.claim_on.get(before.node_name) == claim.uid:
            del self.claim_on[before.node_name]
        _put(self.claims, claim.uid, value=claim, gone=gone)
        _put(self.claims_ending, claim.uid, value=claim, gone=gone or not claim.going)
        self.owners_gone += gone
        if not gone and claim.node_name:
            self.claim_on[claim.node_name] = claim.uid

    def claim_of(self, node: str) -> KarpenterObject | None:
        """The claim of the node of that name."""
        return self.claims.get(self.claim_on.get(node, ""))

    def put_node(self, doc: Document, *, gone: bool = False) -> None:
        name = str(doc["metadata"]["name"])
        before = self.nodes.get(name)
        if gone:
            if before is not None and before.doc["metadata"]["uid"] == doc["metadata"]["uid"]:
                self._rank(before, None)
                self.node_counts[before.group] -= 1
                self._left_on[name] = before.pods
                self.nodes_ending.pop(name, None)
                self.empty_nodes.pop(name, None)
                del self.nodes[name]
                self.node_changes += 1
            return
        found = amounts(doc.get("status", {}).get("allocatable"), default=self.unknown_size)
        node = before or NodeState(doc, found, pods=self._left_on.pop(name, {}))
        if before is None:
            for pod in node.pods.values():
                node.used = node.used.plus(pod.shape.requests)
            self.nodes[name] = node
        else:
            self.node_counts[node.group] -= 1
        if before is None or _placing(before.doc) != _placing(doc):
            self.room_changes += 1
            self.node_changes += 1
            self.changed_nodes[name] = None
        node.doc, node.allocatable = doc, found
        self.node_counts[node.group] += 1
        if not self._moving_on[name]:
            self.empty_nodes[name] = None
        _put(self.nodes_ending, name, value=node, gone=not node.ending)
        self._rank(node, _emptiness(node) if node.open else None)

    def put_pod(self, doc: Document, *, gone: bool = False) -> None:
        uid = str(doc["metadata"]["uid"])
        before = self.pods.pop(uid, None)
        if before is not None:
            self._unindex(before)
        if gone or doc.get("status", {}).get("phase") in OVER:
            return
        metadata = doc["metadata"]
        pod = PodState(
            namespace=metadata["namespace"],
            name=metadata["name"],
            uid=uid,
            shape=self.shapes.of(doc),
            node=doc["spec"].get("nodeName") or "",
            ready=is_ready(doc),
            ending=going(doc),
        )
        self._index(pod)

    def update(self, pod: PodState, *, node: str = "", ready: bool = False, ending: bool = False) -> None:
        """Notes that the pod was placed, became Ready or is being deleted now."""
        if self.pods.pop(pod.uid, None) is None:
            return
        self._unindex(pod)
        pod.node, pod.ready, pod.ending = node or pod.node, ready or pod.ready, ending or pod.ending
        self._index(pod)

    def remove_pod(self, pod: PodState) -> None:
        """Notes that the pod is gone."""
        if self.pods.pop(pod.uid, None) is not None:
            self._unindex(pod)

    def _index(self, pod: PodState) -> None:
        self.pods[pod.uid] = pod
        self.pods_of[pod.shape.owner][pod.uid] = pod
        count = self.counts.setdefault(pod.shape, ShapeCount())
        count.total += 1
        self.staying_of[pod.shape.owner] += not pod.ending
        healthy = pod.ready and not pod.ending
        count.healthy += healthy
        self.ready_of[pod.shape.owner] += healthy
        if pod.ending:
            self.ending[pod.uid] = pod
        elif not pod.node:
            self.waiting[pod.uid] = pod
            self.waiting_changes += 1
        elif not pod.ready:
            self.starting[pod.uid] = pod
        self._load(pod, 1)
        self._touched(pod)

    def _unindex(self, pod: PodState) -> None:
        self.waiting_changes += pod.uid in self.waiting
        for group in (self.ending, self.waiting, self.starting, self.pods_of[pod.shape.owner]):
            group.pop(pod.uid, None)
        count = self.counts[pod.shape]
        count.total -= 1
        self.staying_of[pod.shape.owner] -= not pod.ending
        healthy = pod.ready and not pod.ending
        count.healthy -= healthy
        self.ready_of[pod.shape.owner] -= healthy
        self._load(pod, -1)
        self._touched(pod)

    def _touched(self, pod: PodState) -> None:
        self.pod_changes += 1
        self.changed_workloads.add(pod.shape.owner)
        self.touched_workloads.add(pod.shape.owner)
        self.changed_shapes.add(pod.shape)

    def _load(self, pod: PodState, times: int) -> None:
        if not pod.node:
            return
        node = self.nodes.get(pod.node)
        pods = node.pods if node is not None else self._left_on.setdefault(pod.node, {})
        if times > 0:
            pods[pod.uid] = pod
        else:
            pods.pop(pod.uid, None)
        if not pod.shape.stays:
            self._moving_on[pod.node] += times
            if self._moving_on[pod.node] or node is None:
                self.empty_nodes.pop(pod.node, None)
            else:
                self.empty_nodes[pod.node] = None
        if node is None:
            return
        node.used = node.used.plus(pod.shape.requests, times)
        if node.rank is not None:
            self._rank(node, _emptiness(node))
            self.room_changes += times < 0

    def _rank(self, node: NodeState, rank: tuple[float, str] | None) -> None:
        if node.rank == rank:
            return
        if node.rank is not None:
            del self.ranked[bisect_left(self.ranked, node.rank)]
        if rank is not None:
            insort(self.ranked, rank)
        node.rank = rank

    def room_for(self, shape: PodShape) -> NodeState | None:
        """The emptiest node that takes a pod of this shape, as the scheduler's default score prefers it."""
        for _, name in self.ranked:
            node = self.nodes[name]
            if node.free.holds(shape.requests) and shape.tolerates(node.taints) and shape.selects(node.labels):
                return node
        return None


T = TypeVar("T")


def _put(found: dict[str, T], uid: str, *, value: T, gone: bool) -> None:
    if gone:
        found.pop(uid, None)
    else:
        found[uid] = value


def _group_version(path: str) -> str:
    return "/".join(path.split("/")[2:4])


def _placing(doc: Document) -> tuple[object, ...]:
    """What of a node decides whether it takes a pod, besides the room on it."""
    spec, found = doc.get("spec", {}), doc["metadata"].get("labels")
    return is_ready(doc), going(doc), spec.get("unschedulable"), hard(spec.get("taints") or ()), found


def _emptiness(node: NodeState) -> tuple[float, str]:
    """The share of the node that is in use, and its name.

    Source: kubernetes/kubernetes:pkg/scheduler/framework/plugins/noderesources/least_allocated.go
    """
    pairs = ((node.used.cpu, node.allocatable.cpu), (node.used.memory, node.allocatable.memory))
    shares = [used / whole for used, whole in pairs if whole > 0]
    pods = node.used.pods / node.allocatable.pods if node.allocatable.pods else 1.0
    return sum(shares) / len(shares) + pods / 1000 if shares else pods, node.name

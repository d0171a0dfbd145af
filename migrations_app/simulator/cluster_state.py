"""Holds the objects of the cluster in memory, updated change by change, with indexes of what is in progress.

A controller that changes an object also updates it here.
"""

from collections import Counter, defaultdict
from typing import TypeVar

from migrations_app.manifests import JsonMap
from migrations_app.simulator.changes import ObjectChange
from migrations_app.simulator.generations import (
    ALPHA,
    BUDGETS,
    NODES,
    PODS,
    WORKLOADS,
    GenerationNames,
    KarpenterObject,
    classes_path,
    current,
    going,
    is_ready,
    owners,
)
from migrations_app.simulator.placement.domains import DomainCounts
from migrations_app.simulator.placement.room import RoomIndex
from migrations_app.simulator.placement.states import NodeState, PodState, ShapeCount
from migrations_app.simulator.pod_shapes import PodShape, PodShapes
from migrations_app.simulator.resources import ResourceAmounts, amounts

OVER = ("Succeeded", "Failed")
PoolKey = tuple[str, str]
"""Kind and name of a pool."""


class ClusterState:
    """All objects by uid, nodes by name, and indexes of what is in progress."""

    def __init__(self, version: str, *, unknown_size: ResourceAmounts) -> None:
        self.current: GenerationNames = current(version)
        self.unknown_size = unknown_size
        self.shapes = PodShapes()
        self.pods: dict[str, PodState] = {}
        self.nodes: dict[str, NodeState] = {}
        self.claims: dict[str, KarpenterObject] = {}
        self.pools: dict[str, KarpenterObject] = {}
        self.classes: dict[str, JsonMap] = {}
        self.workloads: dict[str, JsonMap] = {}
        self.budgets: dict[str, JsonMap] = {}
        self.waiting: dict[str, PodState] = {}
        self.starting: dict[str, PodState] = {}
        self.ending: dict[str, PodState] = {}
        self.new_starting: dict[str, PodState] = {}
        self.new_ending: dict[str, PodState] = {}
        """Pods that were placed, or whose deletion began, since the last pass of the kubelets."""
        self.pods_of: dict[str, dict[str, PodState]] = defaultdict(dict)
        self.counts: dict[PodShape, ShapeCount] = {}
        self.room = RoomIndex()
        self.domains = DomainCounts(self.nodes)
        self._learnt: set[PodShape] = set()
        self.claim_on: dict[str, str] = {}
        self.claims_ending: dict[str, KarpenterObject] = {}
        self.nodes_ending: dict[str, NodeState] = {}
        self.claim_counts: Counter[PoolKey] = Counter()
        """Claims by kind and name of their pool."""
        self.changed_claims: set[str] = set()
        self.changed_pools = True
        self.empty_nodes: dict[str, None] = {}
        """Nodes without pods that have to move before the node can go."""
        self.reloaded_nodes: dict[str, None] = {}
        """Nodes that gained or lost such a pod since the last pass of the disruption controller."""
        self._moving_on: Counter[str] = Counter()
        self.owned_by: dict[str, dict[str, None]] = defaultdict(dict)
        """The paths of claims and nodes by the uid of an owner."""
        self.gone_owners: list[str] = []
        """The uids of deleted pools and claims, for the garbage collector."""
        self.new_dependents: dict[str, None] = {}
        """The paths of new claims and nodes, for the garbage collector."""
        self.daemon_sets: dict[str, JsonMap] = {}
        self.pod_names: dict[tuple[str, str], str] = {}
        """The uids of pods by namespace and name."""
        self.ready_of: Counter[str] = Counter()
        """Ready pods that are not being deleted, by the uid of their controller."""
        self.staying_of: Counter[str] = Counter()
        """Pods that are not being deleted, by the uid of their controller."""
        self.touched_workloads: set[str] = set()
        """The uids of controllers with a changed pod, for measurements."""
        self.node_counts: Counter[tuple[str, str, str]] = Counter()
        """Nodes by pool, size and zone."""
        self.capacities: dict[str, ResourceAmounts] = {}
        """The sum of the nodes' capacity, by kind and name of the pool."""
        self.claim_uids: dict[str, str] = {}
        """The uids of claims by path."""
        self._placed_at = (-1, -1, -1)
        self._left_on: dict[str, dict[str, PodState]] = {}
        self._begin_changes()

    def _begin_changes(self) -> None:
        """Resets what changed since the last pass of the controllers."""
        self.waiting_changes = 0
        """Counts how often a pod began or ended to wait for a node."""
        self.changed_nodes: dict[str, None] = {}
        self.pod_changes = 0
        """Counts changes of pods and budgets."""
        self.node_changes = 0
        """Counts new and deleted nodes, and changes that decide which pods a node takes."""
        self.workload_changes = 0
        self.changed_workloads: set[str] = set()
        self.changed_shapes: set[PodShape] = set()
        self.changed_budgets: set[str] = set()

    @property
    def paths(self) -> tuple[str, ...]:
        """The lists to read. Owners come after their dependents, so that an owner that is not found was really
        deleted."""
        generations = (ALPHA, self.current)
        claims, pools = (
            (generation.claims_path for generation in generations),
            (generation.pools_path for generation in generations),
        )
        return (PODS, NODES, *claims, *pools, classes_path(self.current.version), *WORKLOADS, *BUDGETS)

    def apply(self, change: ObjectChange) -> None:
        """Updates the state with a change."""
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
            workload = doc | {"kind": WORKLOADS[path]}
            _put(self.workloads, uid, value=workload, gone=change.gone)
            if workload["kind"] == "DaemonSet":
                _put(self.daemon_sets, uid, value=workload, gone=change.gone)
            self.workload_changes += 1
            self.changed_workloads.add(uid)
            self.changed_budgets |= self.budgets.keys()
        elif path == classes_path(self.current.version):
            _put(self.classes, uid, value=doc, gone=change.gone)
        else:
            self._put_karpenter(path, doc, gone=change.gone)

    def _put_karpenter(self, path: str, doc: JsonMap, *, gone: bool) -> None:
        generation = ALPHA if path in (ALPHA.claims_path, ALPHA.pools_path) else self.current
        if path == generation.pools_path:
            pool = KarpenterObject(generation, doc | {"kind": generation.pool})
            _put(self.pools, pool.uid, value=pool, gone=gone)
            self._owner(pool.uid, gone=gone)
            self.changed_pools = True
        else:
            self.put_claim(KarpenterObject(generation, doc | {"kind": generation.claim}), gone=gone)

    def put_claim(self, claim: KarpenterObject, *, gone: bool = False) -> None:
        before = self.claims.get(claim.uid)
        self.changed_claims.add(claim.uid)
        self.claim_counts[claim.pool_key] += (not gone) - (before is not None)
        if before is not None and self.claim_on.get(before.node_name) == claim.uid:
            del self.claim_on[before.node_name]
        _put(self.claims, claim.uid, value=claim, gone=gone)
        if not gone:
            self.claim_uids[claim.path] = claim.uid
        elif self.claim_uids.get(claim.path) == claim.uid:
            del self.claim_uids[claim.path]
        _put(self.claims_ending, claim.uid, value=claim, gone=gone or not claim.going)
        self._owner(claim.uid, gone=gone)
        self._dependent(claim.path, claim.doc, before=before.doc if before is not None else None, gone=gone)
        if not gone and claim.node_name:
            self.claim_on[claim.node_name] = claim.uid

    def _owner(self, uid: str, *, gone: bool) -> None:
        if gone:
            self.gone_owners.append(uid)

    def _dependent(self, path: str, doc: JsonMap, *, before: JsonMap | None, gone: bool) -> None:
        """Updates who owns a claim or node."""
        for owner in owners(before) if before is not None else ():
            self.owned_by[str(owner["uid"])].pop(path, None)
        for owner in () if gone else owners(doc):
            self.owned_by[str(owner["uid"])][path] = None
        if before is None and not gone:
            self.new_dependents[path] = None

    def dependent(self, path: str) -> JsonMap | None:
        """Returns the claim or node at this path."""
        place, _, name = path.rpartition("/")
        if place == NODES:
            return self.nodes[name].doc if name in self.nodes else None
        uid = self.claim_uids.get(path)
        return self.claims[uid].doc if uid in self.claims else None

    def claim_of(self, node: str) -> KarpenterObject | None:
        """Returns the claim of the node with that name."""
        return self.claims.get(self.claim_on.get(node, ""))

    def put_node(self, doc: JsonMap, *, gone: bool = False) -> None:
        name = str(doc["metadata"]["name"])
        before = self.nodes.get(name)
        if gone:
            if before is not None and before.doc["metadata"]["uid"] == doc["metadata"]["uid"]:
                self._drop_node(before)
            return
        node = before or NodeState(name, pods=self._left_on.pop(name, {}))
        placing = node.placing() if before is not None else None
        if before is None:
            for pod in node.pods.values():
                node.load(pod.shape.requests, 1)
            self.nodes[name] = node
        else:
            self.domains.node(node.labels, -1)
            self.node_counts[node.group] -= 1
            self._capacity(node, -1)
        self._dependent(f"{NODES}/{name}", doc, before=before.doc if before is not None else None, gone=False)
        node.seen(doc, amounts(doc.get("status", {}).get("allocatable"), default=self.unknown_size))
        changed = placing != node.placing()
        self.domains.node(node.labels, 1)
        for pod in node.pods.values() if changed else ():
            self.count_domains(pod)
        if changed:
            self.node_changes += 1
            self.changed_nodes[name] = None
        self.node_counts[node.group] += 1
        self._capacity(node, 1)
        if not self._moving_on[name]:
            self.empty_nodes[name] = None
        _put(self.nodes_ending, name, value=node, gone=not node.ending)
        self.room.put(node, gained=changed)

    def _drop_node(self, node: NodeState) -> None:
        self.room.drop(node.name)
        self.domains.node(node.labels, -1)
        for pod in node.pods.values():
            self.domains.removed(pod.uid)
        self.node_counts[node.group] -= 1
        self._capacity(node, -1)
        self._dependent(f"{NODES}/{node.name}", node.doc, before=node.doc, gone=True)
        self._left_on[node.name] = node.pods
        self.nodes_ending.pop(node.name, None)
        self.empty_nodes.pop(node.name, None)
        del self.nodes[node.name]
        self.node_changes += 1

    def _capacity(self, node: NodeState, times: int) -> None:
        """Updates the capacity of the node's pool."""
        pool = node.group[0]
        if pool:
            has = amounts(node.doc.get("status", {}).get("capacity"))
            self.capacities[pool] = self.capacities.get(pool, ResourceAmounts()).plus(has, times)

    def put_pod(self, doc: JsonMap, *, gone: bool = False) -> None:
        metadata = doc["metadata"]
        uid = str(metadata["uid"])
        before = self.pods.get(uid)
        if gone or doc.get("status", {}).get("phase") in OVER:
            if before is not None:
                self.remove_pod(before)
            return
        shape, node = self.shapes.of(doc), doc["spec"].get("nodeName") or ""
        ready, ending = is_ready(doc), going(doc)
        if shape.rules and shape not in self._learnt:
            self._learnt.add(shape)
            self.domains.learn(shape, self.pods.values())
        if before is not None:
            if (before.shape, before.node, before.ready, before.ending) == (shape, node, ready, ending):
                return
            self.remove_pod(before)
        name, space = metadata["name"], metadata["namespace"]
        self._index(PodState(space, name, uid, shape=shape, node=node, ready=ready, ending=ending))

    def room_for(self, shape: PodShape) -> NodeState | None:
        """Returns the emptiest node that takes such a pod by its own rules and those of other pods; None if there is
        none."""
        if not self.domains.bound(shape):
            return self.room.find(shape)
        allowed = self.domains.allows(shape)
        return self.room.find(shape, allows=lambda node: allowed(node.labels))

    def has_to_move(self, node: str) -> bool:
        """Returns whether a pod of that node has to move before the node can go."""
        return self._moving_on[node] > 0

    def moving(self, node: str) -> int:
        """Returns how many pods of that node have to move before it can go."""
        return self._moving_on[node]

    def unplaced(self) -> bool:
        """Returns whether a waiting pod may now find a node, after it found none at the last call."""
        at, self._placed_at = self._placed_at, (self.waiting_changes, self.room.gains, self.rule_changes)
        return bool(self.waiting) and at != self._placed_at

    def update(self, pod: PodState, *, node: str = "", ready: bool = False, ending: bool = False) -> None:
        """Records that the pod was placed, became Ready or is being deleted."""
        if self.pods.pop(pod.uid, None) is None:
            return
        self._unindex(pod)
        pod.node, pod.ready, pod.ending = node or pod.node, ready or pod.ready, ending or pod.ending
        self._index(pod)

    def remove_pod(self, pod: PodState) -> None:
        """Records that the pod is gone."""
        if self.pods.pop(pod.uid, None) is not None:
            self._unindex(pod)

    def _index(self, pod: PodState) -> None:
        self.pods[pod.uid] = pod
        self.pod_names[pod.namespace, pod.name] = pod.uid
        self.pods_of[pod.shape.owner][pod.uid] = pod
        count = self.counts.setdefault(pod.shape, ShapeCount())
        count.total += 1
        self.staying_of[pod.shape.owner] += not pod.ending
        healthy = pod.ready and not pod.ending
        count.healthy += healthy
        self.ready_of[pod.shape.owner] += healthy
        if pod.ending:
            self.ending[pod.uid] = pod
            self.new_ending[pod.uid] = pod
        elif not pod.node:
            self.waiting[pod.uid] = pod
            self.waiting_changes += 1
        elif not pod.ready:
            self.starting[pod.uid] = pod
            self.new_starting[pod.uid] = pod
        self._load(pod, 1)
        self._touched(pod)

    def _unindex(self, pod: PodState) -> None:
        self.waiting_changes += pod.uid in self.waiting
        if self.pod_names.get((pod.namespace, pod.name)) == pod.uid:
            del self.pod_names[pod.namespace, pod.name]
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

    def count_domains(self, pod: PodState) -> None:
        """Counts the pod in its domains for the rules of other pods; a pod that is being deleted does not count."""
        node = self.nodes.get(pod.node)
        if node is not None and not pod.ending:
            self.domains.placed(pod, node)

    @property
    def rule_changes(self) -> int:
        """Counts changes after which the rules may allow a pod another node; stays 0 without rules."""
        return self.pod_changes if self._learnt else 0

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
            self.reloaded_nodes[pod.node] = None
            if self._moving_on[pod.node] or node is None:
                self.empty_nodes.pop(pod.node, None)
            else:
                self.empty_nodes[pod.node] = None
        if node is None:
            return
        node.load(pod.shape.requests, times)
        if times > 0:
            self.count_domains(pod)
        else:
            self.domains.removed(pod.uid)
        self.room.loaded(node, gained=times < 0)


T = TypeVar("T")


def _put(objects: dict[str, T], uid: str, *, value: T, gone: bool) -> None:
    if gone:
        objects.pop(uid, None)
    else:
        objects[uid] = value


def _group_version(path: str) -> str:
    return "/".join(path.split("/")[2:4])

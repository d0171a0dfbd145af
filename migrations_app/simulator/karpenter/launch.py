"""Simulates the launch of nodes: creates a claim, and later its node. Names are numbered, or reused if the behaviour
says so."""

import random
from collections.abc import Iterable, Sequence

from migrations_app.karpenter import labels as keys
from migrations_app.manifests import JsonMap
from migrations_app.simulator.agenda import Agenda
from migrations_app.simulator.api import SimulatorApi
from migrations_app.simulator.behaviour import ZONE as DEFAULT_ZONE
from migrations_app.simulator.behaviour import Behaviour
from migrations_app.simulator.cluster_state import ClusterState
from migrations_app.simulator.generations import NODES, TERMINATION, KarpenterObject
from migrations_app.simulator.instance_sizes import HOST, Offering, offerings, uniform_size
from migrations_app.simulator.memory import LaunchUnderWay

MAX_NAMES = 3
"""How many names are tried for a claim."""
KUBELET = "v1.28.15-eks-94953ac"
REGISTRATION_SECONDS = 900
"""How long Karpenter waits for the registration of a claim's node before it deletes the claim. Source:
kubernetes-sigs/karpenter:pkg/controllers/nodeclaim/lifecycle/liveness.go"""


class NodeLauncher:
    """Launches claims and their nodes. `free_name` returns the name of a deleted node for reuse."""

    def __init__(self, api: SimulatorApi, behaviour: Behaviour, *, agenda: Agenda) -> None:
        self._api, self._behaviour, self._agenda = api, behaviour, agenda
        self._random = random.Random(behaviour.seed)  # noqa: S311 - for delays that can be repeated
        self._launch_count = 0
        self._free: list[str] = []
        self.coming: dict[str, tuple[Offering, str]] = {}
        """The offering of each claim without a node, and the name that its node will get."""
        self._delays: dict[str, float] = {}

    def under_way(self) -> tuple[int, list[LaunchUnderWay]]:
        """Returns how many claims were created, and the launches whose nodes are still missing."""
        return self._launch_count, [
            LaunchUnderWay(
                claim=uid,
                node=node,
                size=offering.size.name,
                zone=offering.zone,
                capacity_type=offering.capacity_type,
                labels=dict(offering.labels),
                delay=self._delays[uid],
            )
            for uid, (offering, node) in self.coming.items()
        ]

    def recall(self, count: int, launches: Iterable[LaunchUnderWay]) -> None:
        """Continues the launches of another launcher; a launch with an unknown size is dropped."""
        self._launch_count = count
        sizes = {size.name: size for size in self._behaviour.launchable()}
        for launch in launches:
            if launch.size in sizes:
                offering = Offering(sizes[launch.size], launch.zone, launch.capacity_type, launch.labels)
                self.coming[launch.claim] = (offering, launch.node)
                self._delays[launch.claim] = launch.delay

    def free_name(self, node: str) -> None:
        self._free.append(node)

    def launch(self, state: ClusterState, pool: KarpenterObject, *, offering: Offering) -> KarpenterObject | None:
        """Returns a new claim, whose node `work` creates later; None if the cluster refuses it."""
        node = self._name(state, offering.zone)
        for _ in range(MAX_NAMES):
            self._launch_count += 1
            body = claim_body(pool, offering, name=f"{pool.name}-{self._launch_count:05d}")
            doc = self._api.create(pool.of.claims_path, body)
            if doc is not None:
                break
        else:
            return None
        claim = KarpenterObject(pool.of, doc | {"kind": pool.of.claim})
        state.put_claim(claim)
        self.coming[claim.uid] = (offering, node)
        self._delays[claim.uid] = self._random.choice(self._behaviour.delays.node_ready)
        return claim

    def work(self, state: ClusterState) -> None:
        """Creates nodes after their delay; deletes claims whose nodes never register."""
        for uid, (offering, name) in list(self.coming.items()):
            claim = state.claims.get(uid)
            if claim is None or claim.going:
                del self.coming[uid]
            elif not self._behaviour.joins:
                self._give_up(claim)
            elif self._agenda.due(("join", uid), after=self._delays[uid]):
                self._join(state, claim, offering=offering, name=name)

    def _give_up(self, claim: KarpenterObject) -> None:
        if "providerID" not in claim.doc.get("status", {}):
            status = {"providerID": _provider_id(claim, DEFAULT_ZONE), "conditions": _conditions(claim, joined=False)}
            claim_doc = self._api.patch(f"{claim.path}/status", {"status": status})
            if claim_doc is not None:
                claim.doc["status"] = status
        if self._agenda.due(("give up", claim.uid), after=REGISTRATION_SECONDS):
            self._api.delete(claim.path, uid=claim.uid)

    def _join(self, state: ClusterState, claim: KarpenterObject, *, offering: Offering, name: str) -> None:
        del self.coming[claim.uid]
        doc, node = launched_node(self._api, claim, offering=offering, name=name)
        state.put_claim(KarpenterObject(claim.of, doc | {"kind": claim.of.claim}))
        state.put_node(node)

    def _name(self, state: ClusterState, zone: str) -> str:
        if self._behaviour.same_node_names and self._free:
            return self._free.pop(0)
        names = {name for _, name in self.coming.values()}
        number = self._launch_count
        while (name := f"ip-10-30-{number // 250}-{number % 250}.{_region(zone)}.compute.internal") in names or (
            name in state.nodes
        ):
            number += 1
        return name


def launched(api: SimulatorApi, pool: KarpenterObject, *, name: str, number: int, hashed: bool = True) -> list[JsonMap]:
    """Returns a new claim with its Ready node, as stored: used to fill a cluster before a simulation."""
    (offering,) = offerings((uniform_size(0),), zones=(DEFAULT_ZONE,))[-1:]
    body = claim_body(pool, offering, name=f"{pool.name}-{number:05d}")
    if not hashed:
        body["metadata"]["annotations"] = {}
    claim = KarpenterObject(pool.of, _stored(api.create(pool.of.claims_path, body)) | {"kind": pool.of.claim})
    return list(launched_node(api, claim, offering=offering, name=name, sized=False))


def claim_body(pool: KarpenterObject, offering: Offering, *, name: str) -> JsonMap:
    """Returns the claim that a pool creates for this offering."""
    of = pool.of
    pool_hash = pool.doc["metadata"].get("annotations", {}).get(of.hash)
    metadata = {
        "name": name,
        "labels": pool_labels(pool) | dict(offering.labels),
        "annotations": {of.hash: pool_hash} if pool_hash else {},
        "finalizers": [TERMINATION],
        "ownerReferences": [_owner(pool.doc, kind=of.pool, api_version=of.api_version)],
    }
    return {"apiVersion": of.api_version, "kind": of.claim, "metadata": metadata, "spec": _spec(pool)}


def launched_node(
    api: SimulatorApi, claim: KarpenterObject, *, offering: Offering, name: str, sized: bool = True
) -> tuple[JsonMap, JsonMap]:
    """Returns the claim with its status, and its Ready node; `sized`: both report capacity and allocatable."""
    provider_id = _provider_id(claim, offering.zone)
    room = offering.size.allocatable.quantities(), offering.size.capacity.quantities()
    status: JsonMap = {"providerID": provider_id, "conditions": _conditions(claim, joined=True), "nodeName": name}
    if sized:
        status |= {"allocatable": room[0], "capacity": room[1]}
    claim_doc = _stored(api.patch(f"{claim.path}/status", {"status": status}))
    owner_reference = _owner(claim.doc, kind=claim.of.claim, api_version=claim.of.api_version)
    node = _node(claim, name=name, owner=owner_reference, provider_id=provider_id)
    if sized:
        node["status"] |= {"allocatable": room[0], "capacity": room[1]}
    _stored(api.create(NODES, node))
    # The API server taints every new node as not ready; the controller that removes the taint is not simulated.
    return claim_doc, _stored(api.patch(f"{NODES}/{name}", {"spec": {"taints": node["spec"].get("taints")}}))


def pool_spec(pool: KarpenterObject) -> JsonMap:
    """Returns the pool's specification of its nodes."""
    if pool.of.pool == "Provisioner":
        spec: JsonMap = pool.doc["spec"]
    else:
        spec = pool.doc["spec"].get("template", {}).get("spec", {})
    return spec


def pool_labels(pool: KarpenterObject) -> dict[str, str]:
    """Returns the labels that every node of the pool gets."""
    spec = pool.doc["spec"]
    own = spec.get("labels") if pool.of.pool == "Provisioner" else (spec.get("template") or {}).get("metadata") or {}
    template_labels = own if pool.of.pool == "Provisioner" else (own or {}).get("labels")
    chosen = {
        requirement["key"]: requirement["values"][0]
        for requirement in pool_spec(pool).get("requirements") or ()
        if requirement.get("operator") == "In" and len(requirement.get("values") or ()) == 1
    }
    karpenter_labels = {pool.of.label: pool.name, keys.INITIALIZED: "true", keys.REGISTERED: "true"}
    return chosen | (template_labels or {}) | karpenter_labels


def _node(claim: KarpenterObject, *, name: str, owner: JsonMap, provider_id: str) -> JsonMap:
    spec: JsonMap = {"providerID": provider_id}
    if claim.doc["spec"].get("taints"):
        spec["taints"] = claim.doc["spec"]["taints"]
    metadata = {
        "name": name,
        "labels": claim.doc["metadata"]["labels"] | {HOST: name},
        "finalizers": [TERMINATION],
        "ownerReferences": [owner],
    }
    status = {
        "conditions": [{"type": "Ready", "status": "True", "reason": "KubeletReady"}],
        "nodeInfo": {"kubeletVersion": KUBELET},
    }
    return {"apiVersion": "v1", "kind": "Node", "metadata": metadata, "spec": spec, "status": status}


def _spec(pool: KarpenterObject) -> JsonMap:
    inner = pool_spec(pool)
    fields: Sequence[str] = ("requirements", "taints", "startupTaints")
    spec = {key: inner[key] for key in fields if key in inner}
    if pool.of.pool == "Provisioner":
        return spec | {"machineTemplateRef": inner.get("providerRef", {"name": "default"})}
    return spec | {key: inner[key] for key in ("nodeClassRef", "expireAfter", "terminationGracePeriod") if key in inner}


def _conditions(claim: KarpenterObject, *, joined: bool) -> list[JsonMap]:
    prefix = "Machine" if claim.of.claim == "Machine" else ""
    types = [f"{prefix}Launched", *([f"{prefix}Registered", f"{prefix}Initialized", "Ready"] if joined else [])]
    return [{"type": condition_type, "status": "True", "reason": condition_type} for condition_type in types]


def _provider_id(claim: KarpenterObject, zone: str) -> str:
    return f"aws:///{zone}/i-{claim.uid.replace('-', '')[:17]}"


def _region(zone: str) -> str:
    return zone.rstrip("abcdef")


def _owner(doc: JsonMap, *, kind: str, api_version: str) -> JsonMap:
    metadata = doc["metadata"]
    head = {"apiVersion": api_version, "kind": kind, "name": metadata["name"], "uid": metadata["uid"]}
    return head | {"blockOwnerDeletion": True}


def _stored(doc: JsonMap | None) -> JsonMap:
    if doc is None:
        raise RuntimeError("a name of the simulator was taken already")
    return doc

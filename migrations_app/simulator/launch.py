"""New machines: a claim with its node, under names that count up or, when told so, come again."""

from migrations_app.simulator.api import Document, SimulatorApi
from migrations_app.simulator.behaviour import Behaviour
from migrations_app.simulator.cluster_view import NODES, TERMINATION, ClusterView, KarpenterObject

ZONE, KUBELET = "eu-central-1a", "v1.28.15-eks-94953ac"


class NodeLauncher:
    """Hands out names; `gone` gives one back for those who want the same again."""

    def __init__(self, api: SimulatorApi, behaviour: Behaviour) -> None:
        self._api, self._behaviour = api, behaviour
        self._made = 0
        self._free: list[str] = []

    def gone(self, node: Document) -> None:
        self._free.append(node["metadata"]["name"])

    def launch(self, view: ClusterView, pool: KarpenterObject, *, count: int) -> list[str]:
        """The names of the nodes that were asked for; none when nothing is launched."""
        return [self._one(view, pool) for _ in range(count)] if self._behaviour.launches else []

    def _one(self, view: ClusterView, pool: KarpenterObject) -> str:
        self._made += 1
        name = self._name()
        while name in view.nodes:
            self._made += 1
            name = self._name()
        made = launched(self._api, pool, name=name, number=self._made, joins=self._behaviour.joins)
        view.claims.append(KarpenterObject(pool.of, made[0]))
        if len(made) > 1:
            view.nodes[name] = made[1]
        return name

    def _name(self) -> str:
        if self._behaviour.same_node_names and self._free:
            return self._free.pop(0)
        return f"ip-10-30-{self._made // 250}-{self._made % 250}.eu-central-1.compute.internal"


def launched(
    api: SimulatorApi, pool: KarpenterObject, *, name: str, number: int, joins: bool = True, hashed: bool = True
) -> list[Document]:
    """The claim as stored, and its node when that joins."""
    of, labels = pool.of, _labels(pool)
    claim_name = f"{pool.name}-{number:05d}"
    mark = pool.doc["metadata"].get("annotations", {}).get(of.hash)
    annotations = {of.hash: mark} if hashed and mark else {}
    metadata = {"name": claim_name, "labels": labels, "annotations": annotations, "finalizers": [TERMINATION]}
    owner = _owner(pool.doc, kind=of.pool, api_version=of.api_version)
    body = {"apiVersion": of.api_version, "kind": of.claim, "metadata": metadata | {"ownerReferences": [owner]}}
    claim = _made(api.create(of.claims_path, body | {"spec": _spec(pool)}))
    provider_id = f"aws:///{ZONE}/i-{claim['metadata']['uid'].replace('-', '')[:17]}"
    status = {"providerID": provider_id, "conditions": _conditions(of.claim, joined=joins)}
    if joins:
        status |= {"nodeName": name}
    claim = _made(api.patch(f"{of.claims_path}/{claim_name}/status", {"status": status}))
    if not joins:
        return [claim]
    by = _owner(claim, kind=of.claim, api_version=of.api_version)
    node = _node(name, pool, labels=labels, owner=by, provider_id=provider_id)
    _made(api.create(NODES, node))
    # The API server fences every new node until a controller, which is not here, has seen that it is Ready.
    return [claim, _made(api.patch(f"{NODES}/{name}", {"spec": {"taints": node["spec"].get("taints")}}))]


def _node(name: str, pool: KarpenterObject, *, labels: dict[str, str], owner: Document, provider_id: str) -> Document:
    inner = pool.doc["spec"] if pool.of.pool == "Provisioner" else pool.doc["spec"]["template"]["spec"]
    spec: Document = {"providerID": provider_id}
    if inner.get("taints"):
        spec["taints"] = inner["taints"]
    metadata = {
        "name": name,
        "labels": labels | {"kubernetes.io/hostname": name},
        "finalizers": [TERMINATION],
        "ownerReferences": [owner],
    }
    status = {
        "conditions": [{"type": "Ready", "status": "True", "reason": "KubeletReady"}],
        "nodeInfo": {"kubeletVersion": KUBELET},
    }
    return {"apiVersion": "v1", "kind": "Node", "metadata": metadata, "spec": spec, "status": status}


def _labels(pool: KarpenterObject) -> dict[str, str]:
    spec, template = pool.doc["spec"], pool.doc["spec"].get("template", {})
    own = spec.get("labels") if pool.of.pool == "Provisioner" else template.get("metadata", {}).get("labels")
    return {
        pool.of.label: pool.name,
        "karpenter.sh/capacity-type": "on-demand",
        "karpenter.sh/initialized": "true",
        "karpenter.sh/registered": "true",
        "kubernetes.io/arch": "amd64",
        "kubernetes.io/os": "linux",
        "node.kubernetes.io/instance-type": "m6i.large",
        "topology.kubernetes.io/region": ZONE[:-1],
        "topology.kubernetes.io/zone": ZONE,
        **(own or {}),
    }


def _spec(pool: KarpenterObject) -> Document:
    if pool.of.pool == "Provisioner":
        return {"machineTemplateRef": pool.doc["spec"].get("providerRef", {"name": "default"})}
    inner = pool.doc["spec"]["template"]["spec"]
    kept = ("nodeClassRef", "requirements", "taints", "expireAfter")
    return {key: inner[key] for key in kept if key in inner}


def _conditions(kind: str, *, joined: bool) -> list[Document]:
    prefix = "Machine" if kind == "Machine" else ""
    words = [f"{prefix}Launched", *([f"{prefix}Registered", f"{prefix}Initialized", "Ready"] if joined else [])]
    return [{"type": word, "status": "True", "reason": word} for word in words]


def _owner(doc: Document, *, kind: str, api_version: str) -> Document:
    metadata = doc["metadata"]
    head = {"apiVersion": api_version, "kind": kind, "name": metadata["name"], "uid": metadata["uid"]}
    return head | {"blockOwnerDeletion": True}


def _made(doc: Document | None) -> Document:
    if doc is None:
        raise RuntimeError("a name of the simulator was taken already")
    return doc

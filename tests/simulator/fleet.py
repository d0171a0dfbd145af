"""An alpha cluster to roll: a Provisioner with its Machines and nodes, full of pods that budgets protect."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

from migrations_app.simulator.api import SimulatorApi
from migrations_app.simulator.generations import ALPHA, NODES, KarpenterObject
from migrations_app.simulator.karpenter.launch import launched
from migrations_app.simulator.pods import READY
from migrations_app.simulator.workloads import replica
from tests.servers.api_client import Document
from tests.servers.apiserver import ApiServer
from tests.simulator.http_api import HttpSimulatorApi, pod_path

SPACE = "shop"
ROOM = {"cpu": "2", "memory": "8Gi", "pods": "29"}
THREADS = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Size:
    """`apps` share the pods evenly; each has a budget that lets `unavailable` of its pods be away."""

    nodes: int = 50
    slots: int = 4
    apps: int = 10
    unavailable: int = 2
    hashed: int | None = None
    """How many of the Machines carry a hash and so can drift; None: all."""
    cpu: str = ""
    """What each pod asks for; then nodes also say how much room they have."""
    spec: dict[str, Any] = field(default_factory=dict)
    """Further fields of the Provisioner's spec."""


def alpha_fleet(server: ApiServer, size: Size | None = None, *, pool: str = "default") -> list[str]:
    """Fills a server that has the alpha CRDs; returns the names of the nodes."""
    size = size or Size()
    api = HttpSimulatorApi.of(server)
    try:
        made = _create(api, "/apis/karpenter.k8s.aws/v1alpha1/awsnodetemplates", node_template(pool))
        made = _create(api, ALPHA.pools_path, provisioner(pool, **size.spec))
        nodes = _machines(api, KarpenterObject(ALPHA, made | {"kind": ALPHA.pool}), size)
        fill(api, size, nodes=nodes)
        return nodes
    finally:
        api.close()


def fill(api: SimulatorApi, size: Size, *, nodes: list[str]) -> None:
    """The apps of that size on these nodes, each with its budget."""
    _create(api, "/api/v1/namespaces", _space())
    for number in range(size.apps):
        _app(api, f"app-{number}", number=number, size=size, nodes=nodes)


def provisioner(name: str, **spec: Any) -> Document:
    """A Provisioner as people write it."""
    requirements = [{"key": "karpenter.sh/capacity-type", "operator": "In", "values": ["on-demand"]}]
    body = {"providerRef": {"name": name}, "requirements": requirements, "limits": {"resources": {"cpu": "1000"}}}
    metadata = {"name": name, "annotations": {ALPHA.hash: "15379384921432961274"}}
    return {"apiVersion": ALPHA.api_version, "kind": ALPHA.pool, "metadata": metadata, "spec": body | spec}


def node_template(name: str) -> Document:
    found = {"karpenter.sh/discovery": "shop"}
    spec = {"amiFamily": "AL2", "subnetSelector": found, "securityGroupSelector": found}
    kind = {"apiVersion": "karpenter.k8s.aws/v1alpha1", "kind": "AWSNodeTemplate"}
    return kind | {"metadata": {"name": name}, "spec": spec}


def _machines(api: SimulatorApi, pool: KarpenterObject, size: Size) -> list[str]:
    def one(number: int) -> str:
        name = f"ip-10-20-{number // 250}-{number % 250}.eu-central-1.compute.internal"
        hashed = size.hashed is None or number < size.hashed
        launched(api, pool, name=name, number=number + 90_000, hashed=hashed)
        if size.cpu:
            api.patch(f"{NODES}/{name}/status", {"status": {"allocatable": ROOM, "capacity": ROOM}})
        return name

    return _each(one, size.nodes)


def _app(api: SimulatorApi, name: str, *, number: int, size: Size, nodes: list[str]) -> None:
    replicas = size.nodes * size.slots // size.apps
    labels = {"app": name}
    inside = {"name": "web", "image": "shop/web:1"}
    inside |= {"resources": {"requests": {"cpu": size.cpu, "memory": "256Mi"}}} if size.cpu else {}
    body = {"metadata": {"labels": labels}, "spec": {"containers": [inside]}}
    spec = {"replicas": replicas, "selector": {"matchLabels": labels}, "template": body}
    space = f"/apis/apps/v1/namespaces/{SPACE}"
    top = _create(api, f"{space}/deployments", _apps("Deployment", name, spec=spec))
    by = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "name": name,
        "uid": top["metadata"]["uid"],
        "controller": True,
    }
    below = _create(api, f"{space}/replicasets", _apps("ReplicaSet", f"{name}-rs", spec=spec, ownerReferences=[by]))
    budget = {"selector": {"matchLabels": labels}, "maxUnavailable": size.unavailable}
    document = {"apiVersion": "policy/v1beta1", "kind": "PodDisruptionBudget", "metadata": {"name": name}}
    _create(api, f"/apis/policy/v1beta1/namespaces/{SPACE}/poddisruptionbudgets", document | {"spec": budget})
    _each(lambda place: _pod(api, below, place, node=nodes[(number * replicas + place) % len(nodes)]), replicas)


def _pod(api: SimulatorApi, owner: Document, place: int, *, node: str) -> None:
    body = replica(owner, f"{owner['metadata']['name']}-old-{place}", node=node)
    pod = _create(api, f"/api/v1/namespaces/{SPACE}/pods", body)
    api.patch(f"{pod_path(pod)}/status", {"status": {"phase": "Running", "conditions": READY}})


def _apps(kind: str, name: str, *, spec: Document, **metadata: Any) -> Document:
    own = {"name": name, "namespace": SPACE, "labels": spec["selector"]["matchLabels"], **metadata}
    return {"apiVersion": "apps/v1", "kind": kind, "metadata": own, "spec": spec}


def _space() -> Document:
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": SPACE}}


def _create(api: SimulatorApi, path: str, body: Document) -> Document:
    made = api.create(path, body)
    if made is None:
        raise AssertionError(f"{body['metadata']['name']} is there already, or its kind is not served")
    return made


def _each(make: Callable[[int], Any], count: int) -> list[Any]:
    """What `make` gives for each number, made by some threads at once."""
    with ThreadPoolExecutor(THREADS) as pool:
        return list(pool.map(make, range(count)))

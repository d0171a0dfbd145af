"""What the API server is filled with: a 0.32 installation, and pods as a busy cluster has them, about 5 kB each."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from migrations_app.samples.installation import Crds, Install, controller, crds, helm_record
from migrations_app.samples.karpenter_objects import (
    LARGE_ENOUGH,
    ON_DEMAND,
    Launched,
    machine,
    node_template,
    provisioner,
)
from migrations_app.samples.kubernetes_objects import config_map, doc, meta, owner, suffix, token

Document = dict[str, Any]

RELEASE = "0.32.10"
CLUSTER = "bench"
NAMESPACES = 20
WORKLOADS = 200
POOLS = ("web", "batch", "gpu", "spot")
ZONES = ("a", "b", "c")


@dataclass(frozen=True, slots=True)
class Size:
    nodes: int
    pods: int

    @classmethod
    def scaled(cls, scale: float) -> "Size":
        """The full size is that of the targets: 2,000 nodes with 2,000 Machines, 40,000 pods."""
        return cls(nodes=max(2, round(2000 * scale)), pods=max(WORKLOADS, round(40_000 * scale)))


def installation() -> list[Document]:
    """Karpenter itself with its CRDs, its settings, pools and templates."""
    install = Install(
        cluster=CLUSTER,
        version=RELEASE,
        namespace="karpenter",
        values={"settings": {"clusterName": CLUSTER}},
        env={"CLUSTER_NAME": CLUSTER, "FEATURE_GATES": "Drift=true"},
    )
    pools = [provisioner(name, ON_DEMAND, LARGE_ENOUGH, template="default") for name in POOLS]
    return [
        *crds(Crds(version=RELEASE)),
        *controller(install, ["node-0"]),
        helm_record(install),
        config_map("karpenter-global-settings", "karpenter", data={"aws.clusterName": CLUSTER}),
        *pools,
        node_template("default", cluster=CLUSTER),
    ]


def launched(count: int) -> list[Launched]:
    """The instances behind Machines and nodes."""
    zone = [f"eu-central-1{letter}" for letter in ZONES]
    return [
        Launched(pool=POOLS[place % 4], number=place, cluster=CLUSTER, kubelet="v1.27.9-eks", zone=zone[place % 3])
        for place in range(count)
    ]


def machines(instances: Sequence[Launched]) -> Iterator[Document]:
    """A Machine and a node for each instance; the node names carry the number, so that none is there twice."""
    for one in instances:
        made, node = machine(one, template="default")
        made["status"]["nodeName"] = node["metadata"]["name"] = node_name(one)
        node["status"]["images"] = [
            {"names": [f"registry.example/image-{n}@sha256:{token(n, length=40)}"], "sizeBytes": 10**8 + n}
            for n in range(50)
        ]
        yield made
        yield node


def node_name(one: Launched) -> str:
    return f"ip-{one.number}-{one.node}"


def workloads() -> Iterator[Document]:
    """The Deployments behind the pods."""
    for number in range(WORKLOADS):
        name = _workload(number)
        template = {"metadata": {"labels": {"app": name}}, "spec": _pod_spec(number, node="")}
        spec = {"replicas": 1, "selector": {"matchLabels": {"app": name}}, "template": template}
        yield doc("apps/v1", "Deployment", metadata=meta(name, _namespace(number % NAMESPACES)), spec=spec)


def pods(numbers: range, nodes: Sequence[str]) -> Iterator[Document]:
    """The pods of these numbers; each workload has its share of them."""
    for number in numbers:
        yield _pod(number % WORKLOADS, number // WORKLOADS, nodes[number % len(nodes)])


def _namespace(number: int) -> str:
    return f"team-{number:02}"


def _workload(number: int) -> str:
    return f"service-{number:03}-{suffix(number)}"


def _pod(workload: int, place: int, node: str) -> Document:
    name = _workload(workload)
    digest = token(name, length=10)
    by = owner("ReplicaSet", f"{name}-{digest}", api_version="apps/v1")
    metadata = {
        "name": f"{name}-{digest}-{place:05}",
        "namespace": _namespace(workload % NAMESPACES),
        "labels": _labels(name, digest),
        "annotations": _annotations(workload, name),
        "ownerReferences": [by],
    }
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": _pod_spec(workload, node=node)}


def _labels(name: str, digest: str) -> dict[str, str]:
    return {
        "app": name,
        "app.kubernetes.io/instance": name,
        "app.kubernetes.io/name": name,
        "helm.sh/chart": f"{name}-4.12.0",
        "pod-template-hash": digest,
    }


def _annotations(workload: int, name: str) -> dict[str, str]:
    marked = {"karpenter.sh/do-not-evict": "true"} if workload % 10 == 0 else {}
    return marked | {
        "checksum/config": token("config", name, length=40),
        "prometheus.io/scrape": "true",
    }


def _pod_spec(workload: int, *, node: str) -> Document:
    name = _workload(workload)
    chosen = {"karpenter.sh/provisioner-name": POOLS[workload % 4]} if workload % 5 == 0 else {}
    term = {"labelSelector": {"matchLabels": {"app": name}}, "topologyKey": "kubernetes.io/hostname"}
    spread = {"maxSkew": 1, "topologyKey": "topology.kubernetes.io/zone", "whenUnsatisfiable": "ScheduleAnyway"}
    placed = {"nodeName": node} if node else {}
    return placed | {
        "serviceAccountName": name,
        "nodeSelector": {"kubernetes.io/os": "linux"} | chosen,
        "affinity": {
            "podAntiAffinity": {
                "preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 100, "podAffinityTerm": term}]
            }
        },
        "topologySpreadConstraints": [spread | {"labelSelector": {"matchLabels": {"app": name}}}],
        "containers": [_container(name)],
        "volumes": [_token_volume(), {"name": "config", "configMap": {"name": f"{name}-config"}}],
    }


def _container(name: str) -> Document:
    variables = [{"name": f"{key}_ENDPOINT", "value": f"https://{key.lower()}.internal.example"} for key in _NEEDS]
    probe = {"httpGet": {"path": "/healthz", "port": 8080}, "periodSeconds": 10, "timeoutSeconds": 2}
    return {
        "name": "main",
        "image": f"registry.example/{name}:2026.9.1",
        "env": [*variables, {"name": "POD_IP", "valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}}}],
        "ports": [{"name": "http", "containerPort": 8080}],
        "resources": {"requests": {"cpu": "250m", "memory": "256Mi"}, "limits": {"memory": "512Mi"}},
        "readinessProbe": probe,
        "volumeMounts": [
            {"name": "token", "mountPath": "/var/run/secrets/kubernetes.io/serviceaccount", "readOnly": True},
            {"name": "config", "mountPath": "/etc/config"},
        ],
    }


_NEEDS = ("ORDERS", "STOCK")


def _token_volume() -> Document:
    sources = [
        {"serviceAccountToken": {"expirationSeconds": 3607, "path": "token"}},
        {"configMap": {"name": "kube-root-ca.crt", "items": [{"key": "ca.crt", "path": "ca.crt"}]}},
    ]
    return {"name": "token", "projected": {"sources": sources}}

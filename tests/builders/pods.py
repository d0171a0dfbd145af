"""Builds pods on nodes that a hop replaces, for checks about drains; and checks whether a remedy is a shell command."""

import shutil
import subprocess
from typing import Any

from migrations_app.manifests import JsonMap
from migrations_app.samples.karpenter_objects import Launched, machine
from migrations_app.samples.kubernetes_objects import containers, meta, owner, pods_of, template, workload
from tests.builders.clusters import ACluster, a_cluster

OLD = Launched(pool="web", number=1, cluster="test", kubelet="v1.28.4")
OTHER = Launched(pool="web", number=2, cluster="test", kubelet="v1.28.4", zone="eu-central-1b")
STAYS = "ip-10-20-200-10.eu-central-1.compute.internal"
NOTHING = ("not_applicable", "the upgrade replaces no node that exists now", ())


def rolling(*docs: JsonMap) -> ACluster:
    """Returns a cluster on 0.32 with two nodes behind Machines, which 0.33 replaces."""
    nodes = [*machine(OLD, template="default"), *machine(OTHER, template="default")]
    return a_cluster("0.32.10", kubernetes="1.28").with_docs(*nodes, *docs)


def still() -> ACluster:
    """Returns a cluster on 0.32 without a node that is replaced."""
    return a_cluster("0.32.10", kubernetes="1.28")


def pods(
    kind: str = "Deployment",
    name: str = "web",
    *,
    nodes: tuple[str, ...] = (OLD.node,),
    count: int = 1,
    annotations: dict[str, str] | None = None,
    labels: dict[str, str] | None = None,
    **spec: Any,
) -> list[JsonMap]:
    """Returns the pods of a workload in namespace shop, without the workload."""
    made = template(labels or {"app": name}, {"containers": containers(name, "web:1")} | spec, annotations=annotations)
    return pods_of(workload(kind, name, namespace="shop", replicas=count, pod=made), nodes, count=count)


def bare(name: str, node: str = OLD.node, **spec: Any) -> JsonMap:
    """Returns a pod without an owner."""
    status = {"phase": "Running"}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": meta(name, "shop"), "spec": {"nodeName": node} | spec} | {
        "status": status
    }


def owned_pod(kind: str, name: str, node: str = OLD.node) -> JsonMap:
    """Returns one pod with an owner of that kind."""
    made = bare(f"{name}-0", node)
    made["metadata"]["ownerReferences"] = [owner(kind, name, api_version="batch/v1")]
    return made


def is_shell(text: str) -> bool:
    """Whether bash can parse it."""
    bash = shutil.which("bash") or "sh"
    return subprocess.run([bash, "-n"], input=text.encode(), capture_output=True, check=False).returncode == 0

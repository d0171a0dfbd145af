"""Builds the objects of a story's cluster: its nodes, its workloads, and their pods."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from migrations_app.karpenter import labels
from migrations_app.karpenter.releases import find
from migrations_app.karpenter.versions import release
from migrations_app.manifests import JsonMap
from migrations_app.samples.aws_account import SampleAwsAccount
from migrations_app.samples.karpenter_objects import Launched
from migrations_app.samples.kubernetes_objects import (
    Strings,
    budget,
    containers,
    machine_labels,
    node,
    pods_of,
    server_version,
    template,
    token,
    workload,
)

_HASHES = (
    (labels.NODEPOOL_HASH, labels.NODEPOOL_HASH_VERSION),
    (labels.EC2_NODE_CLASS_HASH, labels.EC2_NODE_CLASS_HASH_VERSION),
)


@dataclass(slots=True)
class ClusterBuilder:
    """An EKS cluster under construction. `add` takes any object; `node_group` returns the names of its nodes."""

    name: str
    kubernetes: str
    region: str = "eu-central-1"
    docs: list[JsonMap] = field(default_factory=list)
    managed: list[str] = field(default_factory=list)

    @property
    def kubelet(self) -> str:
        return f"v{self.kubernetes}.4-eks-a5df82a"

    @property
    def version(self) -> JsonMap:
        return server_version(self.kubernetes)

    def account(self, *granted: str, **more: Any) -> SampleAwsAccount:  # noqa: ANN401 - the fields of Account
        """The cluster's AWS account, in which the controller may do everything that these releases need."""
        return SampleAwsAccount(
            cluster=self.name,
            kubernetes=self.kubernetes,
            region=self.region,
            granted=granted,
            docs=tuple(self.docs),
            **{"queue": self.name} | more,
        )

    def add(self, *docs: JsonMap) -> None:
        self.docs.extend(docs)

    def node_group(self, name: str, count: int, *, instance_type: str = "m6i.large") -> list[str]:
        """Nodes of a managed node group in three zones."""
        nodes = [self._managed_node(name, place, instance_type=instance_type) for place in range(count)]
        self.managed += nodes
        return nodes

    def _managed_node(self, group: str, place: int, *, instance_type: str) -> str:
        zone = f"{self.region}{'abc'[place % 3]}"
        name = f"ip-10-{20 + place % 3}-200-{10 + place}.{self.region}.compute.internal"
        marks = machine_labels(instance_type=instance_type, zone=zone) | {"eks.amazonaws.com/nodegroup": group}
        provider_id = f"aws:///{zone}/i-{token(self.name, group, place)}"
        self.add(node(name, kubelet=self.kubelet, provider_id=provider_id, labels=marks))
        return name

    def add_ons(self, nodes: Sequence[str]) -> None:
        """CoreDNS on the managed nodes; the network plugin and kube-proxy on all."""
        self.deploy("coredns", "kube-system", replicas=2, nodes=self.managed, image="eks/coredns:v1.11.1", spare=1)
        for name, image in (("aws-node", "amazon-k8s-cni:v1.18.3"), ("kube-proxy", "eks/kube-proxy:v1.29.7")):
            pod = template({"app": name}, {"hostNetwork": True, "containers": containers(name, image)})
            daemon_set = workload("DaemonSet", name, namespace="kube-system", replicas=len(nodes), pod=pod)
            self.add(daemon_set, *pods_of(daemon_set, nodes, count=len(nodes)))

    def launched(self, pool: str, count: int, **more: Any) -> list[Launched]:  # noqa: ANN401 - the fields of Launched
        """That many instances of a pool, in three zones."""
        zones = [f"{self.region}{letter}" for letter in "abc"]
        return [
            Launched(pool=pool, number=place, cluster=self.name, kubelet=self.kubelet, zone=zones[place % 3], **more)
            for place in range(count)
        ]

    def hash_as(self, version: str) -> None:
        """Sets the drift hashes that this release writes on pools, node classes and claims."""
        running = release(version)
        row = find(running)
        versions = row.hash_versions(running) if row else (None, None)
        for doc in self.docs:
            for (key, version_key), of, hash_version in zip(_HASHES, _hashed(doc), versions, strict=True):
                if of:
                    marks = doc["metadata"].setdefault("annotations", {})
                    marks |= {key: token("hash", of, length=20)} | ({version_key: hash_version} if hash_version else {})

    def deploy(
        self,
        name: str,
        namespace: str,
        *,
        replicas: int,
        nodes: Sequence[str],
        image: str = "",
        kind: str = "Deployment",
        annotations: Strings | None = None,
        placement: JsonMap | None = None,
        spare: int | None = None,
    ) -> None:
        """A workload with its pods; with `spare` also a PodDisruptionBudget that allows that many pods to be
        unavailable.
        """
        spec = {"containers": containers(name, image or f"registry.example/{namespace}/{name}:2026.9.1")}
        pod = template({"app": name}, spec | (placement or {}), annotations=annotations)
        owner = workload(kind, name, namespace=namespace, replicas=replicas, pod=pod)
        self.add(owner, *pods_of(owner, nodes, count=replicas))
        if spare is not None:
            self.add(budget(name, namespace, healthy=replicas, allowed=spare, maxUnavailable=spare))


def _hashed(doc: JsonMap) -> tuple[str, str]:
    """The pool and the node class whose hashes an object carries; empty if it carries none."""
    match doc["kind"]:
        case "NodePool":
            return doc["metadata"]["name"], ""
        case "EC2NodeClass":
            return "", doc["metadata"]["name"]
        case "NodeClaim":
            return doc["metadata"]["labels"][labels.NODEPOOL], doc["spec"]["nodeClassRef"]["name"]
    return "", ""

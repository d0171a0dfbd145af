"""Builders of ordinary Kubernetes objects, in the format of `kubectl get -o json`."""

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from migrations_app.manifests import JsonMap

Strings = Mapping[str, str]

BORN = "2026-09-14T08:20:11Z"


def token(*words: object, length: int = 17) -> str:
    """Hexadecimal text of that length; looks random, but is the same in every run."""
    return hashlib.blake2b("/".join(map(str, words)).encode(), digest_size=20).hexdigest()[:length]


def suffix(*words: object) -> str:
    """Five characters like those that the API server appends to generated names."""
    alphabet = "bcdfghjklmnpqrstvwxz2456789"
    number = int(token(*words, length=12), 16)
    return "".join(alphabet[number // len(alphabet) ** place % len(alphabet)] for place in range(5))


def meta(name: str, namespace: str = "", **more: Any) -> JsonMap:  # noqa: ANN401 - the optional fields of metadata
    """Metadata with a stable uid; empty fields are left out, as in the API server."""
    metadata: JsonMap = {"name": name}
    if namespace:
        metadata["namespace"] = namespace
    metadata |= {"uid": uid_of(namespace, name), "resourceVersion": str(int(token(name, length=6), 16))}
    metadata["creationTimestamp"] = BORN
    return metadata | {key: value for key, value in more.items() if value}


def uid_of(*words: str) -> str:
    """A uid that is the same in every run."""
    digits = token("uid", *words, length=32)
    return "-".join((digits[:8], digits[8:12], f"4{digits[13:16]}", f"a{digits[17:20]}", digits[20:]))


def owner(kind: str, name: str, *, api_version: str, controller: bool = True) -> JsonMap:
    """One entry of ownerReferences."""
    return {
        "apiVersion": api_version,
        "kind": kind,
        "name": name,
        "uid": uid_of("", name),
        "controller": controller,
        "blockOwnerDeletion": True,
    }


def doc(api_version: str, kind: str, *, metadata: JsonMap, **rest: Any) -> JsonMap:  # noqa: ANN401 - spec, status, data...
    return {"apiVersion": api_version, "kind": kind, "metadata": metadata} | rest


def node(name: str, *, kubelet: str, provider_id: str, **more: Any) -> JsonMap:  # noqa: ANN401 - fields of metadata
    """A Ready node; `taints` among `more` go to its spec, `capacity` to its status."""
    spec: JsonMap = {"providerID": provider_id}
    capacity = more.pop("capacity", None)
    if taints := more.pop("taints", None):
        spec["taints"] = taints
    status = {
        "conditions": [{"type": "Ready", "status": "True", "reason": "KubeletReady"}],
        "nodeInfo": {"kubeletVersion": kubelet},
    } | ({"capacity": capacity} if capacity else {})
    return doc("v1", "Node", metadata=meta(name, **more), spec=spec, status=status)


def machine_labels(*, instance_type: str, zone: str, arch: str = "amd64") -> dict[str, str]:
    """The labels that kubelet and the cloud controller set on every node."""
    return {
        "kubernetes.io/arch": arch,
        "kubernetes.io/os": "linux",
        "node.kubernetes.io/instance-type": instance_type,
        "topology.kubernetes.io/region": zone[:-1],
        "topology.kubernetes.io/zone": zone,
    }


def template(labels: Strings, spec: JsonMap, *, annotations: Strings | None = None) -> JsonMap:
    metadata: JsonMap = {"labels": dict(labels)}
    if annotations:
        metadata["annotations"] = dict(annotations)
    return {"metadata": metadata, "spec": spec}


def containers(name: str, image: str) -> list[JsonMap]:
    return [{"name": name, "image": image, "resources": {"requests": {"cpu": "250m", "memory": "256Mi"}}}]


def workload(kind: str, name: str, *, namespace: str, replicas: int, pod: JsonMap, **more: Any) -> JsonMap:  # noqa: ANN401 - metadata
    """A Deployment, StatefulSet or DaemonSet whose replicas are all ready."""
    selector = {"matchLabels": {"app": name}} if "selector" not in more else {"matchLabels": more.pop("selector")}
    spec: JsonMap = {"selector": selector, "template": pod}
    status: JsonMap = {"readyReplicas": replicas, "replicas": replicas, "updatedReplicas": replicas}
    if kind == "DaemonSet":
        status = {"numberReady": replicas, "desiredNumberScheduled": replicas}
    else:
        spec["replicas"] = replicas
    return doc("apps/v1", kind, metadata=meta(name, namespace, **more), spec=spec, status=status)


def pods_of(parent: JsonMap, nodes: Sequence[str], *, count: int) -> list[JsonMap]:
    """The pods of a workload, distributed over the nodes in turn."""
    return [_pod(parent, nodes[place % len(nodes)], place=place) for place in range(count)]


def _pod(parent: JsonMap, node_name: str, *, place: int) -> JsonMap:
    kind, name, namespace = parent["kind"], parent["metadata"]["name"], parent["metadata"]["namespace"]
    pod_template = parent["spec"]["template"]
    labels = dict(pod_template["metadata"]["labels"])
    if kind == "Deployment":
        digest = token(namespace, name, length=9)
        labels["pod-template-hash"] = digest
        parent_name, tail, by_kind = f"{name}-{digest}", suffix(name, place), "ReplicaSet"
    else:
        parent_name, tail, by_kind = name, str(place) if kind == "StatefulSet" else suffix(name, place), kind
    by = owner(by_kind, parent_name, api_version="apps/v1")
    annotations = pod_template["metadata"].get("annotations")
    metadata = meta(f"{parent_name}-{tail}", namespace, labels=labels, annotations=annotations, ownerReferences=[by])
    spec = {"nodeName": node_name} | pod_template["spec"]
    return doc("v1", "Pod", metadata=metadata, spec=spec, status={"phase": "Running"})


def budget(name: str, namespace: str, *, healthy: int, allowed: int, **limit: int | str) -> JsonMap:
    """A PodDisruptionBudget; `limit` is maxUnavailable or minAvailable."""
    status = {
        "currentHealthy": healthy,
        "desiredHealthy": healthy - allowed,
        "disruptionsAllowed": allowed,
        "expectedPods": healthy,
    }
    spec = {"selector": {"matchLabels": {"app": name}}} | limit
    return doc("policy/v1", "PodDisruptionBudget", metadata=meta(name, namespace), spec=spec, status=status)


def config_map(name: str, namespace: str, *, data: Strings) -> JsonMap:
    return doc("v1", "ConfigMap", metadata=meta(name, namespace), data=dict(data))


def server_version(minor: str, *, patch: int = 4, build: str = "eks-a5df82a") -> JsonMap:
    """The response of GET /version on EKS."""
    major, _, number = minor.partition(".")
    return {
        "major": major,
        "minor": f"{number}+",
        "gitVersion": f"v{minor}.{patch}-{build}",
        "platform": "linux/amd64",
        "goVersion": "go1.22.5",
    }


def namespaces_of(docs: Iterable[JsonMap]) -> list[JsonMap]:
    """The Namespaces that those objects are in, and kube-system, each with the label that the API server gives it."""
    names = {"kube-system"} | {
        document["metadata"]["namespace"] for document in docs if document["metadata"].get("namespace")
    }
    label = "kubernetes.io/metadata.name"
    return [doc("v1", "Namespace", metadata=meta(name, labels={label: name})) for name in sorted(names)]

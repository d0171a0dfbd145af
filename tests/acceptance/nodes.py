"""Nodes, add-ons, workloads and their pods, as full as `kubectl get -o yaml` shows them."""

from collections.abc import Sequence
from typing import Any

from migrations_app.samples.kubernetes_objects import BORN, Strings, doc, meta, owner, suffix, token

Document = dict[str, Any]

REGION = "us-west-2"
DUMPED = "2026-09-28T10:04:00Z"
"""When kubelets were last heard of: two weeks after everything was made."""
HOST = "kubernetes.io/hostname"


def kubelet(kubernetes: str) -> str:
    return f"v{kubernetes}.9-eks-1ade0b7"


def node_name(cluster: str, place: int) -> str:
    return f"ip-192-168-{place // 200 + 32}-{place % 200 + 10}.{REGION}.compute.internal"


def zone(place: int) -> str:
    return f"{REGION}{'abc'[place % 3]}"


def provider_id(cluster: str, place: int) -> str:
    return f"aws:///{zone(place)}/i-0{token(cluster, 'instance', place, length=16)}"


def base_labels(cluster: str, place: int, *, instance_type: str) -> dict[str, str]:
    """What kubelet and the cloud controller put on every node, the deprecated keys too."""
    here = zone(place)
    kept = {
        "beta.kubernetes.io/arch": "amd64",
        "beta.kubernetes.io/instance-type": instance_type,
        "beta.kubernetes.io/os": "linux",
        "failure-domain.beta.kubernetes.io/region": REGION,
        "failure-domain.beta.kubernetes.io/zone": here,
        "k8s.io/cloud-provider-aws": token(cluster, length=32),
    }
    return kept | {
        "kubernetes.io/arch": "amd64",
        HOST: node_name(cluster, place),
        "kubernetes.io/os": "linux",
        "node.kubernetes.io/instance-type": instance_type,
        "topology.kubernetes.io/region": REGION,
        "topology.kubernetes.io/zone": here,
    }


def node(cluster: str, place: int, *, kubernetes: str, labels: Strings, **more: Any) -> Document:
    """A Ready node with its status; `more` are fields of metadata."""
    name = node_name(cluster, place)
    conditions = [
        {"type": kind, "status": "False", "reason": f"KubeletHas{word}", "lastTransitionTime": BORN}
        for kind, word in (
            ("MemoryPressure", "SufficientMemory"),
            ("DiskPressure", "NoDiskPressure"),
            ("PIDPressure", "SufficientPID"),
        )
    ]
    conditions.append({"type": "Ready", "status": "True", "reason": "KubeletReady", "lastTransitionTime": BORN})
    conditions = [one | {"lastHeartbeatTime": DUMPED} for one in conditions]
    allocatable = {"cpu": "3920m", "ephemeral-storage": "18242267924", "memory": "15076Mi", "pods": "58"}
    status = {
        "addresses": [{"address": "192.168.32.10", "type": "InternalIP"}, {"address": name, "type": "Hostname"}],
        "allocatable": allocatable,
        "capacity": allocatable | {"cpu": "4", "memory": "16Gi"},
        "conditions": conditions,
        "daemonEndpoints": {"kubeletEndpoint": {"Port": 10250}},
        "images": [{"names": [f"registry.example/pause@sha256:{'ab' * 32}"], "sizeBytes": 1}],
        "nodeInfo": {
            "architecture": "amd64",
            "containerRuntimeVersion": "containerd://1.7.11",
            "kernelVersion": "5.10.215-203.850.amzn2.x86_64",
            "kubeProxyVersion": kubelet(kubernetes),
            "kubeletVersion": kubelet(kubernetes),
            "operatingSystem": "linux",
            "osImage": "Amazon Linux 2",
        },
    }
    notes = {"node.alpha.kubernetes.io/ttl": "0", "volumes.kubernetes.io/controller-managed-attach-detach": "true"}
    metadata = meta(name, labels=dict(labels), annotations=notes | more.pop("annotations", {}), **more)
    return doc("v1", "Node", metadata=metadata, spec={"providerID": provider_id(cluster, place)}, status=status)


def managed_nodes(cluster: str, count: int, *, kubernetes: str) -> list[Document]:
    """The managed node group that the guide makes."""
    group = {
        "alpha.eksctl.io/cluster-name": cluster,
        "alpha.eksctl.io/nodegroup-name": f"{cluster}-ng",
        "eks.amazonaws.com/capacityType": "ON_DEMAND",
        "eks.amazonaws.com/nodegroup": f"{cluster}-ng",
        "eks.amazonaws.com/nodegroup-image": "ami-0f1e2d3c4b5a69788",
        "eks.amazonaws.com/sourceLaunchTemplateVersion": "1",
    }
    return [
        node(
            cluster,
            place,
            kubernetes=kubernetes,
            labels=base_labels(cluster, place, instance_type="m5.large") | group,
        )
        for place in range(count)
    ]


def workload(kind: str, name: str, namespace: str, *, pods: int, spec: Document, **marks: Any) -> Document:
    """A workload with the defaults of the API server and all of its pods ready."""
    labels = marks.pop("pod_labels", {"app": name})
    notes = marks.pop("pod_annotations", {})
    template = {"metadata": {"labels": labels} | ({"annotations": notes} if notes else {}), "spec": _pod_spec(spec)}
    whole: Document = {"selector": {"matchLabels": labels}, "revisionHistoryLimit": 10, "template": template}
    counts = dict.fromkeys(("replicas", "readyReplicas", "availableReplicas", "updatedReplicas"), pods)
    if kind == "DaemonSet":
        counts = dict.fromkeys(("currentNumberScheduled", "desiredNumberScheduled", "numberReady"), pods)
        whole["updateStrategy"] = {"rollingUpdate": {"maxSurge": 0, "maxUnavailable": 1}, "type": "RollingUpdate"}
    else:
        whole["replicas"] = pods
    if kind == "StatefulSet":
        whole |= {"serviceName": name, "podManagementPolicy": "OrderedReady"}
    metadata = meta(name, namespace, generation=1, **marks)
    return doc("apps/v1", kind, metadata=metadata, spec=whole, status=counts | {"observedGeneration": 1})


def _pod_spec(given: Document) -> Document:
    containers = [
        {"imagePullPolicy": "IfNotPresent", "terminationMessagePath": "/dev/termination-log"} | one
        for one in given.pop("containers")
    ]
    defaults = {"dnsPolicy": "ClusterFirst", "restartPolicy": "Always", "schedulerName": "default-scheduler"}
    return defaults | {"securityContext": {}, "terminationGracePeriodSeconds": 30, "containers": containers} | given


def container(name: str, image: str, **more: Any) -> Document:
    return {"name": name, "image": image, "resources": {"requests": {"cpu": "100m", "memory": "128Mi"}}} | more


def pods_of(parent: Document, nodes: Sequence[str]) -> list[Document]:
    """Its pods, one a node in turn; those of a Deployment belong to a ReplicaSet."""
    status = parent["status"]
    count = status.get("replicas", status.get("desiredNumberScheduled", 0))
    return [_pod(parent, place, node_name=nodes[place % len(nodes)]) for place in range(count)]


def _pod(parent: Document, place: int, *, node_name: str) -> Document:
    kind, metadata, template = parent["kind"], parent["metadata"], parent["spec"]["template"]
    name, labels = metadata["name"], dict(template["metadata"]["labels"])
    by = owner(kind, name, api_version="apps/v1")
    end = str(place) if kind == "StatefulSet" else suffix(name, place)
    if kind == "Deployment":
        name = f"{name}-{token(name, length=9)}"
        labels["pod-template-hash"] = name.rpartition("-")[2]
        by = owner("ReplicaSet", name, api_version="apps/v1")
    notes = template["metadata"].get("annotations", {})
    marks = meta(
        f"{name}-{end}",
        metadata["namespace"],
        generateName=f"{name}-",
        labels=labels,
        annotations=notes,
        ownerReferences=[by],
    )
    return doc("v1", "Pod", metadata=marks, spec=_bound(template["spec"], node_name), status=_running(template["spec"]))


def _bound(spec: Document, node_name: str) -> Document:
    """The spec of a pod on its node, with what admission adds to every pod."""
    added = [
        {"effect": "NoExecute", "key": f"node.kubernetes.io/{word}", "operator": "Exists", "tolerationSeconds": 300}
        for word in ("not-ready", "unreachable")
    ]
    sources = [{"serviceAccountToken": {"expirationSeconds": 3607, "path": "token"}}]
    volume = {"name": "kube-api-access-x7k2p", "projected": {"defaultMode": 420, "sources": sources}}
    more = {
        "enableServiceLinks": True,
        "nodeName": node_name,
        "preemptionPolicy": "PreemptLowerPriority",
        "priority": 0,
        "tolerations": [*spec.get("tolerations", ()), *added],
        "volumes": [*spec.get("volumes", ()), volume],
    }
    return spec | more


def _running(spec: Document) -> Document:
    statuses = [
        {"name": one["name"], "image": one["image"], "ready": True, "restartCount": 0, "started": True}
        | {"state": {"running": {"startedAt": BORN}}, "lastState": {}}
        for one in spec["containers"]
    ]
    conditions = [{"type": kind, "status": "True"} for kind in ("PodScheduled", "Initialized", "Ready")]
    return {
        "phase": "Running",
        "conditions": conditions,
        "containerStatuses": statuses,
        "hostIP": "192.168.32.10",
        "podIP": "192.168.40.7",
        "qosClass": "Burstable",
        "startTime": BORN,
    }


def budget(name: str, namespace: str, *, healthy: int, allowed: int, labels: Strings, **limit: Any) -> Document:
    status = {
        "conditions": [{"type": "DisruptionAllowed", "status": "True" if allowed else "False"}],
        "currentHealthy": healthy,
        "desiredHealthy": healthy - allowed,
        "disruptionsAllowed": allowed,
        "expectedPods": healthy,
        "observedGeneration": 1,
    }
    spec = {"selector": {"matchLabels": dict(labels)}} | limit
    return doc(
        "policy/v1", "PodDisruptionBudget", metadata=meta(name, namespace, generation=1), spec=spec, status=status
    )


def _required(*expressions: tuple[str, str, tuple[str, ...]]) -> Document:
    rows = [{"key": key, "operator": sign, "values": list(values)} for key, sign, values in expressions]
    terms = {"nodeSelectorTerms": [{"matchExpressions": rows}]}
    return {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}}


def add_ons(system: Sequence[str], every: Sequence[str]) -> list[Document]:
    """What EKS itself runs: CoreDNS on the managed nodes, the network plugin and the proxy on all."""
    arches = ("kubernetes.io/arch", "In", ("amd64", "arm64"))
    linux = ("kubernetes.io/os", "In", ("linux",))
    own = ("eks.amazonaws.com/compute-type", "NotIn", ("fargate", "hybrid", "auto"))
    everywhere = [{"operator": "Exists"}]
    registry = f"602401143452.dkr.ecr.{REGION}.amazonaws.com/eks"
    dns = {
        "affinity": _required(linux, arches)
        | {"podAntiAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [_apart("k8s-app", "kube-dns")]}},
        "containers": [container("coredns", f"{registry}/coredns:v1.11.1-eksbuild.8")],
        "dnsPolicy": "Default",
        "priorityClassName": "system-cluster-critical",
        "serviceAccountName": "coredns",
        "tolerations": [
            {"effect": "NoSchedule", "key": "node-role.kubernetes.io/control-plane"},
            {"key": "CriticalAddonsOnly", "operator": "Exists"},
        ],
        "topologySpreadConstraints": [
            {
                "labelSelector": {"matchLabels": {"k8s-app": "kube-dns"}},
                "maxSkew": 1,
                "topologyKey": "topology.kubernetes.io/zone",
                "whenUnsatisfiable": "ScheduleAnyway",
            }
        ],
    }
    labels = {"eks.amazonaws.com/component": "coredns", "k8s-app": "kube-dns"}
    coredns = workload("Deployment", "coredns", "kube-system", pods=2, spec=dns, pod_labels=labels)
    found = [coredns, *pods_of(coredns, system)]
    found.append(
        budget("coredns", "kube-system", healthy=2, allowed=1, labels={"k8s-app": "kube-dns"}, maxUnavailable=1)
    )
    for name, image, host in (
        ("aws-node", "amazon-k8s-cni:v1.18.3-eksbuild.2", True),
        ("kube-proxy", "kube-proxy:v1.29.7-eksbuild.2", True),
        ("eks-pod-identity-agent", "eks-pod-identity-agent:v0.1.10", True),
    ):
        spec = {
            "affinity": _required(linux, arches, own),
            "containers": [container(name, f"{registry}/{image}")],
            "hostNetwork": host,
            "priorityClassName": "system-node-critical",
            "serviceAccountName": name,
            "tolerations": everywhere,
        }
        made = workload("DaemonSet", name, "kube-system", pods=len(every), spec=spec, pod_labels={"k8s-app": name})
        found += [made, *pods_of(made, every)]
    return found


def _apart(key: str, value: str) -> Document:
    chosen = {"matchExpressions": [{"key": key, "operator": "In", "values": [value]}]}
    return {"podAffinityTerm": {"labelSelector": chosen, "topologyKey": HOST}, "weight": 100}


def applications(launched: Sequence[str]) -> list[Document]:
    """The demonstration of the guide, and what a careful team runs beside it."""
    spread = {"maxSkew": 1, "whenUnsatisfiable": "ScheduleAnyway", "topologyKey": "topology.kubernetes.io/zone"}
    web = workload(
        "Deployment",
        "web",
        "shop",
        pods=4,
        spec={
            "containers": [container("web", "registry.example/shop/web:2026.9.1")],
            "nodeSelector": {"kubernetes.io/arch": "amd64"},
            "topologySpreadConstraints": [spread | {"labelSelector": {"matchLabels": {"app": "web"}}}],
        },
    )
    inflate = workload(
        "Deployment",
        "inflate",
        "default",
        pods=3,
        spec={
            "containers": [container("inflate", "public.ecr.aws/eks-distro/kubernetes/pause:3.7")],
            "securityContext": {"runAsUser": 1000, "runAsGroup": 3000, "fsGroup": 2000},
            "terminationGracePeriodSeconds": 0,
        },
    )
    database = workload(
        "StatefulSet", "ledger", "shop", pods=3, spec={"containers": [container("db", "registry.example/shop/db:16")]}
    )
    found = [web, *pods_of(web, launched), inflate, *pods_of(inflate, launched), database, *pods_of(database, launched)]
    for name, healthy in (("web", 4), ("ledger", 3)):
        found.append(budget(name, "shop", healthy=healthy, allowed=1, labels={"app": name}, maxUnavailable=1))
    return found

"""Reads whole objects for a twin: nodes, pods without their environment, budgets, and Karpenter's objects. Reads no
Secrets.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import msgspec

from migrations_app.clients.kubernetes.api import ClusterApi, Resource
from migrations_app.errors import InvalidInput, NotServed, ReadError
from migrations_app.inventory.inventory import Inventory
from migrations_app.inventory.parts import Seen
from migrations_app.karpenter import kinds, labels
from migrations_app.karpenter.kinds import Kind
from migrations_app.manifests import JsonMap
from migrations_app.simulator.pod_shapes import controller_of
from migrations_app.twin.store import SharedParts

PARTS: tuple[tuple[str, Kind], ...] = (
    ("crds", kinds.CRD),
    ("nodes", kinds.NODE),
    ("pods", kinds.POD),
    ("pdbs", kinds.DISRUPTION_BUDGET),
    ("provisioners", kinds.PROVISIONER),
    ("machines", kinds.MACHINE),
    ("nodepools", kinds.NODE_POOL),
    ("nodeclaims", kinds.NODE_CLAIM),
    ("awsnodetemplates", kinds.AWS_NODE_TEMPLATE),
    ("ec2nodeclasses", kinds.EC2_NODE_CLASS),
)
NEEDED = ("crds", "nodes", "pods", "provisioners", "machines", "nodepools", "nodeclaims")
"""Parts that every rehearsal needs: where pods run, and what replaces nodes."""
WORKLOADS = (("ReplicaSet", "replicasets"), ("StatefulSet", "statefulsets"), ("DaemonSet", "daemonsets"))
WEBHOOKS = (
    ("MutatingWebhookConfiguration", "mutatingwebhookconfigurations"),
    ("ValidatingWebhookConfiguration", "validatingwebhookconfigurations"),
)
_OVER = ("Succeeded", "Failed")
_MARKS = (labels.DO_NOT_EVICT, labels.DO_NOT_DISRUPT, labels.DO_NOT_CONSOLIDATE)
_POD_METADATA = ("name", "namespace", "uid", "labels", "ownerReferences", "creationTimestamp", "deletionTimestamp")
_POD_SPEC = (
    "nodeName", "nodeSelector", "affinity", "tolerations", "topologySpreadConstraints", "terminationGracePeriodSeconds",
    "priorityClassName", "overhead",
)  # fmt: skip
_VOLUMES = ("emptyDir", "hostPath", "persistentVolumeClaim", "ephemeral")


@dataclass(slots=True)
class ClusterReading:
    """The objects by kind. `unread` has the reason for each part that could not be read, by name."""

    taken_at: str
    objects: dict[str, list[JsonMap]] = field(default_factory=dict)
    unread: dict[str, str] = field(default_factory=dict)

    def of(self, kind: str) -> list[JsonMap]:
        return self.objects.get(kind, [])

    @property
    def documents(self) -> Iterator[JsonMap]:
        """All objects, CRDs first."""
        for documents in self.objects.values():
            yield from documents


def read_objects(api: ClusterApi, inventory: Inventory) -> ClusterReading:
    """Reads the objects that a twin needs, in the API versions of the scan.

    Raises InvalidInput `not_seen` if a part of NEEDED cannot be read.
    """
    cluster = ClusterReading(inventory.taken_at)
    for name, kind in PARTS:
        part = inventory.part(name)
        if not isinstance(part, Seen):
            cluster.unread[name] = part.why
        elif part.served is not None:
            resource = Resource(kind.group, part.served.rpartition("/")[2], kind.plural)
            keep = _kept_pods() if kind is kinds.POD else _without_managers
            cluster.objects[kind.kind] = _listed(
                api, resource, kind=kind.kind, unread=cluster.unread, name=name, keep=keep
            )
    for needed in NEEDED:
        if needed in cluster.unread:
            raise InvalidInput(f"{needed} could not be read: {cluster.unread[needed]}", code="not_seen", where=needed)
    cluster.objects["CustomResourceDefinition"] = [
        crd for crd in cluster.of("CustomResourceDefinition") if is_ours(crd)
    ]
    _read_workloads(api, cluster)
    for name, plural in WEBHOOKS:
        hooks = Resource("admissionregistration.k8s.io", "v1", plural)
        cluster.objects[name] = _listed(api, hooks, kind=name, unread=cluster.unread, name=f"{name}s")
    return cluster


def _kept_pods() -> Callable[[JsonMap], JsonMap | None]:
    """Reduces pods while they are read; values that the pods of a workload share are stored once."""
    parts = SharedParts()

    def keep(pod: JsonMap) -> JsonMap | None:
        slim = needed_pod_fields(pod)
        return None if slim is None else parts.shared(slim)

    return keep


def _without_managers(document: JsonMap) -> JsonMap:
    metadata = {key: value for key, value in document["metadata"].items() if key != "managedFields"}
    return document | {"metadata": metadata}


def _listed(
    api: ClusterApi,
    resource: Resource,
    *,
    kind: str,
    unread: dict[str, str],
    name: str,
    keep: Callable[[JsonMap], JsonMap | None] = _without_managers,
) -> list[JsonMap]:
    """The reduced objects of the kind; empty if the kind is not served. A read error is noted in `unread`."""
    head, documents = {"apiVersion": resource.group_version, "kind": kind}, []
    try:
        for page in api.pages(resource):
            for raw in page.items:
                document = msgspec.json.decode(raw)
                if isinstance(document, dict) and isinstance(document.get("metadata"), dict):
                    documents.append(keep(document | head))
    except NotServed:
        return []
    except (ReadError, msgspec.DecodeError) as reason:
        unread[name] = reason.code if isinstance(reason, ReadError) else "bad_answer"
        return []
    return [document for document in documents if document is not None]


def is_ours(crd: JsonMap) -> bool:
    """Whether the CRD belongs to Karpenter."""
    group = str(crd.get("spec", {}).get("group", ""))
    return group.endswith(("karpenter.sh", "karpenter.k8s.aws"))


def needed_pod_fields(pod: JsonMap) -> JsonMap | None:
    """The fields of a pod that a rehearsal needs: no environment, command or volume content. None for a
    finished pod.
    """
    metadata, spec, status = pod["metadata"], pod.get("spec") or {}, pod.get("status") or {}
    if status.get("phase") in _OVER:
        return None
    slim_metadata = {key: metadata[key] for key in _POD_METADATA if key in metadata}
    marks = {key: value for key, value in (metadata.get("annotations") or {}).items() if key in _MARKS}
    if marks:
        slim_metadata["annotations"] = marks
    placed = {key: spec[key] for key in _POD_SPEC if spec.get(key) is not None}
    for name in ("containers", "initContainers"):
        if spec.get(name):
            placed[name] = [_container(entry) for entry in spec[name]]
    volumes = [
        {"name": f"v{place}"} | kind
        for place, entry in enumerate(spec.get("volumes") or ())
        if (kind := _volume(entry))
    ]
    if volumes:
        placed["volumes"] = volumes
    return {"apiVersion": "v1", "kind": "Pod", "metadata": slim_metadata, "spec": placed, "status": _status(status)}


def _status(status: Mapping[str, Any]) -> JsonMap:
    """The pod's phase and Ready condition. Pods of a redacted bundle have no conditions: a running one counts
    as Ready.
    """
    phase = status.get("phase") or "Pending"
    conditions = [condition for condition in status.get("conditions") or () if condition.get("type") == "Ready"]
    if not conditions and phase == "Running":
        conditions = [{"type": "Ready", "status": "True"}]
    return {"phase": phase, "conditions": conditions}


def _container(container: Mapping[str, Any]) -> JsonMap:
    slim = {key: container[key] for key in ("name", "image", "restartPolicy") if key in container}
    resources = container.get("resources") or {}
    amounts = {key: resources[key] for key in ("requests", "limits") if resources.get(key)}
    return slim | ({"resources": amounts} if amounts else {})


def _volume(volume: Mapping[str, Any]) -> JsonMap:
    return {kind: {} for kind in _VOLUMES if volume.get(kind) is not None}


def _read_workloads(api: ClusterApi, cluster: ClusterReading) -> None:
    """Adds the controllers of pods: as read, or derived from their pods if they could not be read."""
    for kind, plural in WORKLOADS:
        apps, name = Resource("apps", "v1", plural), f"{kind}s without pods"
        listed = _listed(api, apps, kind=kind, unread=cluster.unread, name=name)
        cluster.objects[kind] = [_slim_workload(workload) for workload in listed]
    known = {workload["metadata"].get("uid") for kind, _ in WORKLOADS for workload in cluster.of(kind)}
    for workload in _workloads_of(cluster.of("Pod")):
        if workload["metadata"]["uid"] not in known:
            cluster.objects[workload["kind"]].append(workload)


def _slim_workload(document: JsonMap) -> JsonMap:
    spec = document.get("spec") or {}
    metadata = {
        key: document["metadata"][key] for key in ("name", "namespace", "uid", "labels") if key in document["metadata"]
    }
    slim_spec: JsonMap = {key: spec[key] for key in ("replicas", "selector") if key in spec}
    slim_spec["template"] = _template(spec.get("template") or {})
    head = {key: document[key] for key in ("apiVersion", "kind")}
    return head | {"metadata": metadata, "spec": slim_spec}


def _template(template: Mapping[str, Any]) -> JsonMap:
    metadata = template.get("metadata") or {}
    slim = needed_pod_fields(
        {"metadata": {"name": "pod", "namespace": "any", **metadata}, "spec": template.get("spec") or {}}
    )
    own = (
        {key: slim["metadata"][key] for key in ("labels", "annotations") if slim and key in slim["metadata"]}
        if slim
        else {}
    )
    spec = {key: value for key, value in slim["spec"].items() if key != "nodeName"} if slim else {}
    return {"metadata": own, "spec": spec}


def _workloads_of(pods: Iterable[JsonMap]) -> Iterator[JsonMap]:
    """A workload for each controller that pods name, with as many replicas as it has pods now."""
    groups: dict[tuple[str, str], list[JsonMap]] = {}
    for pod in pods:
        owner = controller_of(pod)
        if owner is not None and owner.get("kind") != "Node" and "deletionTimestamp" not in pod["metadata"]:
            groups.setdefault((pod["metadata"]["namespace"], str(owner.get("uid"))), []).append(pod)
    for (namespace, uid), group in groups.items():
        owner = controller_of(group[0]) or {}
        known = owner.get("kind") in ("ReplicaSet", "StatefulSet", "DaemonSet")
        name = str(owner.get("name")) if known else f"{str(owner.get('kind')).lower()}-{owner.get('name')}"
        labels_of = group[0]["metadata"].get("labels") or {}
        template = _template({"metadata": group[0]["metadata"], "spec": group[0]["spec"]})
        if owner.get("kind") == "DaemonSet":
            template["spec"].pop("affinity", None)  # the controller itself pins each of its pods to a node
        spec: JsonMap = {"selector": {"matchLabels": labels_of}, "template": template}
        if owner.get("kind") != "DaemonSet":
            spec["replicas"] = len(group)
        head = {"apiVersion": "apps/v1", "kind": owner["kind"] if known else "ReplicaSet"}
        yield head | {"metadata": {"name": name, "namespace": namespace, "uid": uid}, "spec": spec}

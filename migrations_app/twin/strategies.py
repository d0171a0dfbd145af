"""What the server adds to, keeps from and counts on objects of each kind.

Sources: kubernetes/kubernetes@v1.20.2:pkg/registry/*/strategy.go, pkg/apis/core/v1/defaults.go and the admission
plugins that are on by default (Priority, DefaultTolerationSeconds, TaintNodesByCondition).
"""

from collections.abc import Iterator

from migrations_app.manifests import JsonMap
from migrations_app.twin.calls import Call
from migrations_app.twin.definitions import accepted, crd_faults
from migrations_app.twin.objects.faults import RefusalCause, wrong
from migrations_app.twin.objects.kinds import CRD, ServedKind

_POD, _NODE, _NAMESPACE = ("", "pods"), ("", "nodes"), ("", "namespaces")
_BUDGET = ("policy", "poddisruptionbudgets")
_FIRST_WITH_NAME_LABEL = 21
_NAME_LABEL = "kubernetes.io/metadata.name"
_NOT_READY = {"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"}
_TOLERATION_SECONDS = 300
_TOLERATED = tuple(
    {
        "key": f"node.kubernetes.io/{what}",
        "operator": "Exists",
        "effect": "NoExecute",
        "tolerationSeconds": _TOLERATION_SECONDS,
    }
    for what in ("not-ready", "unreachable")
)
_POD_SPEC: JsonMap = {
    "restartPolicy": "Always",
    "terminationGracePeriodSeconds": 30,
    "dnsPolicy": "ClusterFirst",
    "securityContext": {},
    "schedulerName": "default-scheduler",
    "priority": 0,
    "enableServiceLinks": True,
    "preemptionPolicy": "PreemptLowerPriority",
}
_CONTAINER: JsonMap = {
    "resources": {},
    "terminationMessagePath": "/dev/termination-log",
    "terminationMessagePolicy": "File",
}
_NODE_TEXTS = (
    "machineID",
    "systemUUID",
    "bootID",
    "kernelVersion",
    "osImage",
    "containerRuntimeVersion",
    "kubeletVersion",
    "kubeProxyVersion",
    "operatingSystem",
    "architecture",
)
_NODE_STATUS: JsonMap = {
    "daemonEndpoints": {"kubeletEndpoint": {"Port": 0}},
    "nodeInfo": dict.fromkeys(_NODE_TEXTS, ""),
}
_BUDGET_STATUS: JsonMap = {"disruptionsAllowed": 0, "currentHealthy": 0, "desiredHealthy": 0, "expectedPods": 0}


def blank(document: JsonMap, call: Call) -> JsonMap:
    """Returns the empty object with which a new one is compared to find its added fields."""
    head = {"apiVersion": document["apiVersion"], "kind": document["kind"], "metadata": {}}
    return head if call.kind.custom else head | {"spec": {}, "status": {}}


def created(document: JsonMap, call: Call, *, minor: int, now: str) -> JsonMap:
    """Returns the new object as the server stores it."""
    place = call.kind.place
    if call.definition.has_status(call.version) and place != _NODE:
        document = {key: value for key, value in document.items() if key != "status"}
    if place == _POD:
        return _pod(document)
    if place == _NODE:
        return _node(document)
    if place == _BUDGET:
        return document | {"status": _BUDGET_STATUS}
    if place == CRD.place and not [*crd_faults(document)]:
        return accepted(document, None, now=now)
    return _namespace(document, minor) if place == _NAMESPACE else document


def _pod(pod: JsonMap) -> JsonMap:
    sent_spec = pod.get("spec") or {}
    spec = _POD_SPEC | sent_spec
    tolerations = list(sent_spec.get("tolerations") or ())
    tolerated = {
        (toleration.get("key"), toleration.get("effect"))
        for toleration in tolerations
        if toleration.get("operator") == "Exists"
    }
    everything = any(
        not toleration.get("key") and toleration.get("effect") in (None, "", "NoExecute") for toleration in tolerations
    )
    if not everything:
        tolerations += [default for default in _TOLERATED if (default["key"], default["effect"]) not in tolerated]
    spec["tolerations"] = tolerations
    spec["containers"] = [_container(container) for container in sent_spec.get("containers") or ()]
    return pod | {"spec": spec, "status": {"phase": "Pending", "qosClass": _quality(spec["containers"])}}


def _container(container: JsonMap) -> JsonMap:
    tag = str(container.get("image", "")).rpartition("/")[2].partition(":")[2]
    policy = "Always" if tag in ("", "latest") else "IfNotPresent"
    return _CONTAINER | {"imagePullPolicy": policy} | container


def _quality(containers: list[JsonMap]) -> str:
    """Returns the quality of service class of a pod, by its containers' requests and limits for CPU and memory."""
    resources = [
        (container["resources"].get("requests") or {}, container["resources"].get("limits") or {})
        for container in containers
    ]
    if not any(requests or limits for requests, limits in resources):
        return "BestEffort"
    both = {"cpu", "memory"}
    bound = all(both <= limits.keys() and (limits | requests) == limits for requests, limits in resources)
    return "Guaranteed" if bound else "Burstable"


def _node(node: JsonMap) -> JsonMap:
    spec, status = dict(node.get("spec") or {}), _NODE_STATUS | (node.get("status") or {})
    taints = list(spec.get("taints") or ())
    if not any((taint.get("key"), taint.get("effect")) == tuple(_NOT_READY.values()) for taint in taints):
        taints.append(_NOT_READY)
    if status.get("capacity"):
        status.setdefault("allocatable", status["capacity"])
    return node | {"spec": spec | {"taints": taints}, "status": status}


def _namespace(namespace: JsonMap, minor: int) -> JsonMap:
    metadata = namespace["metadata"]
    if minor >= _FIRST_WITH_NAME_LABEL:
        metadata = metadata | {"labels": (metadata.get("labels") or {}) | {_NAME_LABEL: metadata.get("name", "")}}
    spec = (namespace.get("spec") or {}) | {"finalizers": ["kubernetes"]}
    return namespace | {"metadata": metadata, "spec": spec, "status": {"phase": "Active"}}


def kept(document: JsonMap, old: JsonMap, *, call: Call) -> JsonMap:
    """Returns the sent document with the part that this endpoint cannot change: the status, or all but the status."""
    if call.subresource == "status":
        metadata = document["metadata"]
        if call.kind.custom:
            metadata = old["metadata"]
        result = {key: value for key, value in old.items() if key != "status"} | {"metadata": metadata}
        return result | ({"status": document["status"]} if document.get("status") is not None else {})
    if not call.definition.has_status(call.version):
        return document
    result = {key: value for key, value in document.items() if key != "status"}
    return result | ({"status": old["status"]} if "status" in old else {})


def updated(document: JsonMap, old: JsonMap, *, call: Call, now: str) -> JsonMap:
    """Returns the changed object with its generation increased if needed."""
    if call.kind.place == CRD.place and not [*crd_faults(document)]:
        document = accepted(document, old, now=now)
    if call.kind.counted and not call.subresource and _user_fields(document, call) != _user_fields(old, call):
        generation = int(old["metadata"].get("generation") or 0) + 1
        return document | {"metadata": document["metadata"] | {"generation": generation}}
    return document


def _user_fields(document: JsonMap, call: Call) -> JsonMap:
    """Returns the fields of an object that users write."""
    status = {"status"} if call.definition.has_status(call.version) else set()
    return {key: value for key, value in document.items() if key != "metadata" and key not in status}


def faults_of(document: JsonMap, kind: ServedKind) -> Iterator[RefusalCause]:
    """Returns the faults of an object of a built-in kind, as far as the twin checks it."""
    if kind.place == CRD.place:
        yield from crd_faults(document)
    if kind.place == _BUDGET and {"minAvailable", "maxUnavailable"} <= (document.get("spec") or {}).keys():
        yield wrong("spec", "", why="minAvailable and maxUnavailable cannot be both set")

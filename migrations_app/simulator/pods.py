"""Minikubelet: pods are replaced, placed, run and ended, and their budgets counted."""

import math

from migrations_app.simulator.api import Document, SimulatorApi, pod_path
from migrations_app.simulator.behaviour import Behaviour
from migrations_app.simulator.cluster_view import ClusterView, going, is_ready, owners, stays_with_node, tolerates

READY = [{"type": kind, "status": "True"} for kind in ("Initialized", "Ready", "ContainersReady", "PodScheduled")]


class PodController:
    """One pass a tick; `_next` numbers the pods of each owner."""

    def __init__(self, api: SimulatorApi, behaviour: Behaviour) -> None:
        self._api, self._behaviour = api, behaviour
        self._next: dict[str, int] = {}

    def work(self, view: ClusterView) -> None:
        self._end(view)
        for owner in view.replicas:
            self._replace(view, owner)
        self._place(view)
        self._run(view)
        for budget in view.budgets:
            self._count(view, budget)

    def _end(self, view: ClusterView) -> None:
        for pod in [pod for pod in view.pods if going(pod)]:
            self._api.delete(pod_path(pod), uid=pod["metadata"]["uid"], more={"gracePeriodSeconds": 0})
            view.pods.remove(pod)

    def _replace(self, view: ClusterView, owner: Document) -> None:
        if going(owner):
            return
        uid = owner["metadata"]["uid"]
        names = {pod["metadata"]["name"] for pod in view.pods if any(one["uid"] == uid for one in owners(pod))}
        for _ in range(owner["spec"].get("replicas", 1) - len(names)):
            made = self._api.create(f"{_space(owner)}/pods", replica(owner, self._free_name(owner, names)))
            if made is not None:
                names.add(made["metadata"]["name"])
                view.pods.append(made)

    def _free_name(self, owner: Document, taken: set[str]) -> str:
        name, uid = owner["metadata"]["name"], owner["metadata"]["uid"]
        first = 0 if self._behaviour.same_pod_names else self._next.get(uid, 0)
        number = next(number for number in range(first, first + len(taken) + 1) if f"{name}-{number}" not in taken)
        self._next[uid] = number + 1
        return f"{name}-{number}"

    def _place(self, view: ClusterView) -> None:
        free = free_slots(view, self._behaviour.slots)
        for pod in waiting(view):
            node = next((name for name, left in free.items() if left > 0 and _fits(pod, view.nodes[name])), "")
            if node and self._bind(pod, node):
                free[node] -= 1

    def _bind(self, pod: Document, node: str) -> bool:
        target = {"apiVersion": "v1", "kind": "Node", "name": node}
        name = {"name": pod["metadata"]["name"]}
        body = {"apiVersion": "v1", "kind": "Binding", "metadata": name, "target": target}
        bound = self._api.create(f"{pod_path(pod)}/binding", body) is not None
        if bound:
            pod["spec"]["nodeName"] = node
        return bound

    def _run(self, view: ClusterView) -> None:
        if not self._behaviour.runs:
            return
        for pod in view.pods:
            if pod["spec"].get("nodeName") and not is_ready(pod):
                status = {"phase": "Running", "conditions": READY}
                if self._api.patch(f"{pod_path(pod)}/status", {"status": status}) is not None:
                    pod["status"] = status

    def _count(self, view: ClusterView, budget: Document) -> None:
        metadata, old = budget["metadata"], budget.get("status", {})
        expected, healthy, wanted = counted(view, budget)
        told = {
            "observedGeneration": metadata["generation"],
            "expectedPods": expected,
            "currentHealthy": healthy,
            "desiredHealthy": wanted,
            "disruptionsAllowed": max(0, healthy - wanted),
            "disruptedPods": None,
        }
        if any(old.get(key) != value for key, value in told.items()):
            path = f"/apis/policy/v1beta1/namespaces/{metadata['namespace']}/poddisruptionbudgets/{metadata['name']}"
            body = {"metadata": {"resourceVersion": metadata["resourceVersion"]}, "status": told}
            if self._api.patch(f"{path}/status", body) is not None:
                budget["status"] = told


def replica(owner: Document, name: str, *, node: str = "") -> Document:
    """A pod of this ReplicaSet; with `node` it is placed there."""
    template, metadata = owner["spec"]["template"], owner["metadata"]
    reference = {"apiVersion": "apps/v1", "kind": owner.get("kind", "ReplicaSet"), "name": metadata["name"]}
    by = reference | {"uid": metadata["uid"], "controller": True, "blockOwnerDeletion": True}
    marks = template.get("metadata", {})
    own = {"name": name, "namespace": metadata["namespace"], "ownerReferences": [by]}
    own |= {key: marks[key] for key in ("labels", "annotations") if marks.get(key)}
    placed = {"nodeName": node} if node else {}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": own, "spec": template["spec"] | placed}


def waiting(view: ClusterView) -> list[Document]:
    """Pods that nobody has placed, oldest names first."""
    found = [pod for pod in view.pods if not pod["spec"].get("nodeName") and not going(pod)]
    return sorted(found, key=lambda pod: str(pod["metadata"]["name"]))


def free_slots(view: ClusterView, slots: int) -> dict[str, int]:
    """How many more pods each node takes, for those that take any, by name."""
    free: dict[str, int] = {}
    for name in sorted(view.nodes):
        node = view.nodes[name]
        if is_ready(node) and not going(node) and not node["spec"].get("unschedulable"):
            free[name] = slots
    for pod in view.pods:
        name = pod["spec"].get("nodeName", "")
        if name in free and not stays_with_node(pod):
            free[name] -= 1
    return free


def counted(view: ClusterView, budget: Document) -> tuple[int, int, int]:
    """(expected, healthy, wanted) of a budget."""
    space, wants = budget["metadata"]["namespace"], budget["spec"]["selector"].get("matchLabels", {})
    mine = [pod for pod in view.pods if pod["metadata"]["namespace"] == space and _matches(pod, wants)]
    sets = [one for one in view.replicas if one["metadata"]["namespace"] == space]
    expected = sum(one["spec"].get("replicas", 1) for one in sets if _template_matches(one, wants))
    healthy = sum(is_ready(pod) and not going(pod) for pod in mine)
    spec = budget["spec"]
    if "minAvailable" in spec:
        return expected, healthy, _number(spec["minAvailable"], expected)
    return expected, healthy, expected - _number(spec["maxUnavailable"], expected)


def _number(told: int | str, of: int) -> int:
    return told if isinstance(told, int) else math.ceil(of * int(told.removesuffix("%")) / 100)


def _matches(pod: Document, wants: dict[str, str]) -> bool:
    labels: dict[str, str] = pod["metadata"].get("labels", {})
    return wants.items() <= labels.items()


def _template_matches(owner: Document, wants: dict[str, str]) -> bool:
    labels: dict[str, str] = owner["spec"]["template"].get("metadata", {}).get("labels", {})
    return wants.items() <= labels.items()


def _fits(pod: Document, node: Document) -> bool:
    wants = pod["spec"].get("nodeSelector") or {}
    has: dict[str, str] = node["metadata"].get("labels", {})
    return wants.items() <= has.items() and tolerates(pod, node["spec"].get("taints"))


def _space(owner: Document) -> str:
    return f"/api/v1/namespaces/{owner['metadata']['namespace']}"

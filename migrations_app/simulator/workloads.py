"""Simulates the controllers of workloads, which replace missing pods."""

from collections.abc import Iterable
from itertools import count

from migrations_app.manifests import JsonMap
from migrations_app.simulator.api import SimulatorApi
from migrations_app.simulator.behaviour import Behaviour
from migrations_app.simulator.cluster_state import ClusterState
from migrations_app.simulator.generations import going


class WorkloadController:
    """ReplicaSets and StatefulSets replace pods; DaemonSets have one pod on every node that they fit.

    Sources: kubernetes/kubernetes:pkg/controller/replicaset/replica_set.go (pods that are being deleted do not count),
    pkg/controller/statefulset/stateful_set_control.go (a pod comes again under its name when the old one is gone),
    pkg/controller/daemon/daemon_controller.go.
    """

    def __init__(self, api: SimulatorApi, behaviour: Behaviour) -> None:
        self._api, self._behaviour = api, behaviour
        self._next: dict[str, int] = {}

    def work(self, state: ClusterState) -> None:
        changed, state.changed_workloads = state.changed_workloads, set()
        nodes, state.changed_nodes = state.changed_nodes, {}
        for daemon_set in state.daemon_sets.values() if nodes else ():
            if not going(daemon_set):
                self._on_nodes(state, daemon_set, names=nodes)
        for uid in sorted(changed & state.workloads.keys()):
            self._replace(state, state.workloads[uid])

    def _replace(self, state: ClusterState, owner: JsonMap) -> None:
        if going(owner) or owner["kind"] == "DaemonSet":
            return
        uid = owner["metadata"]["uid"]
        reuses_names = owner["kind"] == "StatefulSet" or self._behaviour.same_pod_names
        pod_count = len(state.pods_of[uid]) if reuses_names else state.staying_of[uid]
        missing = owner["spec"].get("replicas", 1) - pod_count
        if missing <= 0:
            return
        tried: set[str] = set()
        for _ in range(missing):
            name = self._free_name(state, owner, tried=tried, reuses_names=reuses_names)
            if not self._create_pod(state, replica(owner, name)):
                state.changed_workloads.add(uid)
            tried.add(name)

    def _create_pod(self, state: ClusterState, body: JsonMap) -> bool:
        namespace = body["metadata"]["namespace"]
        pod = self._api.create(f"/api/v1/namespaces/{namespace}/pods", body)
        if pod is not None:
            state.put_pod(pod)
        return pod is not None

    def _free_name(self, state: ClusterState, owner: JsonMap, *, tried: set[str], reuses_names: bool) -> str:
        metadata = owner["metadata"]
        name, uid, space = metadata["name"], metadata["uid"], metadata["namespace"]
        numbers = count(0 if reuses_names else self._next.get(uid, 0))
        names = ((number, f"{name}-{number}") for number in numbers)
        number, free_name = next(
            (number, candidate)
            for number, candidate in names
            if candidate not in tried and (space, candidate) not in state.pod_names
        )
        self._next[uid] = number + 1
        return free_name

    def _on_nodes(self, state: ClusterState, owner: JsonMap, *, names: Iterable[str]) -> None:
        """Creates a pod of the DaemonSet on each of these nodes that it fits."""
        shape = state.shapes.of(replica(owner, "any"))
        for name in sorted(names):
            node = state.nodes.get(name)
            if node is None or node.ending or not shape.selects(node.labels) or not shape.tolerates(node.taints):
                continue
            if not any(pod.shape.owner == shape.owner for pod in node.pods.values()):
                self._create_pod(state, replica(owner, f"{owner['metadata']['name']}-{name}", node=name))


def replica(owner: JsonMap, name: str, *, node: str = "") -> JsonMap:
    """Returns a pod of this workload; with `node` it is placed there."""
    template, metadata = owner["spec"]["template"], owner["metadata"]
    reference = {"apiVersion": "apps/v1", "kind": owner.get("kind", "ReplicaSet"), "name": metadata["name"]}
    owner_reference = reference | {"uid": metadata["uid"], "controller": True, "blockOwnerDeletion": True}
    template_metadata = template.get("metadata") or {}
    metadata_of_pod = {"name": name, "namespace": metadata["namespace"], "ownerReferences": [owner_reference]}
    metadata_of_pod |= {key: template_metadata[key] for key in ("labels", "annotations") if template_metadata.get(key)}
    placed = {"nodeName": node} if node else {}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata_of_pod, "spec": template["spec"] | placed}

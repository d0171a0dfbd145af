"""Simulates a person's own `helm upgrade` of Karpenter in a sample cluster, which no action of karpdash does."""

import uuid
from typing import Any

from migrations_app.errors import Conflict, InvalidInput
from migrations_app.karpenter.versions import minor_order, release
from migrations_app.manifests import JsonMap
from migrations_app.samples.changeable import clusters, objects
from migrations_app.twin.calls import MERGE
from migrations_app.twin.server import Twin
from migrations_app.use_cases.twins.state import RunningTwin, StoredTwin, TwinControl

ONE_BY_ONE_BEFORE = "0.34"
"""From this minor on NodePools have budgets; before, nodes were replaced one by one."""
MANY = 10**6
_WITH_READY = ("/apis/karpenter.sh/v1/nodepools", "/apis/karpenter.k8s.aws/v1/ec2nodeclasses")
_ROOTS = {
    "Deployment": "/apis/apps/v1/namespaces/{namespace}/deployments",
    "ReplicaSet": "/apis/apps/v1/namespaces/{namespace}/replicasets",
    "Service": "/api/v1/namespaces/{namespace}/services",
    "Endpoints": "/api/v1/namespaces/{namespace}/endpoints",
    "ServiceAccount": "/api/v1/namespaces/{namespace}/serviceaccounts",
    "Secret": "/api/v1/namespaces/{namespace}/secrets",
    "ClusterRole": "/apis/rbac.authorization.k8s.io/v1/clusterroles",
    "ClusterRoleBinding": "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings",
    "Role": "/apis/rbac.authorization.k8s.io/v1/namespaces/{namespace}/roles",
    "RoleBinding": "/apis/rbac.authorization.k8s.io/v1/namespaces/{namespace}/rolebindings",
}


def control_of(version: str, *, revision: int = objects.FIRST_REVISION) -> TwinControl:
    """The behaviour of a sample's Karpenter of that release; drift is on in every sample."""
    order = minor_order(release(version).minor)
    return TwinControl(
        version="v1" if order >= (1, 0) else "v1beta1",
        at_once=1 if order < minor_order(ONE_BY_ONE_BEFORE) else MANY,
        release=version,
        revision=revision,
    )


def upgrade_controller(cluster_id: uuid.UUID, version: str) -> None:
    """Installs that release of the controller.

    Raises SampleRemoved, InvalidInput `unknown_sample`, and Conflict `runs_already`.
    """
    stored = StoredTwin(cluster_id)
    sample = clusters.find(stored.sample())
    if sample is None:
        raise InvalidInput("there is no such sample any more", code="unknown_sample")
    stored.change(lambda played: _upgrade(played, clusters.cluster_of(sample), version=version))


def _upgrade(played: RunningTwin, cluster: objects.ChangeableCluster, *, version: str) -> None:
    before = played.control
    if before.release == version:
        raise Conflict(f"{version} runs already", code="runs_already")
    revision = before.revision + 1
    docs = objects.controller_objects(cluster, version, revision=revision)
    pods = [doc for doc in docs if doc["kind"] == "Pod"]
    deployment = next(doc for doc in docs if doc["kind"] == "Deployment")
    owner = pods[0]["metadata"]["ownerReferences"][0]
    replicas = objects.replica_set(
        deployment, name=owner["name"], uid=owner["uid"], labels=pods[0]["metadata"]["labels"]
    )
    for doc in (*(doc for doc in docs if doc["kind"] != "Pod"), objects.with_own_uids(replicas)):
        _put(played.twin, doc)
    _delete(played.twin, f"{_root('Secret')}/sh.helm.release.v1.karpenter.v{before.revision}")
    for pod in _items(played.twin, f"/api/v1/namespaces/{objects.NAMESPACE}/pods"):
        if pod["metadata"]["labels"].items() >= pods[0]["metadata"]["labels"].items():
            _delete(played.twin, f"/api/v1/namespaces/{objects.NAMESPACE}/pods/{pod['metadata']['name']}")
    played.set_control(control_of(version, revision=revision))
    if played.control.version == "v1":
        _add_ready_condition(played.twin)


def _add_ready_condition(twin: Twin) -> None:
    """Adds the Ready condition to pools and classes, as the controller does from v1 on."""
    status = {"status": {"conditions": [{"type": "Ready", "status": "True", "reason": "Ready"}]}}
    for root in _WITH_READY:
        for item in _items(twin, root):
            twin.request("PATCH", f"{root}/{item['metadata']['name']}/status", body=status, content_type=MERGE)


def _put(twin: Twin, doc: JsonMap) -> None:
    """Creates the object or replaces its content; an existing object keeps its uid."""
    desired = objects.with_own_uids(doc)
    root = _root(doc["kind"])
    answer = twin.request("GET", f"{root}/{doc['metadata']['name']}")
    metadata = {key: value for key, value in desired["metadata"].items() if key not in ("uid", "resourceVersion")}
    body: dict[str, Any] = desired | {"metadata": metadata}
    if answer.status == 404:
        _refuse_failed(twin.request("POST", root, body=body).status, doc)
        return
    _refuse_failed(
        twin.request("PATCH", f"{root}/{doc['metadata']['name']}", body=body, content_type=MERGE).status, doc
    )


def _refuse_failed(status: int, doc: JsonMap) -> None:
    if status >= 400:
        raise Conflict(f"{doc['kind']} {doc['metadata']['name']} was refused with {status}", code="refused")


def _root(kind: str) -> str:
    return _ROOTS[kind].format(namespace=objects.NAMESPACE)


def _items(twin: Twin, path: str) -> list[JsonMap]:
    items: list[JsonMap] = twin.request("GET", path).document.get("items", [])
    return items


def _delete(twin: Twin, path: str) -> None:
    twin.request("DELETE", path, body={"gracePeriodSeconds": 0})

"""Makes the objects of a sample cluster on a twin: complete, with the controllers of its pods, created some days
ago."""

import uuid
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

from migrations_app.karpenter.versions import minor_order, release
from migrations_app.manifests import JsonMap
from migrations_app.samples.cluster_builder import ClusterBuilder
from migrations_app.samples.fleet import with_managed_fields
from migrations_app.samples.installation import (
    Crds,
    Install,
    controller,
    crds,
    helm_record,
)
from migrations_app.samples.karpenter_objects import Launched
from migrations_app.samples.kubernetes_objects import namespaces_of

BORN = timedelta(days=14)
"""The age of the objects of a new sample cluster."""
APPS = "apps/v1"
FIRST_REVISION = 3
"""Of the Helm release of a new sample cluster."""
NAMESPACE = "kube-system"
_TIME = "%Y-%m-%dT%H:%M:%SZ"
_LAUNCH_SECONDS = 52
"""From a claim to its Ready node, as in the claims of the samples."""
_NAMED_BY_POD = ("ReplicaSet",)


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangeableCluster:
    """What is needed to make and to upgrade one: its name in AWS, its nodes' pool, and the controller's environment."""

    name: str
    kubernetes: str = "1.28"
    system_nodes: tuple[str, ...] = ()
    drift: bool = True


def install_of(cluster: ChangeableCluster, version: str, *, revision: int) -> Install:
    """The controller of that release as its chart installs it."""
    order = minor_order(release(version).minor)
    env = {"KARPENTER_SERVICE": "karpenter", "SYSTEM_NAMESPACE": NAMESPACE}
    values: dict[str, Any] = {"settings": {"clusterName": cluster.name, "interruptionQueue": cluster.name}}
    if order < (0, 32):
        values = {"settings": {"aws": {"clusterName": cluster.name, "interruptionQueueName": cluster.name}}}
        env |= {"KUBERNETES_MIN_VERSION": "1.19.0-0"}
    else:
        env |= {"CLUSTER_NAME": cluster.name, "INTERRUPTION_QUEUE": cluster.name}
        env |= {"BATCH_MAX_DURATION": "10s", "BATCH_IDLE_DURATION": "1s"}
    if (0, 32) <= order < (1, 0):
        env["FEATURE_GATES"] = f"Drift={str(cluster.drift).lower()}"
    if (0, 33) <= order < (1, 1):
        env |= {"DISABLE_WEBHOOK": "false", "WEBHOOK_PORT": "8443"}
        values["webhook"] = {"enabled": True}
    return Install(
        cluster=cluster.name, version=version, namespace=NAMESPACE, values=values, env=env, revision=revision
    )


def controller_objects(cluster: ChangeableCluster, version: str, *, revision: int) -> list[JsonMap]:
    """Returns the controller's objects after `helm upgrade`: Deployment, pods, Service, account, permissions, Helm
    record."""
    install = install_of(cluster, version, revision=revision)
    return [*controller(install, list(cluster.system_nodes)), helm_record(install)]


def definitions(version: str, *, stored: Sequence[str] = ()) -> list[JsonMap]:
    """The CRDs of that release, with schemas that keep every field."""
    converts = minor_order(release(version).minor) == (1, 0) or release(version) == release("0.37.8")
    shape = Crds(
        version=version,
        stored=stored,
        service=(NAMESPACE, "karpenter") if converts else (),
    )
    return [_open(crd) for crd in crds(shape)]


def _open(crd: JsonMap) -> JsonMap:
    """The definition with a status of its own in each version, whose schema keeps fields that it does not name."""
    versions = [
        version | {"schema": _keeping(version["schema"]), "subresources": {"status": {}}}
        for version in crd["spec"]["versions"]
    ]
    return crd | {"spec": crd["spec"] | {"versions": versions}}


def _keeping(schema: Any) -> Any:  # noqa: ANN401 - plain JSON
    if isinstance(schema, list):
        return [_keeping(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    fields = {key: _keeping(value) for key, value in schema.items()}
    return fields | {"x-kubernetes-preserve-unknown-fields": True} if fields.get("type") == "object" else fields


def complete(site: ClusterBuilder, *, now: datetime) -> list[JsonMap]:
    """Returns the cluster's objects, the owners that its pods name, and its namespaces; all created some days ago."""
    documents = [*site.docs, *_replica_sets(site.docs), *namespaces_of(site.docs)]
    born = now - BORN
    return [with_own_uids(with_managed_fields(_born(document, born))) for document in documents]


def with_own_uids(document: JsonMap) -> JsonMap:
    """The object with a uid of its own, and with those of its owners: builders make the same uid for the same name."""
    metadata = document["metadata"]
    namespace = metadata.get("namespace", "")
    owners = [
        owner
        | {"uid": uid_of(owner["kind"], namespace if owner["apiVersion"].startswith("apps/") else "", owner["name"])}
        for owner in metadata.get("ownerReferences") or ()
    ]
    own = metadata | {"uid": uid_of(document["kind"], namespace, metadata["name"])}
    return document | {"metadata": own | ({"ownerReferences": owners} if owners else {})}


def uid_of(*words: str) -> str:
    """A uid that is the same in every run."""
    return str(uuid.uuid5(uuid.NAMESPACE_URL, "/".join(("karpdash-sample", *words))))


def _replica_sets(docs: Iterable[JsonMap]) -> Iterator[JsonMap]:
    """Returns the ReplicaSets that own the pods of Deployments, with the uids in the pods' owner references."""
    parents = {
        (doc["metadata"]["namespace"], doc["metadata"]["name"]): doc for doc in docs if doc["kind"] == "Deployment"
    }
    seen: set[str] = set()
    for pod in docs:
        owner: JsonMap = next(iter(pod["metadata"].get("ownerReferences") or ()), {})
        if pod["kind"] != "Pod" or owner.get("kind") not in _NAMED_BY_POD or owner["uid"] in seen:
            continue
        seen.add(owner["uid"])
        namespace = pod["metadata"]["namespace"]
        parent = parents[namespace, owner["name"].rpartition("-")[0]]
        yield replica_set(parent, name=owner["name"], uid=owner["uid"], labels=pod["metadata"]["labels"])


def replica_set(parent: JsonMap, *, name: str, uid: str, labels: dict[str, str]) -> JsonMap:
    """The ReplicaSet of a Deployment."""
    metadata = parent["metadata"]
    by = {"apiVersion": APPS, "kind": "Deployment", "name": metadata["name"], "uid": metadata["uid"]}
    own = {
        "name": name,
        "namespace": metadata["namespace"],
        "uid": uid,
        "labels": labels,
        "ownerReferences": [by | {"controller": True, "blockOwnerDeletion": True}],
    }
    template = parent["spec"]["template"]
    template = template | {"metadata": template["metadata"] | {"labels": labels}}
    replicas = parent["spec"]["replicas"]
    spec = {"replicas": replicas, "selector": {"matchLabels": labels}, "template": template}
    status = {"replicas": replicas, "readyReplicas": replicas}
    return {"apiVersion": APPS, "kind": "ReplicaSet", "metadata": own, "spec": spec, "status": status}


def _born(document: JsonMap, born: datetime) -> JsonMap:
    """The object as created at that time; its conditions changed when a node of the sample becomes Ready."""
    result = document | {"metadata": document["metadata"] | {"creationTimestamp": born.strftime(_TIME)}}
    if document["kind"] == "Pod":
        ready = [{"type": "Ready", "status": "True"}]
        return result | {"status": document["status"] | {"conditions": ready}}
    if document["kind"] in ("Machine", "NodeClaim"):
        then = (born + timedelta(seconds=_LAUNCH_SECONDS)).strftime(_TIME)
        conditions = [row | {"lastTransitionTime": then} for row in document["status"]["conditions"]]
        return result | {"status": document["status"] | {"conditions": conditions}}
    return result


def numbered(launched: Sequence[Launched]) -> list[Launched]:
    """The same instances; their names are unique by construction only for few of them. Raises ValueError otherwise."""
    if len({instance.node for instance in launched}) != len(launched):
        raise ValueError("two nodes of a sample have one name")
    return list(launched)


def with_nodes(cluster: ChangeableCluster, names: Sequence[str]) -> ChangeableCluster:
    """The cluster with the nodes on which its controller runs."""
    return replace(cluster, system_nodes=tuple(names))

"""Dumps as people make them: by kubectl in one go or kind by kind, with more or less of what the server shows."""

import json
from collections.abc import Callable, Iterable
from typing import Any

import yaml

Document = dict[str, Any]
Files = dict[str, bytes]


class _Dumper(yaml.CSafeDumper):  # type: ignore[misc]  # the stubs leave the class without a type
    """As kubectl writes: nothing by reference."""

    def ignore_aliases(self, data: Any) -> bool:
        return True


def _yaml(*documents: Document) -> bytes:
    return yaml.dump_all(documents, Dumper=_Dumper, explicit_start=True, sort_keys=True).encode()


def _list(documents: Iterable[Document], kind: str = "List", version: str = "v1") -> Document:
    return {"apiVersion": version, "kind": kind, "items": list(documents), "metadata": {"resourceVersion": ""}}


def many_documents(documents: list[Document]) -> Files:
    return {"all.yaml": _yaml(*documents)}


def one_list(documents: list[Document]) -> Files:
    return {"all.yaml": _yaml(_list(documents))}


def json_list(documents: list[Document]) -> Files:
    return {"all.json": json.dumps(_list(documents), indent=4).encode()}


def lists_in_a_row(documents: list[Document]) -> Files:
    half = len(documents) // 2
    return {"all.json": b"\n".join(json.dumps(_list(part)).encode() for part in (documents[:half], documents[half:]))}


def list_of_lists(documents: list[Document]) -> Files:
    """What `jq -s` or a script makes of several dumps."""
    half = len(documents) // 2
    inner = [_list(documents[:half]), _list(documents[half:])]
    return {"all.json": json.dumps(_list(inner)).encode()}


def a_file_a_kind(documents: list[Document]) -> Files:
    """Typed lists, as `kubectl get --raw` answers: the items do not say their kind."""
    files: Files = {}
    for version, kind in sorted({(one["apiVersion"], one["kind"]) for one in documents}):
        mine = [one for one in documents if (one["apiVersion"], one["kind"]) == (version, kind)]
        bare = [{key: part for key, part in one.items() if key not in ("apiVersion", "kind")} for one in mine]
        files[f"{kind.lower()}-{len(files)}.json"] = json.dumps(_list(bare, f"{kind}List", version)).encode()
    return files


FORMS: dict[str, Callable[[list[Document]], Files]] = {
    form.__name__: form for form in (many_documents, one_list, json_list, lists_in_a_row, list_of_lists, a_file_a_kind)
}


def with_managed_fields(documents: list[Document]) -> list[Document]:
    """What `--show-managed-fields` adds: who wrote which field, for a cluster installed and run by the guides."""
    return [one | {"metadata": {"managedFields": list(_fields(one))} | one["metadata"]} for one in documents]


def _fields(one: Document) -> Iterable[Document]:
    told = {"apiVersion": one["apiVersion"], "fieldsType": "FieldsV1", "time": "2026-09-14T08:20:11Z"}
    spec = {"f:spec": {"f:template": {}}}
    if one["metadata"].get("labels", {}).get("app.kubernetes.io/managed-by") == "Helm":
        yield told | {"manager": "helm", "operation": "Update", "fieldsV1": {"f:metadata": {"f:labels": {}}} | spec}
    elif "kubectl.kubernetes.io/last-applied-configuration" in one["metadata"].get("annotations", {}):
        yield told | {"manager": "kubectl-client-side-apply", "operation": "Update", "fieldsV1": spec}
    if one["kind"] in ("NodePool", "NodeClaim", "EC2NodeClass", "Machine", "Provisioner", "AWSNodeTemplate"):
        status = {"fieldsV1": {"f:status": {}}, "subresource": "status"}
        yield told | status | {"manager": "karpenter", "operation": "Update"}
    else:
        yield told | {"manager": "kube-controller-manager", "operation": "Update", "fieldsV1": {"f:status": {}}}
    if one["kind"] == "CustomResourceDefinition" and "webhook" in one["spec"].get("conversion", {}):
        bundle = {"f:spec": {"f:conversion": {"f:webhook": {"f:clientConfig": {"f:caBundle": {}}}}}}
        yield told | {"manager": "karpenter", "operation": "Update", "fieldsV1": bundle}


def without_managed_fields(documents: list[Document]) -> list[Document]:
    """What kubectl shows unless it is asked for more."""
    return [
        one | {"metadata": {key: part for key, part in one["metadata"].items() if key != "managedFields"}}
        for one in documents
    ]


def without_what_the_server_adds(documents: list[Document]) -> list[Document]:
    """What people have cut a dump down to with kubectl-neat: no ids, no ages, no status of workloads."""
    found = []
    for one in documents:
        metadata = {key: part for key, part in one["metadata"].items() if key not in ("uid", "resourceVersion")}
        kept = one | {"metadata": metadata}
        if one["kind"] in ("Deployment", "DaemonSet", "StatefulSet", "Service", "PodDisruptionBudget"):
            kept = {key: part for key, part in kept.items() if key != "status"}
        found.append(kept)
    return found


SUBSETS: dict[str, frozenset[str]] = {
    "karpenter's own": frozenset(
        {"NodePool", "NodeClaim", "EC2NodeClass", "Provisioner", "Machine", "AWSNodeTemplate"}
    ),
    "pools and classes": frozenset({"NodePool", "EC2NodeClass", "Provisioner", "AWSNodeTemplate"}),
    "nodes": frozenset({"Node", "NodeClaim", "Machine"}),
    "workloads": frozenset({"Deployment", "DaemonSet", "StatefulSet", "PodDisruptionBudget"}),
    "get all": frozenset({"Pod", "Service", "Deployment", "DaemonSet", "StatefulSet"}),
    "CRDs": frozenset({"CustomResourceDefinition"}),
    "CRDs and the controller": frozenset({"CustomResourceDefinition", "Deployment"}),
    "without CRDs": frozenset({"NodePool", "NodeClaim", "EC2NodeClass", "Node", "Deployment", "Secret"}),
}
"""The kinds that somebody dumped. Nodes and Pods together count as a dump of the whole cluster."""


def only(documents: list[Document], kinds: frozenset[str]) -> list[Document]:
    return [one for one in documents if one["kind"] in kinds]

"""Small objects for tests of bundles."""

import json
from typing import Any

Doc = dict[str, Any]


def doc(api_version: str, kind: str, name: str, **more: Any) -> Doc:
    """`namespace` and `labels` go to the metadata, everything else to the object."""
    metadata = {"name": name} | {key: more.pop(key) for key in ("namespace", "labels", "annotations") if key in more}
    return {"apiVersion": api_version, "kind": kind, "metadata": metadata} | more


def node(name: str = "n1") -> Doc:
    return doc("v1", "Node", name, spec={"providerID": "aws:///a/i-1"})


def pod(name: str = "p1", **more: Any) -> Doc:
    return doc("v1", "Pod", name, **({"namespace": "shop"} | more))


def pool(name: str = "default", version: str = "v1beta1") -> Doc:
    return doc(f"karpenter.sh/{version}", "NodePool", name, spec={"template": {}})


def crd(kind: str, plural: str, group: str, *versions: str) -> Doc:
    spec = {
        "group": group,
        "names": {"kind": kind, "plural": plural},
        "versions": [{"name": version, "served": True, "storage": version == versions[-1]} for version in versions],
    }
    return doc("apiextensions.k8s.io/v1", "CustomResourceDefinition", f"{plural}.{group}", spec=spec)


def listed(*docs: Doc, kind: str = "List", api_version: str = "v1", **more: Any) -> Doc:
    return {"apiVersion": api_version, "kind": kind, "metadata": {"resourceVersion": ""}, "items": list(docs)} | more


def as_json(body: object, indent: int | None = None) -> bytes:
    return json.dumps(body, indent=indent).encode()

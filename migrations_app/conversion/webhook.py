"""Converts NodePools, EC2NodeClasses and NodeClaims between v1beta1 and v1 as Karpenter's conversion webhook does.

The API server shows them so after its CRDs serve v1; a manifest that a person converts looks different.

What v1beta1 has no field for is not shown there and does not come back. Sources:
kubernetes-sigs/karpenter@v1.0.9:pkg/apis/v1/nodepool_conversion.go and nodeclaim_conversion.go;
aws/karpenter-provider-aws@v1.0.14:pkg/apis/v1/ec2nodeclass_conversion.go. The webhook of 0.37.8 does the same. Only the
webhooks of 1.0.0 to 1.0.3 keep karpenter.sh/stored-version-migrated, which 1.0.4 began to write.
"""

import json
from collections.abc import Callable, Mapping
from typing import Any, Final

from migrations_app.karpenter import kinds, labels
from migrations_app.manifests import JsonMap

CONVERTED: Final = (kinds.NODE_POOL.crd_name, kinds.NODE_CLAIM.crd_name, kinds.EC2_NODE_CLASS.crd_name)
"""The names of the CRDs whose objects are converted."""
NEVER: Final = "Never"
_DEFAULT_EXPIRY: Final = "720h"
"""The default of expireAfter in a NodePool of v1beta1."""
_BETA_POLICY, _V1_POLICY = "WhenUnderutilized", "WhenEmptyOrUnderutilized"
_FAMILIES: Final = ("AL2", "AL2023", "Bottlerocket", "Windows2019", "Windows2022")
"""The image families that have an alias in v1."""
_PLACEHOLDER: Final = {"id": "ami-placeholder"}
_UBUNTU_DISK: Final = {
    "deviceName": "/dev/sda1",
    "rootVolume": True,
    "ebs": {"encrypted": True, "volumeType": "gp3", "volumeSize": "20Gi"},
}
_ALIASES: Final = labels.ALIAS_VERSION_COMPATIBILITY


def converted(document: Mapping[str, Any], api_version: str, *, expire_after: str | None = None) -> JsonMap:
    """Returns the object in that apiVersion; the argument is not changed, and returned as it is where it has that
    version already. `expire_after` is what a NodeClaim gets from its NodePool in v1; None leaves it out.
    """
    if document["apiVersion"] == api_version:
        return document if isinstance(document, dict) else dict(document)
    metadata = dict(document.get("metadata") or {})
    annotations = dict(metadata.pop("annotations", None) or {})
    to_v1, from_v1 = _CONVERTERS[document["kind"]]
    is_v1 = api_version.endswith("/v1")
    spec = (to_v1 if is_v1 else from_v1)(dict(document.get("spec") or {}), annotations)
    if not is_v1:
        annotations.pop(labels.STORED_VERSION_DONE, None)
    if expire_after is not None and document["kind"] == kinds.NODE_CLAIM.kind and is_v1:
        spec["expireAfter"] = expire_after
    if annotations:
        metadata["annotations"] = annotations
    return {**document, "apiVersion": api_version, "metadata": metadata, "spec": spec}


def _pool_to_v1(spec: JsonMap, annotations: JsonMap) -> JsonMap:
    template, disruption = _tree(spec.get("template")), _tree(spec.get("disruption"))
    beta = _tree(template.get("spec"))
    inner = _claim_to_v1(beta, annotations)
    inner.pop("resources", None)
    inner["expireAfter"] = disruption.get("expireAfter") or _DEFAULT_EXPIRY
    return {**spec, "template": {**template, "spec": inner}, "disruption": _disruption_to_v1(disruption)}


def _disruption_to_v1(beta: JsonMap) -> JsonMap:
    """The disruption of v1. WhenUnderutilized had no consolidateAfter, so the webhook writes 0s, even over Never."""
    kept = {key: value for key, value in beta.items() if key != "expireAfter"}
    if beta.get("consolidationPolicy") == "WhenEmpty":
        return {**kept, "consolidateAfter": beta.get("consolidateAfter") or NEVER}
    return {**kept, "consolidationPolicy": _V1_POLICY, "consolidateAfter": "0s"}


def _claim_to_v1(spec: JsonMap, annotations: JsonMap) -> JsonMap:
    kept = {key: value for key, value in spec.items() if key != "kubelet"}
    annotations.pop(labels.KUBELET_COMPATIBILITY, None)
    if (kubelet := spec.get("kubelet")) is not None:
        annotations[labels.KUBELET_COMPATIBILITY] = _json(kubelet)
    beta = _tree(spec.get("nodeClassRef"))
    annotations[labels.NODE_CLASS_REFERENCE_COMPATIBILITY] = _json(beta)
    group = str(beta.get("apiVersion") or "").partition("/")[0] or kinds.AWS_GROUP
    kind = beta.get("kind") or kinds.EC2_NODE_CLASS.kind
    return kept | {"nodeClassRef": {"group": group, "kind": kind, "name": beta.get("name") or ""}}


def _class_to_v1(spec: JsonMap, annotations: JsonMap) -> JsonMap:
    family, terms = spec.get("amiFamily"), spec.get("amiSelectorTerms") or []
    version = annotations.pop(_ALIASES, "latest")
    if family == "Ubuntu":
        marks = ["amiFamily"]
        if not spec.get("blockDeviceMappings"):
            marks.append("blockDeviceMappings")
            spec["blockDeviceMappings"] = [_UBUNTU_DISK]
        if not terms:
            marks.append("incompatible")
        annotations[labels.UBUNTU_COMPATIBILITY] = ",".join(marks)
        return spec | {"amiFamily": "AL2", "amiSelectorTerms": terms or [_PLACEHOLDER]}
    if not terms and family in _FAMILIES:
        spec.pop("amiFamily")
        spec["amiSelectorTerms"] = [{"alias": f"{str(family).lower()}@{version}"}]
    return spec


def _pool_from_v1(spec: JsonMap, annotations: JsonMap) -> JsonMap:
    template, disruption = _tree(spec.get("template")), dict(_tree(spec.get("disruption")))
    inner = _claim_from_v1(_tree(template.get("spec")), annotations)
    disruption["expireAfter"] = _tree(template.get("spec")).get("expireAfter") or _DEFAULT_EXPIRY
    if disruption.get("consolidationPolicy", _V1_POLICY) == _V1_POLICY:
        disruption["consolidationPolicy"] = _BETA_POLICY
        disruption.pop("consolidateAfter", None)
    if isinstance(budgets := disruption.get("budgets"), list):
        disruption["budgets"] = [
            {key: value for key, value in _tree(budget).items() if key != "reasons"} for budget in budgets
        ]
    return {**spec, "template": {**template, "spec": inner}, "disruption": disruption}


def _claim_from_v1(spec: JsonMap, annotations: JsonMap) -> JsonMap:
    """The spec without the fields that v1beta1 does not have; nodeClassRef as it was before, or only kind and name."""
    kept = {key: value for key, value in spec.items() if key not in ("expireAfter", "terminationGracePeriod")}
    if stored := annotations.pop(labels.KUBELET_COMPATIBILITY, ""):
        kept["kubelet"] = json.loads(stored)
    stored = annotations.pop(labels.NODE_CLASS_REFERENCE_COMPATIBILITY, "")
    reference = _tree(spec.get("nodeClassRef"))
    if reference:
        built = {key: reference[key] for key in ("kind", "name") if key in reference}
        kept["nodeClassRef"] = json.loads(stored) if stored else built
    return kept


def _class_from_v1(spec: JsonMap, annotations: JsonMap) -> JsonMap:
    terms = spec.get("amiSelectorTerms") or []
    alias = next((str(term["alias"]) for term in terms if term.get("alias")), "")
    family, _, version = alias.partition("@")
    spec.setdefault("amiFamily", next((name for name in _FAMILIES if name.lower() == family), "Custom"))
    if version not in ("", "latest"):
        annotations[_ALIASES] = version
    left = [term for term in terms if not term.get("alias")]
    if (marks := annotations.pop(labels.UBUNTU_COMPATIBILITY, None)) is not None:
        spec["amiFamily"] = "Ubuntu"
        left = [] if "incompatible" in marks else left
        if "blockDeviceMappings" in marks:
            spec.pop("blockDeviceMappings", None)
    for key in ("amiSelectorTerms", "kubelet"):
        spec.pop(key, None)
    return spec | ({"amiSelectorTerms": left} if left else {})


def _tree(value: object) -> JsonMap:
    """The value if it is a mapping, or else an empty one: a healthy API server stores nothing else here."""
    return value if isinstance(value, dict) else {}


def _json(value: object) -> str:
    return json.dumps(value, separators=(",", ":"))


_CONVERTERS: dict[str, tuple[Callable[[JsonMap, JsonMap], JsonMap], Callable[[JsonMap, JsonMap], JsonMap]]] = {
    kinds.NODE_POOL.kind: (_pool_to_v1, _pool_from_v1),
    kinds.NODE_CLAIM.kind: (_claim_to_v1, _claim_from_v1),
    kinds.EC2_NODE_CLASS.kind: (_class_to_v1, _class_from_v1),
}
"""For each kind the functions to v1 and from v1. Each gets a copy of the spec and of the annotations, changes the
annotations, and returns the new spec.
"""

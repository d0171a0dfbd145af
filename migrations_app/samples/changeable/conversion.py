"""What the conversion webhook of Karpenter 0.37 and 1.0 answers for the objects of sample clusters.

Source: kubernetes-sigs/karpenter:pkg/apis/v1beta1/nodepool_conversion.go and nodeclaim_conversion.go,
aws/karpenter-provider-aws:pkg/apis/v1beta1/ec2nodeclass_conversion.go. Fields that no sample has are left as they are.
"""

from collections.abc import Mapping
from typing import Any

from migrations_app.karpenter import kinds

Tree = dict[str, Any]
GROUP = "karpenter.k8s.aws"
CLASS_VERSION = f"{GROUP}/v1beta1"
_POLICIES = {"WhenUnderutilized": "WhenEmptyOrUnderutilized", "WhenEmpty": "WhenEmpty"}
_FORMER = {new: old for old, new in _POLICIES.items()}
_FAMILIES = {"al2": "AL2", "al2023": "AL2023", "bottlerocket": "Bottlerocket"}
CONVERTED = (kinds.NODE_POOL.crd_name, kinds.NODE_CLAIM.crd_name, kinds.EC2_NODE_CLASS.crd_name)


def converted(document: Mapping[str, Any], api_version: str) -> Tree:
    """Returns a new object in that apiVersion."""
    to_v1 = api_version.endswith("/v1")
    spec: Tree = dict(document.get("spec") or {})
    if document["kind"] == "NodePool":
        spec = _pool_v1(spec) if to_v1 else _pool_beta(spec)
    elif document["kind"] == "NodeClaim":
        spec = _reference_v1(spec) if to_v1 else _reference_beta(spec)
    elif document["kind"] == "EC2NodeClass":
        spec = _class_v1(spec) if to_v1 else _class_beta(spec)
    return {**document, "apiVersion": api_version, "spec": spec}


def _pool_v1(spec: Tree) -> Tree:
    disruption, template = dict(spec.get("disruption") or {}), dict(spec.get("template") or {})
    expiry = disruption.pop("expireAfter", "720h")
    policy = disruption.get("consolidationPolicy", "WhenUnderutilized")
    disruption["consolidationPolicy"] = _POLICIES.get(policy, policy)
    disruption.setdefault("consolidateAfter", "0s")
    inner = _reference_v1(dict(template.get("spec") or {})) | {"expireAfter": expiry}
    return spec | {"disruption": disruption, "template": template | {"spec": inner}}


def _pool_beta(spec: Tree) -> Tree:
    disruption, template = dict(spec.get("disruption") or {}), dict(spec.get("template") or {})
    inner = _reference_beta(dict(template.get("spec") or {}))
    disruption["expireAfter"] = inner.pop("expireAfter", "720h")
    policy = disruption.get("consolidationPolicy", "WhenEmptyOrUnderutilized")
    disruption["consolidationPolicy"] = _FORMER.get(policy, policy)
    if disruption["consolidationPolicy"] == "WhenUnderutilized":
        disruption.pop("consolidateAfter", None)
    return spec | {"disruption": disruption, "template": template | {"spec": inner}}


def _reference_v1(spec: Tree) -> Tree:
    reference = spec.get("nodeClassRef")
    if not reference:
        return spec
    new_reference = {"group": GROUP, "kind": reference.get("kind", "EC2NodeClass"), "name": reference.get("name", "")}
    return spec | {"nodeClassRef": new_reference}


def _reference_beta(spec: Tree) -> Tree:
    reference = spec.get("nodeClassRef")
    if not reference:
        return spec
    new_reference = {
        "apiVersion": CLASS_VERSION,
        "kind": reference.get("kind", "EC2NodeClass"),
        "name": reference.get("name", ""),
    }
    return spec | {"nodeClassRef": new_reference}


def _class_v1(spec: Tree) -> Tree:
    family = str(spec.get("amiFamily", ""))
    if family.lower() not in _FAMILIES or spec.get("amiSelectorTerms"):
        return spec
    left = {key: value for key, value in spec.items() if key != "amiFamily"}
    return left | {"amiSelectorTerms": [{"alias": f"{family.lower()}@latest"}]}


def _class_beta(spec: Tree) -> Tree:
    terms = spec.get("amiSelectorTerms") or []
    alias = next((str(term["alias"]) for term in terms if "alias" in term), "")
    family = _FAMILIES.get(alias.partition("@")[0])
    if family is None:
        return spec
    left = {key: value for key, value in spec.items() if key != "amiSelectorTerms"}
    return left | {"amiFamily": family}

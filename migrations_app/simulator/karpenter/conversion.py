"""Simulates Karpenter's conversion between v1beta1 and v1, for the fields that the simulator and actions use.

Source: kubernetes-sigs/karpenter@v1.0.0:pkg/apis/v1/nodepool_conversion.go and nodeclaim_conversion.go,
aws/karpenter-provider-aws@v1.0.0:pkg/apis/v1/ec2nodeclass_conversion.go.
"""

import copy
import json
from collections.abc import Callable
from typing import Any

Tree = dict[str, Any]
KUBELET = "compatibility.karpenter.sh/v1beta1-kubelet-conversion"
GROUP = "karpenter.k8s.aws"
POLICIES = {"WhenUnderutilized": "WhenEmptyOrUnderutilized"}
BACK = {v1_policy: beta_policy for beta_policy, v1_policy in POLICIES.items()}
CONVERTED = ("nodepools.karpenter.sh", "nodeclaims.karpenter.sh", "ec2nodeclasses.karpenter.k8s.aws")
"""The names of the CRDs whose objects are converted."""


def converted(document: Tree, api_version: str) -> Tree:
    """Returns the object in that apiVersion; the argument is not changed."""
    to_v1 = api_version.endswith("/v1")
    if document["apiVersion"] == api_version:
        return document
    result = copy.deepcopy(document) | {"apiVersion": api_version}
    CONVERTERS[document["kind"]](result, to_v1)
    return result


def _pool(pool: Tree, to_v1: bool) -> None:
    spec = pool.setdefault("spec", {})
    inner, disruption = spec.setdefault("template", {}).setdefault("spec", {}), spec.setdefault("disruption", {})
    _reference(inner, to_v1)
    annotations = pool["metadata"].setdefault("annotations", {})
    if to_v1:
        _move(disruption, inner, name="expireAfter")
        if "kubelet" in inner:
            annotations[KUBELET] = json.dumps(inner.pop("kubelet"))
    else:
        _move(inner, disruption, name="expireAfter")
        if KUBELET in annotations:
            inner["kubelet"] = json.loads(annotations.pop(KUBELET))
    if "consolidationPolicy" in disruption:
        policy = disruption["consolidationPolicy"]
        disruption["consolidationPolicy"] = (POLICIES if to_v1 else BACK).get(policy, policy)
        _set_consolidate_after(disruption, policy, to_v1=to_v1)


def _set_consolidate_after(disruption: Tree, policy: str, *, to_v1: bool) -> None:
    """Sets `consolidateAfter: 0s` in v1, which v1beta1 does not have for used nodes; removes it for v1beta1."""
    if to_v1 and policy in POLICIES:
        disruption["consolidateAfter"] = "0s"
    elif not to_v1 and policy in BACK:
        disruption.pop("consolidateAfter", None)


def _claim(claim: Tree, to_v1: bool) -> None:
    spec = claim.setdefault("spec", {})
    _reference(spec, to_v1)
    if not to_v1:
        spec.pop("expireAfter", None)


def _class(node_class: Tree, to_v1: bool) -> None:
    spec = node_class.setdefault("spec", {})
    if to_v1 and "amiSelectorTerms" not in spec:
        spec["amiSelectorTerms"] = [{"alias": f"{spec.get('amiFamily', 'AL2').lower()}@latest"}]
    elif not to_v1 and "amiFamily" not in spec:
        spec["amiFamily"] = "AL2"


def _reference(holder: Tree, to_v1: bool) -> None:
    reference = holder.get("nodeClassRef")
    if reference is None:
        return
    rest = {"kind": "EC2NodeClass", "name": reference.get("name")}
    holder["nodeClassRef"] = rest | ({"group": GROUP} if to_v1 else {"apiVersion": f"{GROUP}/v1beta1"})


def _move(source: Tree, to: Tree, *, name: str) -> None:
    if name in source:
        to[name] = source.pop(name)


CONVERTERS: dict[str, Callable[[Tree, bool], None]] = {"NodePool": _pool, "NodeClaim": _claim, "EC2NodeClass": _class}

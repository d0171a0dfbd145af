"""The API version of an object's content, where its apiVersion cannot be trusted.

A CRD with the conversion strategy None changes only the apiVersion of objects, not their content, so a v1beta1 object
is listed as v1. The API server also drops the fields that the schema of the requested version does not have.
"""

from typing import TypeVar

from msgspec.structs import replace

from migrations_app.inventory.facts.conversion_webhook import strategy_of
from migrations_app.inventory.objects.karpenter import CRD, EC2NodeClass, NodeClaim, NodePool
from migrations_app.karpenter import kinds
from migrations_app.karpenter.crds import ONLY_IN_BETA, POLICY, REQUIRED_IN_V1, V1_POLICY

V = TypeVar("V", NodePool, NodeClaim, EC2NodeClass)
BETA = "v1beta1"
GROUPS = {kind.kind: kind.group for kind in kinds.CURRENT_KINDS}


def changes_only_api_version(crd: CRD) -> bool:
    """Whether the CRD changes only the apiVersion between v1beta1 and v1."""
    versions = {*crd.served, *crd.stored}
    return strategy_of(crd) != "Webhook" and {BETA, "v1"} <= versions


def holds_beta(karpenter_object: NodePool | NodeClaim | EC2NodeClass) -> bool:
    """Whether an object with the apiVersion v1 has the content of v1beta1: a field that v1 requires is absent, and no
    value is one that only v1 has.
    """
    return not (_has_required(karpenter_object) or _only_v1(karpenter_object))


def with_content_version(karpenter_object: V) -> V:
    """The same object with the apiVersion that its content has."""
    return replace(karpenter_object, api_version=f"{GROUPS[type(karpenter_object).__name__]}/{BETA}")


def pruned(karpenter_object: NodePool | NodeClaim | EC2NodeClass) -> bool:
    """Whether a v1beta1 object lost fields because it was read as v1. Only NodePools lose fields that matter."""
    return isinstance(karpenter_object, NodePool) and not karpenter_object.get(ONLY_IN_BETA)


def _only_v1(karpenter_object: NodePool | NodeClaim | EC2NodeClass) -> bool:
    return isinstance(karpenter_object, NodePool) and karpenter_object.get(POLICY) == V1_POLICY


def _has_required(karpenter_object: NodePool | NodeClaim | EC2NodeClass) -> bool:
    if isinstance(karpenter_object, NodeClaim):
        return bool(karpenter_object.spec.node_class_ref and karpenter_object.spec.node_class_ref.group)
    return bool(karpenter_object.get(REQUIRED_IN_V1[type(karpenter_object).__name__]))

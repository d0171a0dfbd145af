"""The version that an object's content shows, where its label cannot be believed.

A CRD with the conversion strategy None writes another apiVersion over objects and leaves their content as it is, so a
v1beta1 object is listed as v1. The API server also drops what the schema of the asked version does not know.
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


def labels_only(crd: CRD) -> bool:
    """Whether the CRD changes nothing but the label between v1beta1 and v1."""
    both = {*crd.served, *crd.stored}
    return strategy_of(crd) != "Webhook" and {BETA, "v1"} <= both


def holds_beta(karpenter_object: NodePool | NodeClaim | EC2NodeClass) -> bool:
    """Whether an object that is labelled v1 has the content of v1beta1: a field that v1 requires is absent, and no
    value is one that only v1 knows.
    """
    return not (_has_required(karpenter_object) or _only_v1(karpenter_object))


def relabelled(karpenter_object: V) -> V:
    """The same object with the apiVersion of its content."""
    return replace(karpenter_object, api_version=f"{GROUPS[type(karpenter_object).__name__]}/{BETA}")


def pruned(karpenter_object: NodePool | NodeClaim | EC2NodeClass) -> bool:
    """Whether an object of v1beta1 lost fields because it was read as v1; claims and classes lose none that count."""
    return isinstance(karpenter_object, NodePool) and not karpenter_object.get(ONLY_IN_BETA)


def _only_v1(karpenter_object: NodePool | NodeClaim | EC2NodeClass) -> bool:
    return isinstance(karpenter_object, NodePool) and karpenter_object.get(POLICY) == V1_POLICY


def _has_required(karpenter_object: NodePool | NodeClaim | EC2NodeClass) -> bool:
    if isinstance(karpenter_object, NodeClaim):
        return bool(karpenter_object.spec.node_class_ref and karpenter_object.spec.node_class_ref.group)
    return bool(karpenter_object.get(REQUIRED_IN_V1[type(karpenter_object).__name__]))

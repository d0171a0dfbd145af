"""Converts NodePools, EC2NodeClasses and NodeClaims from v1beta1 to v1 as Karpenter's conversion webhook does.

The API server shows them so after its CRDs serve v1; a manifest that a person converts looks different.

Sources: kubernetes-sigs/karpenter@v1.0.9:pkg/apis/v1/nodepool_conversion.go and nodeclaim_conversion.go;
aws/karpenter-provider-aws@v1.0.14:pkg/apis/v1/ec2nodeclass_conversion.go.
"""

import json
from collections.abc import Iterable, Mapping
from dataclasses import replace as with_fields
from typing import Any, Final

import msgspec
from msgspec.structs import replace

from migrations_app.inventory.inventory import Inventory
from migrations_app.inventory.objects import karpenter as o
from migrations_app.inventory.parts import Part, Seen
from migrations_app.karpenter import kinds, labels
from migrations_app.readiness.plan.effects.places import with_parts

Tree = dict[str, Any]
NEVER: Final = "Never"
_DEFAULT_EXPIRY: Final = "720h"
"""The default of expireAfter in a NodePool of v1beta1."""
_FAMILIES_WITH_ALIAS: Final = ("AL2", "AL2023", "Bottlerocket", "Windows2019", "Windows2022")
_PLACEHOLDER: Final = "ami-placeholder"
_UBUNTU_DISK: Final = {
    "deviceName": "/dev/sda1",
    "rootVolume": True,
    "ebs": {"encrypted": True, "volumeType": "gp3", "volumeSize": "20Gi"},
}


def converted_to_v1(inventory: Inventory) -> Inventory:
    """The inventory with the objects of these kinds in v1 where their CRD serves v1; other objects stay as they are."""
    serving = {crd.name for crd in inventory.crds.items if "v1" in crd.served}
    changed: dict[str, Part[Any]] = {}
    pools, classes, claims = inventory.nodepools, inventory.ec2nodeclasses, inventory.nodeclaims
    if isinstance(pools, Seen) and kinds.NODE_POOL.crd_name in serving:
        changed["nodepools"] = pools = _part_as_v1(
            pools, [_pool(pool) if _is_beta(pool, pools) else pool for pool in pools.items]
        )
    if isinstance(classes, Seen) and kinds.EC2_NODE_CLASS.crd_name in serving:
        ec2_node_classes = [
            _node_class(ec2_node_class) if _is_beta(ec2_node_class, classes) else ec2_node_class
            for ec2_node_class in classes.items
        ]
        changed["ec2nodeclasses"] = _part_as_v1(classes, ec2_node_classes)
    if isinstance(claims, Seen) and kinds.NODE_CLAIM.crd_name in serving:
        expiry = {pool.name: str(pool.get("spec.template.spec.expireAfter", NEVER)) for pool in pools.items}
        converted = [_claim(claim, expiry) if _is_beta(claim, claims) else claim for claim in claims.items]
        changed["nodeclaims"] = _part_as_v1(claims, converted)
    return with_parts(inventory, {name: part for name, part in changed.items() if part is not inventory.part(name)})


def _is_beta(named_object: o.NamedObject, part: Seen[Any]) -> bool:
    return (named_object.api_version or part.served or "").endswith("/v1beta1")


def _part_as_v1(part: Seen[Any], items: Iterable[Any]) -> Seen[Any]:
    """The part as a scan reads it in v1; the same value if nothing changes."""
    converted = tuple(items)
    served = (part.served or "").replace("/v1beta1", "/v1") or None
    if served == part.served and all(after is before for after, before in zip(converted, part.items, strict=True)):
        return part
    return with_fields(part, items=converted, served=served, other_version=None)


def _as_v1(karpenter_object: Any, **fields: Any) -> Any:  # noqa: ANN401 - an object of the same kind
    return replace(karpenter_object, api_version=karpenter_object.api_version.replace("/v1beta1", "/v1"), **fields)


def _pool(node_pool: o.NodePool) -> o.NodePool:
    spec = node_pool.spec or {}
    template, disruption = _tree(spec.get("template")), _tree(spec.get("disruption"))
    inner = dict(_tree(template.get("spec")))
    kubelet, reference = inner.pop("kubelet", None), _tree(inner.pop("nodeClassRef", None))
    inner.pop("resources", None)
    inner |= {"nodeClassRef": _reference(reference), "expireAfter": disruption.get("expireAfter") or _DEFAULT_EXPIRY}
    new_spec = {**spec, "template": {**template, "spec": inner}, "disruption": _disruption(disruption)}
    marks = {
        labels.KUBELET_COMPATIBILITY: _json(kubelet) if kubelet else "",
        labels.NODE_CLASS_REFERENCE_COMPATIBILITY: _json(reference),
    }
    converted: o.NodePool = _as_v1(node_pool, spec=new_spec, metadata=_with_annotations(node_pool.metadata, marks))
    return converted


def _disruption(beta: Tree) -> Tree:
    """The disruption of v1. WhenUnderutilized had no consolidateAfter, so the webhook writes 0s, even over Never."""
    kept = {key: value for key, value in beta.items() if key != "expireAfter"}
    if beta.get("consolidationPolicy") == "WhenEmpty":
        return {**kept, "consolidateAfter": beta.get("consolidateAfter") or NEVER}
    return {**kept, "consolidationPolicy": "WhenEmptyOrUnderutilized", "consolidateAfter": "0s"}


def _reference(beta: Mapping[str, Any]) -> Tree:
    group = str(beta.get("apiVersion") or "").partition("/")[0] or kinds.AWS_GROUP
    return {"group": group, "kind": beta.get("kind") or kinds.EC2_NODE_CLASS.kind, "name": beta.get("name") or ""}


def _node_class(ec2_node_class: o.EC2NodeClass) -> o.EC2NodeClass:
    spec = dict(ec2_node_class.spec or {})
    family, terms = spec.get("amiFamily"), spec.get("amiSelectorTerms") or []
    mark = ""
    if family == "Ubuntu":
        spec |= {"amiFamily": "AL2", "amiSelectorTerms": terms or [{"id": _PLACEHOLDER}]}
        spec.setdefault("blockDeviceMappings", [_UBUNTU_DISK])
        mark = "amiFamily,blockDeviceMappings" if terms else "amiFamily,blockDeviceMappings,incompatible"
    elif not terms and family in _FAMILIES_WITH_ALIAS:
        spec.pop("amiFamily")
        version = ec2_node_class.metadata.annotation(labels.ALIAS_VERSION_COMPATIBILITY) or "latest"
        spec["amiSelectorTerms"] = [{"alias": f"{str(family).lower()}@{version}"}]
    metadata = _with_annotations(ec2_node_class.metadata, {labels.UBUNTU_COMPATIBILITY: mark})
    converted: o.EC2NodeClass = _as_v1(ec2_node_class, spec=spec, metadata=metadata)
    return converted


def _claim(node_claim: o.NodeClaim, expiry: Mapping[str, str]) -> o.NodeClaim:
    beta_reference = node_claim.spec.node_class_ref
    class_fields = _reference(
        {"apiVersion": beta_reference.api_version, "kind": beta_reference.kind, "name": beta_reference.name}
        if beta_reference
        else {}
    )
    pool = node_claim.metadata.label(labels.NODEPOOL) or ""
    reference = msgspec.convert(class_fields, o.ClassReference)
    converted: o.NodeClaim = _as_v1(
        node_claim, spec=replace(node_claim.spec, node_class_ref=reference, expire_after=expiry.get(pool, NEVER))
    )
    return converted


def _with_annotations(metadata: o.Metadata, marks: Mapping[str, str]) -> o.Metadata:
    """With these annotations, without empty ones."""
    new_annotations = {key: value for key, value in marks.items() if value}
    return (
        replace(metadata, annotations={**(metadata.annotations or {}), **new_annotations})
        if new_annotations
        else metadata
    )


def _tree(value: object) -> Tree:
    """The value if it is a mapping, or else an empty one: a healthy API server stores nothing else here."""
    return value if isinstance(value, dict) else {}


def _json(value: object) -> str:
    return json.dumps(value, separators=(",", ":"))

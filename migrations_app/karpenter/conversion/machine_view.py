"""A Machine shown as the NodeClaim it would be, so that one list can hold both. Nothing here is ever applied.

Source: kubernetes-sigs/karpenter@v0.32.3:pkg/utils/nodeclaim.
"""

from collections.abc import Mapping
from typing import Any, Final

from migrations_app.karpenter.conversion.drafts import CLASS_KIND, filled, manifest
from migrations_app.karpenter.conversion.template_to_class import CLASS_API

_CONDITIONS: Final = ("Launched", "Registered", "Initialized", "Empty", "Expired", "Drifted")
_STATUS: Final = ("nodeName", "providerID", "capacity", "allocatable")


def machine_as_claim(body: Mapping[str, Any]) -> dict[str, Any]:
    """The v1beta1 NodeClaim that shows this Machine; its label karpenter.sh/provisioner-name stays."""
    metadata, spec, status = (body.get(part) or {} for part in ("metadata", "spec", "status"))
    head = filled({name: metadata.get(name) for name in ("name", "labels", "annotations")})
    reference = spec.get("machineTemplateRef") or {}
    kubelet = {key: value for key, value in (spec.get("kubelet") or {}).items() if key != "containerRuntime"}
    new_spec = {
        "nodeClassRef": {"apiVersion": CLASS_API, "kind": CLASS_KIND, "name": reference.get("name", "")},
        "requirements": spec.get("requirements") or [],
        **filled({name: spec.get(name) for name in ("taints", "startupTaints", "resources")}),
        **filled({"kubelet": kubelet}),
    }
    claim = manifest("karpenter.sh/v1beta1", "NodeClaim", metadata=head, spec=new_spec)
    found = {name: status.get(name) for name in _STATUS}
    found["conditions"] = [_condition(item) for item in status.get("conditions") or []]
    return {**claim, **filled({"status": filled(found)})}


def _condition(item: Mapping[str, Any]) -> dict[str, Any]:
    """The condition under its new name: MachineLaunched is Launched."""
    name = str(item.get("type", ""))
    short = name.removeprefix("Machine")
    return {**item, "type": short if short in _CONDITIONS else name}

"""Computes the inventory after a ClusterRole was bound to the controller; an inventory holds only bound roles."""

from collections.abc import Iterable

import msgspec

from migrations_app.checks.changes import Change, ObjectApply
from migrations_app.inventory.inventory import Inventory
from migrations_app.inventory.objects.cluster import ClusterRole, ClusterRoleBinding
from migrations_app.inventory.parts import Seen
from migrations_app.manifests import JsonMap
from migrations_app.readiness.runbook.effects.object_lookup import with_items, with_parts
from migrations_app.readiness.runbook.effects.trees import object_of
from migrations_app.readiness.runbook.effects.unknown_effect import NotShown


def with_role_bound(
    inventory: Inventory, step: ObjectApply, *, group_steps: Iterable[Change]
) -> Inventory | NotShown | None:
    """The inventory after a step that creates a ClusterRole or binds it to a service account of the controller; None
    for any other step. `group_steps` are all steps of its group. The role appears in the inventory with its binding."""
    manifests = [other.manifest for other in group_steps if isinstance(other, ObjectApply)]
    role = step.target.name
    if step.target.kind == "ClusterRole" and any(_binds(inventory, manifest, role=role) for manifest in manifests):
        present = {cluster_role.name for cluster_role in inventory.controller_rbac.items}
        return None if role in present else inventory
    if step.target.kind != "ClusterRoleBinding":
        return None
    roles = (manifest for manifest in manifests if manifest.get("kind") == "ClusterRole")
    role_manifest = next((other for other in roles if _binds(inventory, step.manifest, role=_name(other))), None)
    part = inventory.controller_rbac
    if role_manifest is None or not isinstance(part, Seen):
        return NotShown("kind_not_read" if role_manifest is None else "part_not_read", "ClusterRoleBinding")
    if any(cluster_role.name == _name(role_manifest) for cluster_role in part.items):
        return inventory
    new_role = object_of(role_manifest, ClusterRole)
    if isinstance(new_role, NotShown):
        return new_role
    return with_parts(inventory, {"controller_rbac": with_items(part, (*part.items, new_role))})


def _name(manifest: JsonMap) -> str:
    object_name: str = manifest.get("metadata", {}).get("name", "")
    return object_name


def _binds(inventory: Inventory, manifest: JsonMap, *, role: str) -> bool:
    """Whether the manifest binds the role to a service account of the controller."""
    if manifest.get("kind") != "ClusterRoleBinding":
        return False
    try:
        binding = msgspec.convert(manifest, ClusterRoleBinding)
    except msgspec.ValidationError:
        return False
    accounts = {
        (workload.namespace, workload.template.spec.service_account_name or "default")
        for workload in inventory.controller.items
    }
    subjects = {
        (subject.namespace or "", subject.name)
        for subject in binding.subjects or ()
        if subject.kind == "ServiceAccount"
    }
    return binding.role_ref.name == role and bool(accounts & subjects)

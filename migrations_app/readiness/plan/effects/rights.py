"""Rights that the controller gets by a ClusterRole and its binding: an inventory holds only roles that are bound."""

from collections.abc import Iterable

import msgspec

from migrations_app.checks.changes import Body, Change, ObjectApply
from migrations_app.inventory.inventory import Inventory
from migrations_app.inventory.objects.cluster import ClusterRole, ClusterRoleBinding
from migrations_app.inventory.parts import Seen
from migrations_app.readiness.plan.effects.not_shown import NotShown
from migrations_app.readiness.plan.effects.places import with_items, with_parts
from migrations_app.readiness.plan.effects.trees import object_of


def bound(inventory: Inventory, step: ObjectApply, *, group_steps: Iterable[Change]) -> Inventory | NotShown | None:
    """After a ClusterRole was made, or bound to an account of the controller, by steps of one group; None where the
    step is another one. The role is held from its binding on."""
    manifests = [body.manifest for body in group_steps if isinstance(body, ObjectApply)]
    role = step.target.name
    if step.target.kind == "ClusterRole" and any(_binds(inventory, manifest, role=role) for manifest in manifests):
        known = {cluster_role.name for cluster_role in inventory.controller_rbac.items}
        return None if role in known else inventory
    if step.target.kind != "ClusterRoleBinding":
        return None
    roles = (manifest for manifest in manifests if manifest.get("kind") == "ClusterRole")
    rules = next((body for body in roles if _binds(inventory, step.manifest, role=_name(body))), None)
    part = inventory.controller_rbac
    if rules is None or not isinstance(part, Seen):
        return NotShown("kind_not_read" if rules is None else "part_not_read", "ClusterRoleBinding")
    if any(cluster_role.name == _name(rules) for cluster_role in part.items):
        return inventory
    new_role = object_of(rules, ClusterRole)
    if isinstance(new_role, NotShown):
        return new_role
    return with_parts(inventory, {"controller_rbac": with_items(part, (*part.items, new_role))})


def _name(manifest: Body) -> str:
    object_name: str = manifest.get("metadata", {}).get("name", "")
    return object_name


def _binds(inventory: Inventory, manifest: Body, *, role: str) -> bool:
    """Whether it binds that role to an account that a controller runs with."""
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

"""Remedies for what places pods: requirements of NodePools, and selectors and tolerations of workload templates."""

from collections.abc import Callable, Mapping

import msgspec
from msgspec.structs import replace

from migrations_app.checks.base import Evidence
from migrations_app.checks.changes import Change, ChangeTarget, ObjectPatch, PersonTask, seen_patch
from migrations_app.checks.remedies.commands import workload_manager
from migrations_app.checks.remedies.karpenter_objects import RESOURCES, found_object, manager_of, target_of
from migrations_app.checks.shell import pointer
from migrations_app.inventory.facts.managers import Managed
from migrations_app.inventory.facts.node_pools import own_pools
from migrations_app.inventory.facts.workloads import workload
from migrations_app.inventory.inventory import Inventory
from migrations_app.inventory.objects.karpenter import WholeObject
from migrations_app.karpenter import labels
from migrations_app.manifests import JsonMap
from migrations_app.manifests.patches import merge_patch_at

SELECTOR = "template.spec.nodeSelector"
RequirementFix = Callable[[JsonMap], JsonMap | None]
"""Returns the changed requirement; None removes it."""


def object_manager(inventory: Inventory, row: Evidence) -> Managed:
    """The tool that manages the object of the evidence: a workload, or a NodePool if there is no namespace."""
    return workload_manager(inventory, row) if row.namespace else manager_of(inventory, row)


def workload_target(row: Evidence) -> ChangeTarget:
    """The workload or Karpenter object that the evidence names; also a workload whose dump omits the namespace."""
    if row.namespace or row.kind not in RESOURCES:
        return ChangeTarget(row.kind, row.name, row.namespace, resource=row.kind.lower())
    return target_of(row)


def is_selector(row: Evidence) -> bool:
    """Whether the evidence is in the nodeSelector of a template, which a merge patch can change key by key."""
    return bool(row.namespace) and row.path.endswith(SELECTOR)


def patch_selector(row: Evidence, given: Mapping[str, str | None], *, had: Mapping[str, str]) -> ObjectPatch:
    """Sets the given keys of the nodeSelector and removes those with None; `had` are the current values."""
    target = workload_target(row)
    changes = ", ".join(f"{key} {'is gone' if value is None else f'is {value}'}" for key, value in given.items())
    body, seen = merge_patch_at(row.path, dict(given)), merge_patch_at(row.path, dict(had))
    return seen_patch(target, body, tree=seen, done=f"in {row.path} {changes}")


def patch_requirements(inventory: Inventory, row: Evidence, *, fix: RequirementFix) -> ObjectPatch:
    """Applies `fix` to the requirements of the pool; the patch is refused if the list has changed since the scan.
    Raises LookupError if the pool is not there or no requirement changes."""
    pool = found_object(inventory, row)
    listed = pool.get(row.path, []) if isinstance(pool, WholeObject) else []
    steps: list[JsonMap] = []
    for at, old in reversed(list(enumerate(listed if isinstance(listed, list) else []))):
        new = fix(old) if isinstance(old, dict) else old
        if new != old:
            path = f"{pointer(row.path)}/{at}"
            steps.append({"op": "test", "path": path, "value": old})
            steps.append(
                {"op": "remove", "path": path} if new is None else {"op": "replace", "path": path, "value": new}
            )
    if not steps:
        raise LookupError(f"{row.kind} {row.name}: no such requirement")
    target, at = target_of(row), pointer(row.path)
    after = [new for new in (fix(old) if isinstance(old, dict) else old for old in listed) if new is not None]
    former: tuple[JsonMap, ...] = (
        {"op": "test", "path": at, "value": after},
        {"op": "replace", "path": at, "value": listed},
    )
    undo = ObjectPatch(target=target, body=former)
    return ObjectPatch(target=target, body=tuple(steps), undo=undo, done=f"{row.path}: {row.wanted}")


def workload_edit_task(row: Evidence, what: str, *, why: str) -> PersonTask:
    """A task to edit the object, with the field and the wanted value."""
    return PersonTask(target=workload_target(row), what=f"{row.path}: {what}", why=why)


def add_toleration(inventory: Inventory, row: Evidence, *, old: str, new: str) -> Change:
    """Adds a toleration of the taint `new`, with any value, next to that of the taint `old`; a manual task if the
    workload's template was not read. The patch is refused if the list has changed since the scan."""
    owner = workload(inventory, kind=row.kind, namespace=row.namespace, name=row.name)
    listed = (owner and owner.template.spec.tolerations) or ()
    toleration = next((entry for entry in listed if entry.key == old), None)
    if toleration is None or not row.path.endswith("template.spec.tolerations"):
        return workload_edit_task(row, f"add {new}", why="no template of it was seen")
    value = {"key": new, "operator": "Exists"} | ({"effect": toleration.effect} if toleration.effect else {})
    target, at = workload_target(row), pointer(row.path)
    last = f"{at}/{len(listed)}"
    undo_body: tuple[JsonMap, ...] = ({"op": "test", "path": last, "value": value}, {"op": "remove", "path": last})
    return ObjectPatch(
        target=target,
        body=(
            {"op": "test", "path": at, "value": msgspec.to_builtins(listed)},
            {"op": "add", "path": f"{at}/-", "value": value},
        ),
        undo=ObjectPatch(target=target, body=undo_body),
        done=f"{row.path} names {row.wanted}",
    )


def select_node_pool(inventory: Inventory, row: Evidence) -> Change:
    """Selects the NodePool instead of the Provisioner. A manual task if it is unknown which NodePool replaces the
    Provisioner, or the rule is an affinity."""
    if not is_selector(row):
        return workload_edit_task(row, row.wanted, why="the whole term is written anew")
    provisioner, pools = row.value("provisioner"), [pool.name for pool in own_pools(inventory)]
    pool = provisioner if provisioner in pools else pools[0] if len(pools) == 1 else ""
    if not pool:
        return workload_edit_task(
            row, f"{labels.NODEPOOL}, with the NodePool that takes over from {provisioner}", why="none is named so"
        )
    changes = {labels.PROVISIONER_NAME: None, labels.NODEPOOL: pool}
    patch = patch_selector(row, changes, had={labels.PROVISIONER_NAME: provisioner})
    return replace(patch, needs=("pools_admit_provisioner_pods",))

"""Changes of what places pods: requirements of pools, selectors and tolerations of the templates of workloads."""

from collections.abc import Callable, Mapping
from typing import Any

from msgspec.structs import replace

from migrations_app.checks.base import Evidence
from migrations_app.checks.changes import Body, Change, ChangeTarget, ObjectPatch, PersonTask
from migrations_app.checks.remedies.commands import kept_by
from migrations_app.checks.remedies.karpenter_objects import RESOURCES, found_object, kept, target_of
from migrations_app.checks.shell import pointer
from migrations_app.inventory.facts.managers import Managed
from migrations_app.inventory.facts.node_pools import own_pools
from migrations_app.inventory.facts.workloads import workload
from migrations_app.inventory.inventory import Inventory
from migrations_app.inventory.objects.karpenter import WholeObject
from migrations_app.karpenter import labels

SELECTOR = "template.spec.nodeSelector"
Mend = Callable[[Body], Body | None]
"""What becomes of one requirement; None takes it out."""


def keeper(inventory: Inventory, row: Evidence) -> Managed:
    """Who keeps the workload that the evidence names, or the pool where it has no namespace."""
    return kept_by(inventory, row) if row.namespace else kept(inventory, row)


def workload_target(row: Evidence) -> ChangeTarget:
    """The workload that the evidence names, also where a dump left out its namespace; or an object of Karpenter's."""
    if row.namespace or row.kind not in RESOURCES:
        return ChangeTarget(row.kind, row.name, row.namespace, resource=row.kind.lower())
    return target_of(row)


def is_selector(row: Evidence) -> bool:
    """Whether it stands in the nodeSelector of a template, which a merge patch changes key by key."""
    return bool(row.namespace) and row.path.endswith(SELECTOR)


def selector_patched(row: Evidence, given: Mapping[str, str | None], *, had: Mapping[str, str]) -> ObjectPatch:
    """Sets the keys of the nodeSelector, or removes those with None; `had` are the current ones."""
    target = workload_target(row)
    back = {key: had.get(key) for key in given}
    changes = ", ".join(f"{key} {'is gone' if value is None else f'is {value}'}" for key, value in given.items())
    undo = ObjectPatch(target=target, body=nested(row.path, back))
    return ObjectPatch(target=target, body=nested(row.path, dict(given)), undo=undo, done=f"in {row.path} {changes}")


def nested(path: str, leaf: object) -> Body:
    """A merge patch that sets the value at a dotted path."""
    first, *rest = path.split(".")
    body: Any = leaf
    for step in reversed(rest):
        body = {step: body}
    return {first: body}


def requirements_patched(inventory: Inventory, row: Evidence, *, mend: Mend) -> ObjectPatch:
    """All requirements of the pool mended that have to be; refused where the list has changed meanwhile. Raises
    LookupError where the pool is not there or nothing of it has to be mended."""
    pool = found_object(inventory, row)
    listed = pool.get(row.path, []) if isinstance(pool, WholeObject) else []
    steps: list[Body] = []
    for at, old in reversed(list(enumerate(listed if isinstance(listed, list) else []))):
        new = mend(old) if isinstance(old, dict) else old
        if new != old:
            path = f"{pointer(row.path)}/{at}"
            steps.append({"op": "test", "path": path, "value": old})
            steps.append(
                {"op": "remove", "path": path} if new is None else {"op": "replace", "path": path, "value": new}
            )
    if not steps:
        raise LookupError(f"{row.kind} {row.name}: no such requirement")
    target = target_of(row)
    undo = ObjectPatch(target=target, body=({"op": "replace", "path": pointer(row.path), "value": listed},))
    return ObjectPatch(target=target, body=tuple(steps), undo=undo, done=f"{row.path}: {row.wanted}")


def by_editor(row: Evidence, what: str, *, why: str) -> PersonTask:
    """The same for a person: the object in an editor, with the field and the wanted value."""
    return PersonTask(target=workload_target(row), what=f"{row.path}: {what}", why=why)


def toleration_added(inventory: Inventory, row: Evidence, *, old: str, new: str) -> Change:
    """Tolerates the taint `new` in addition to the taint `old`, with any value; a manual task if the workload's
    template was not read.
    """
    owner = workload(inventory, kind=row.kind, namespace=row.namespace, name=row.name)
    listed = (owner and owner.template.spec.tolerations) or ()
    toleration = next((entry for entry in listed if entry.key == old), None)
    if toleration is None or not row.path.endswith("template.spec.tolerations"):
        return by_editor(row, f"add {new}", why="no template of it was seen")
    value = {"key": new, "operator": "Exists"} | ({"effect": toleration.effect} if toleration.effect else {})
    target, at = workload_target(row), pointer(row.path)
    last = f"{at}/{len(listed)}"
    back: tuple[Body, ...] = ({"op": "test", "path": last, "value": value}, {"op": "remove", "path": last})
    return ObjectPatch(
        target=target,
        body=({"op": "add", "path": f"{at}/-", "value": value},),
        undo=ObjectPatch(target=target, body=back),
        done=f"{row.path} names {row.wanted}",
    )


def pool_selected(inventory: Inventory, row: Evidence) -> Change:
    """The NodePool named in the place of the Provisioner; for a person where it is not told which that is, or where
    the rule is an affinity."""
    if not is_selector(row):
        return by_editor(row, row.wanted, why="the whole term is written anew")
    old, pools = row.value("provisioner"), [pool.name for pool in own_pools(inventory)]
    pool = old if old in pools else pools[0] if len(pools) == 1 else ""
    if not pool:
        return by_editor(
            row, f"{labels.NODEPOOL}, with the NodePool that takes over from {old}", why="none is named so"
        )
    changes = {labels.PROVISIONER_NAME: None, labels.NODEPOOL: pool}
    patch = selector_patched(row, changes, had={labels.PROVISIONER_NAME: old})
    return replace(patch, needs=("pools_admit_provisioner_pods",))

"""Remedies that move kubelet settings of NodePools to their node classes: a patch where the NodePools of a class agree,
a split of the class where they differ.

An annotation that holds the only copy of settings stays until a class has them. Source:
aws/karpenter-provider-aws@v1.14.1:website/content/en/v1.0/upgrading/v1-migration.md, Kubelet Configuration Migration.
"""

import json
from collections.abc import Sequence
from typing import Final

from msgspec.structs import replace

from migrations_app.checks.base import Evidence
from migrations_app.checks.changes import Change, ChangeTarget, ObjectAnnotations, PersonTask, group, seen_patch
from migrations_app.checks.remedies.commands import NAMES_SHOWN
from migrations_app.checks.remedies.karpenter_objects import target_of
from migrations_app.checks.render import kubectl
from migrations_app.checks.shell import no_option
from migrations_app.inventory.facts.node_classes import kubelet_meanings, kubelet_of, same_meaning
from migrations_app.inventory.facts.node_pools import class_name, own_pools
from migrations_app.inventory.inventory import Inventory
from migrations_app.inventory.objects.karpenter import EC2NodeClass
from migrations_app.karpenter import kinds, labels
from migrations_app.manifests import JsonMap

SPLIT_CHECK: Final = "kubelet_settings_in_classes"
"""The check that passes when no class has to be split any more."""
_KINDS: Final = f"{kinds.EC2_NODE_CLASS.crd_name},{kinds.NODE_POOL.crd_name}"
"""Classes first: the converted objects are printed in this order, so that a class is there before a pool names it."""


def conversion_of_all(row: Evidence) -> PersonTask:
    """A task with a pipe that prints all classes and pools with the kubelet settings in classes; it changes nothing.
    A pool alone is not enough: its class, and the other pools of the class, decide whether the class is split."""
    get = ("kubectl", "get", _KINDS, "-o", "yaml")
    reason = "which NodePools keep the class is a choice, and nodes of the others are replaced"
    return PersonTask(target=target_of(row), pipe=(get, ("karpdash", "convert", "-f", "-")), why=reason)


def annotations_to_keep(inventory: Inventory, evidence: Sequence[Evidence]) -> dict[Evidence, PersonTask]:
    """The evidence of NodePools whose annotation has to stay for now, each with what a person does first: their class
    is missing, has to be split, or has other settings of its own, or the annotation cannot be read. Not in the result:
    pools whose class can take the settings."""
    classes = {pool.name: class_name(pool) for pool in own_pools(inventory)}
    rows_by_class: dict[str, list[Evidence]] = {}
    for row in evidence:
        if row.kind == kinds.NODE_POOL.kind:
            rows_by_class.setdefault(classes.get(row.name, ""), []).append(row)
    tasks = {name: _first_task(inventory, name, rows=rows) for name, rows in rows_by_class.items()}
    return {row: task for name, task in tasks.items() if task for row in rows_by_class[name]}


def _first_task(inventory: Inventory, name: str, *, rows: Sequence[Evidence]) -> PersonTask | None:
    """What has to be done before the annotations of these pools of the class may go; None if the class takes them."""
    meanings = kubelet_meanings(inventory).get(name, set())
    shown = ", ".join(row.name for row in rows[:NAMES_SHOWN]) + (" ..." if len(rows) > NAMES_SHOWN else "")
    target = ChangeTarget(kinds.EC2_NODE_CLASS.kind, name)
    if not name or _class(inventory, name) is None:
        where = f"EC2NodeClass {name}, which was not found" if name else "a node class, for they name none"
        what = f"write the kubelet settings of NodePools {shown} to {where}"
        reason = "there is no class that a command could change"
        notes = _removals(rows, once="a class has these settings")
        return PersonTask(target=target if name else None, what=what, why=reason, notes=notes)
    if len(meanings) > 1:
        differ = "want" if len(meanings - {None}) > 1 else "may want"
        cause = " (an annotation cannot be read)" if None in meanings else ""
        what = f"split EC2NodeClass {name} as {SPLIT_CHECK} says: its NodePools {differ} different settings{cause}"
        reason = f"only the annotations of {shown} hold their settings: removed before, they are lost"
        notes = _removals(rows, once=f"EC2NodeClass {name} is split")
        return PersonTask(target=target, what=what, why=reason, needs=(SPLIT_CHECK,), notes=notes)
    move = move_kubelet_to_class(inventory, rows[0])
    if isinstance(move, PersonTask):
        return replace(move, notes=_removals(rows, once=f"EC2NodeClass {name} has what is wanted of both"))
    return None


def _removals(rows: Sequence[Evidence], *, once: str) -> tuple[str, ...]:
    """What removes the annotations later, as comments."""
    removals = (ObjectAnnotations(target=target_of(row), removed=(labels.KUBELET_COMPATIBILITY,)) for row in rows)
    return tuple(f"Only once {once}: {line}" for line in kubectl.text(group(*removals)).splitlines())


def once_class_has_settings(inventory: Inventory, removal: ObjectAnnotations) -> ObjectAnnotations:
    """The removal of an annotation with kubelet settings, made only while the class of its pool has settings: a failed
    patch of the class may not cost the only copy. Settings that the class has already are the same
    (`annotations_to_keep`)."""
    pool = next((pool for pool in own_pools(inventory) if pool.name == removal.target.name), None)
    if pool is None or removal.removed != (labels.KUBELET_COMPATIBILITY,):
        return removal
    name = no_option(class_name(pool))
    settings = ("kubectl", "get", kinds.EC2_NODE_CLASS.crd_name, name, "-o", "jsonpath={.spec.kubelet}")
    return replace(removal, guard=(settings, ("grep", "-q", ".")))


def move_kubelet_to_class(inventory: Inventory, row: Evidence) -> Change:
    """Writes the kubelet settings in the annotation of a pool to its node class, which no other pool wants otherwise
    (`annotations_to_keep`). A manual task if the class has other settings of its own, or they cannot be read."""
    pool = next(pool for pool in own_pools(inventory) if pool.name == row.name)
    name, settings = class_name(pool), kubelet_of(pool)[1]
    target = ChangeTarget("EC2NodeClass", name, resource=kinds.EC2_NODE_CLASS.crd_name)
    ec2_node_class = _class(inventory, name)
    own = ec2_node_class.get("spec.kubelet") if ec2_node_class else None
    if ec2_node_class is None or not settings or same_meaning(own) not in ("", same_meaning(settings)):
        reason = "the class has other settings of its own, or those of the pool cannot be read"
        return PersonTask(target=target, what=f"spec.kubelet: {row.name} has {row.seen}", why=reason)
    body: JsonMap = {"spec": {"kubelet": settings}}
    done = f"spec.kubelet of {name} says {json.dumps(settings)}"
    return seen_patch(target, body, tree={"spec": ec2_node_class.spec or {}}, done=done)


def _class(inventory: Inventory, name: str) -> EC2NodeClass | None:
    return next((item for item in inventory.ec2nodeclasses.items if item.name == name), None)

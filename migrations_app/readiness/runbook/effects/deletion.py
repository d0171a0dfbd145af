"""Computes the inventory after objects were deleted, with the objects that they own and their pods."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

from msgspec.structs import replace

from migrations_app.checks.changes import ObjectDelete
from migrations_app.inventory.inventory import Inventory
from migrations_app.inventory.objects import karpenter as o
from migrations_app.inventory.parse import is_karpenter
from migrations_app.inventory.parts import Part, Seen
from migrations_app.readiness.runbook.effects.object_lookup import KINDS, find_object, with_items, with_parts
from migrations_app.readiness.runbook.effects.unknown_effect import NotShown

KUBERNETES_FINALIZERS: Final = ("foregroundDeletion", "orphan", "customresourcecleanup.apiextensions.k8s.io")
"""Finalizers that Kubernetes itself removes when their work is done."""
KindAndName = tuple[str, str, str]
"""Kind, namespace and name of an object."""
Objects = Mapping[KindAndName, o.NamedObject]


def without_objects(inventory: Inventory, changes: Sequence[ObjectDelete]) -> Inventory | NotShown:
    """The inventory after these objects were deleted, one after the other.

    Finalizers of Karpenter and Kubernetes are removed when their work is done. An object with any other finalizer
    stays, with a deletion timestamp.
    """
    objects = dict(_all_objects(inventory))
    by_name: dict[tuple[str, str], list[KindAndName]] = defaultdict(list)
    for key in objects:
        by_name[key[0], key[2]].append(key)
    orphans_by_key: dict[KindAndName, bool] = {}
    for change in changes:
        target = change.target
        keys = [key for key in by_name[target.kind, target.name] if target.namespace in ("", key[1])]
        if not keys:
            missing = find_object(inventory, target)
            return missing if isinstance(missing, NotShown) else NotShown("target_gone", f"{target.kind} {target.name}")
        orphans_by_key[keys[0]] = change.propagation == "orphan"
    return _after_deletion(inventory, objects, first=orphans_by_key)


def without_object(inventory: Inventory, named_object: o.NamedObject, *, kind: str) -> Inventory:
    """The inventory without the object and without the objects that it owns."""
    return _after_deletion(
        inventory, dict(_all_objects(inventory)), first={(kind, named_object.namespace, named_object.name): False}
    )


def _after_deletion(inventory: Inventory, objects: Objects, *, first: Mapping[KindAndName, bool]) -> Inventory:
    """The inventory without the objects of `first` and what they own; a value True leaves what the object owns."""
    orphaning = [key for key, orphans in first.items() if orphans and not isinstance(objects[key], o.CRD)]
    reached = dict.fromkeys((*orphaning, *_with_owned([key for key in first if key not in orphaning], objects)))
    waiting = {
        key: _marked_as_deleted(objects[key], inventory.taken_at) for key in reached if foreign_finalizers(objects[key])
    }
    gone = {key: objects[key] for key in reached if key not in waiting}
    return _without_pods(_with_remaining(inventory, gone, waiting=waiting), gone)


def foreign_finalizers(named_object: o.NamedObject) -> list[str]:
    """The finalizers of the object that are neither of Karpenter nor of Kubernetes."""
    return [
        name
        for name in named_object.metadata.finalizers or ()
        if not is_karpenter(name) and name not in KUBERNETES_FINALIZERS
    ]


def _marked_as_deleted(named_object: o.NamedObject, now: str) -> o.NamedObject:
    when = named_object.metadata.deletion_timestamp or now
    return replace(
        named_object,
        metadata=replace(named_object.metadata, deletion_timestamp=when, finalizers=foreign_finalizers(named_object)),
    )


def _with_owned(first: Sequence[KindAndName], objects: Objects) -> tuple[KindAndName, ...]:
    """The objects of `first` and all that they own, directly or not. What an object with a foreign finalizer owns is
    left out."""
    owned: dict[tuple[str, str], list[KindAndName]] = defaultdict(list)
    for key, named_object in objects.items():
        for ref in named_object.metadata.owner_references or ():
            owned[ref.kind, ref.name].append(key)
    reached, queue = dict.fromkeys(first), list(first)
    while queue:
        key = queue.pop()
        owner = objects[key]
        if foreign_finalizers(owner) and not isinstance(owner, o.CRD):
            continue
        dependents = [dependent for dependent in owned[key[0], key[2]] if _is_owner(owner, objects[dependent])]
        if isinstance(owner, o.CRD):
            dependents = [dependent for dependent in objects if dependent[0] == owner.spec.names.kind]
        added = [dependent for dependent in dependents if dependent not in reached]
        reached |= dict.fromkeys(added)
        queue += added
    return tuple(reached)


def _is_owner(owner: o.NamedObject, named_object: o.NamedObject) -> bool:
    uids = [ref.uid for ref in named_object.metadata.owner_references or () if ref.name == owner.name]
    return owner.namespace in ("", named_object.namespace) and (not owner.metadata.uid or owner.metadata.uid in uids)


def _all_objects(inventory: Inventory) -> Iterator[tuple[KindAndName, o.NamedObject]]:
    for kind, (parts, projection) in KINDS.items():
        for name in parts:
            for item in inventory.part(name).items:
                if isinstance(item, projection) and item.kind in ("", kind):
                    yield (kind, item.namespace, item.name), item


def _with_remaining(inventory: Inventory, gone: Objects, *, waiting: Objects) -> Inventory:
    changed: dict[str, Part[object]] = {}
    for kind in {key[0] for key in (*gone, *waiting)}:
        for name in KINDS[kind][0]:
            part = changed.get(name) or inventory.part(name)
            if isinstance(part, Seen):
                changed[name] = with_items(part, tuple(_remaining(part.items, gone, waiting=waiting, kind=kind)))
    return with_parts(inventory, changed)


def _remaining(items: Iterable[object], gone: Objects, *, waiting: Objects, kind: str) -> Iterator[object]:
    for item in items:
        key = (kind, item.namespace, item.name) if isinstance(item, o.NamedObject) and item.kind in ("", kind) else None
        if key is None or key not in gone:
            yield waiting.get(key, item) if key else item


def _without_pods(inventory: Inventory, gone: Objects) -> Inventory:
    """The inventory without the pods of deleted workloads; pods of a deleted node run on, on another node."""
    part = inventory.pods
    if not isinstance(part, Seen):
        return inventory
    nodes = {name for kind, _, name in gone if kind == "Node"}
    remaining = [
        pod_group
        for pod_group in part.items
        if (pod_group.owner_kind, pod_group.namespace, pod_group.owner_name) not in gone
    ]
    moved = tuple(
        replace(pod_group, nodes=[name for name in pod_group.nodes if name not in nodes])
        if nodes & set(pod_group.nodes)
        else pod_group
        for pod_group in remaining
    )
    if moved == part.items:
        return inventory
    lost = sum(pod_group.count for pod_group in part.items) - sum(pod_group.count for pod_group in remaining)
    total = None if part.total is None else part.total - lost
    return with_parts(inventory, {"pods": Seen(moved, part.served, part.quarantined, total, part.other_version)})

"""What becomes of an inventory when an object is deleted: what it owns goes with it, and so do its pods."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

from msgspec.structs import replace

from migrations_app.checks.changes import ObjectDelete
from migrations_app.inventory.inventory import Inventory
from migrations_app.inventory.objects import karpenter as o
from migrations_app.inventory.parse import is_karpenter
from migrations_app.inventory.parts import Part, Seen
from migrations_app.readiness.plan.effects.not_shown import NotShown
from migrations_app.readiness.plan.effects.places import KINDS, found, with_items, with_parts

CLEANED: Final = ("foregroundDeletion", "orphan", "customresourcecleanup.apiextensions.k8s.io")
"""Finalizers of Kubernetes itself, which it takes off when what they wait for is done."""
Key = tuple[str, str, str]
"""Kind, namespace and name of an object."""
Objects = Mapping[Key, o.NamedObject]


def deleted(inventory: Inventory, changes: Sequence[ObjectDelete]) -> Inventory | NotShown:
    """After these objects were deleted, one after the other. Karpenter's own finalizers let go when their work is done;
    another one keeps the object there, deleted and waiting."""
    every = dict(_objects(inventory))
    by_name: dict[tuple[str, str], list[Key]] = defaultdict(list)
    for key in every:
        by_name[key[0], key[2]].append(key)
    first: dict[Key, bool] = {}
    for change in changes:
        target = change.target
        keys = [key for key in by_name[target.kind, target.name] if target.namespace in ("", key[1])]
        if not keys:
            gone = found(inventory, target)
            return gone if isinstance(gone, NotShown) else NotShown("target_gone", f"{target.kind} {target.name}")
        first[keys[0]] = change.propagation == "orphan"
    return _without(inventory, every, first=first)


def without(inventory: Inventory, named_object: o.NamedObject, *, kind: str) -> Inventory:
    """The inventory without the object and what it owns."""
    return _without(
        inventory, dict(_objects(inventory)), first={(kind, named_object.namespace, named_object.name): False}
    )


def _without(inventory: Inventory, every: Objects, *, first: Mapping[Key, bool]) -> Inventory:
    """Without these objects; what they own stays where the value says that it is left as an orphan."""
    alone = [key for key, orphans in first.items() if orphans and not isinstance(every[key], o.CRD)]
    reached = dict.fromkeys((*alone, *_reached([key for key in first if key not in alone], every)))
    waiting = {key: _waiting(every[key], inventory.taken_at) for key in reached if holding(every[key])}
    gone = {key: every[key] for key in reached if key not in waiting}
    return _without_pods(_rewritten(inventory, gone, waiting=waiting), gone)


def holding(named_object: o.NamedObject) -> list[str]:
    """The finalizers of others than Karpenter and Kubernetes."""
    return [name for name in named_object.metadata.finalizers or () if not is_karpenter(name) and name not in CLEANED]


def _waiting(named_object: o.NamedObject, now: str) -> o.NamedObject:
    when = named_object.metadata.deletion_timestamp or now
    return replace(
        named_object, metadata=replace(named_object.metadata, deletion_timestamp=when, finalizers=holding(named_object))
    )


def _reached(first: Sequence[Key], every: Objects) -> tuple[Key, ...]:
    """The objects and what goes with them: what is owned, by whatever way; what a held one owns stays."""
    owned: dict[tuple[str, str], list[Key]] = defaultdict(list)
    for key, named_object in every.items():
        for ref in named_object.metadata.owner_references or ():
            owned[ref.kind, ref.name].append(key)
    reached, left = dict.fromkeys(first), list(first)
    while left:
        key = left.pop()
        owner = every[key]
        if holding(owner) and not isinstance(owner, o.CRD):
            continue
        below = [key_below for key_below in owned[key[0], key[2]] if _is_owner(owner, every[key_below])]
        if isinstance(owner, o.CRD):
            below = [key_below for key_below in every if key_below[0] == owner.spec.names.kind]
        new = [key_below for key_below in below if key_below not in reached]
        reached |= dict.fromkeys(new)
        left += new
    return tuple(reached)


def _is_owner(owner: o.NamedObject, named_object: o.NamedObject) -> bool:
    uids = [ref.uid for ref in named_object.metadata.owner_references or () if ref.name == owner.name]
    return owner.namespace in ("", named_object.namespace) and (not owner.metadata.uid or owner.metadata.uid in uids)


def _objects(inventory: Inventory) -> Iterator[tuple[Key, o.NamedObject]]:
    for kind, (parts, projection) in KINDS.items():
        for name in parts:
            for item in inventory.part(name).items:
                if isinstance(item, projection) and item.kind in ("", kind):
                    yield (kind, item.namespace, item.name), item


def _rewritten(inventory: Inventory, gone: Objects, *, waiting: Objects) -> Inventory:
    changed: dict[str, Part[object]] = {}
    for kind in {key[0] for key in (*gone, *waiting)}:
        for name in KINDS[kind][0]:
            part = changed.get(name) or inventory.part(name)
            if isinstance(part, Seen):
                changed[name] = with_items(part, tuple(_left(part.items, gone, waiting=waiting, kind=kind)))
    return with_parts(inventory, changed)


def _left(items: Iterable[object], gone: Objects, *, waiting: Objects, kind: str) -> Iterator[object]:
    for item in items:
        key = (kind, item.namespace, item.name) if isinstance(item, o.NamedObject) and item.kind in ("", kind) else None
        if key is None or key not in gone:
            yield waiting.get(key, item) if key else item


def _without_pods(inventory: Inventory, gone: Objects) -> Inventory:
    """Without the pods of workloads that are gone; those of a node that is gone run on another one."""
    part = inventory.pods
    if not isinstance(part, Seen):
        return inventory
    nodes = {name for kind, _, name in gone if kind == "Node"}
    left = [
        pod_group
        for pod_group in part.items
        if (pod_group.owner_kind, pod_group.namespace, pod_group.owner_name) not in gone
    ]
    moved = tuple(
        replace(pod_group, nodes=[name for name in pod_group.nodes if name not in nodes])
        if nodes & set(pod_group.nodes)
        else pod_group
        for pod_group in left
    )
    if moved == part.items:
        return inventory
    lost = sum(pod_group.count for pod_group in part.items) - sum(pod_group.count for pod_group in left)
    total = None if part.total is None else part.total - lost
    return with_parts(inventory, {"pods": Seen(moved, part.served, part.quarantined, total, part.other_version)})

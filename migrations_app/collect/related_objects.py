"""Reads objects around Karpenter: Namespaces, volumes, monitors, policies, and the sources of Flux."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from functools import partial
from typing import TypeAlias, TypeVar

import msgspec

from migrations_app.clients.kubernetes.api import ListPage, Resource
from migrations_app.collect.reading import Parts, Reading, refuse_repeated
from migrations_app.errors import NotServed
from migrations_app.inventory.facts.delivery_sources import SourceName, source_names
from migrations_app.inventory.metric_queries import WORD, read_monitor
from migrations_app.inventory.objects.cluster import (
    ZONE_KEYS,
    AdmissionPolicy,
    GitOpsSource,
    Namespace,
    PersistentVolume,
)
from migrations_app.inventory.objects.karpenter import Metadata, NamedObject
from migrations_app.inventory.parse import decoder, read_one
from migrations_app.inventory.parts import Seen, UnparsableObject
from migrations_app.karpenter import kinds
from migrations_app.karpenter.kinds import Kind

N = TypeVar("N", bound=NamedObject)
ItemReader: TypeAlias = Callable[[msgspec.Raw], N | UnparsableObject | None]
"""Returns None for an object that is dropped."""


def namespaces(reading: Reading) -> Parts:
    """The Namespaces of the controllers."""
    homes = {workload.namespace for workload in reading.controllers}
    seen = _read_kind(
        reading,
        kinds.NAMESPACE,
        read=partial(_item_if, kind=Namespace, condition=lambda namespace: namespace.name in homes),
    )
    return {"namespaces": seen}


def volumes(reading: Reading) -> Parts:
    """The PersistentVolumes; only name and zone labels of their metadata, because there may be tens of thousands."""
    return {"volumes": _read_kind(reading, kinds.PERSISTENT_VOLUME, read=_volume)}


def _volume(item: msgspec.Raw) -> PersistentVolume | UnparsableObject:
    volume = read_one(item, PersistentVolume, take=decoder(PersistentVolume).decode)
    if isinstance(volume, UnparsableObject):
        return volume
    labels = {key: value for key in ZONE_KEYS if (value := volume.metadata.label(key)) is not None}
    return msgspec.structs.replace(volume, metadata=Metadata(name=volume.name, labels=labels or None))


def monitors(reading: Reading) -> Parts:
    """The ServiceMonitors and PodMonitors that name Karpenter."""
    each = (kinds.SERVICE_MONITOR, kinds.POD_MONITOR)
    seens = [_read_kind(reading, kind, read=partial(read_monitor, kind=kind.kind)) for kind in each]
    return {"monitors": _joined(seens)}


def policies(reading: Reading) -> Parts:
    """The policies that name Karpenter. Constraints of Gatekeeper have kinds of their own, which discovery reports."""
    seens = [_read_kind(reading, kind, read=_policy) for kind in kinds.POLICY_KINDS]
    reading.refuse_doubtful(kinds.GATEKEEPER_CONSTRAINT)
    seens += [_listed(reading, resource, read=_policy) for resource in _constraints(reading)]
    return {"policies": _joined(seens)}


def admission_policies(reading: Reading) -> Parts:
    """The policies of Kubernetes itself that name Karpenter; lists of built-in kinds leave out the kind."""
    seens = [
        replace(seen, items=tuple(msgspec.structs.replace(policy, kind=kind.kind) for policy in seen.items))
        for kind in kinds.ADMISSION_POLICIES
        for seen in (_read_kind(reading, kind, read=_policy),)
    ]
    return {"admission_policies": _joined(seens)}


def _policy(item: msgspec.Raw) -> AdmissionPolicy | UnparsableObject | None:
    """The policy without its status; None if it does not name Karpenter."""
    if WORD not in bytes(item):
        return None
    policy = read_one(item, AdmissionPolicy, take=decoder(AdmissionPolicy).decode)
    return policy if isinstance(policy, UnparsableObject) else msgspec.structs.replace(policy, status=None)


def _constraints(reading: Reading) -> Iterator[Resource]:
    seen: set[str] = set()
    for entry in reading.found["discovery"].items:
        if entry.group == kinds.GATEKEEPER_CONSTRAINT.group and entry.plural not in seen:
            seen.add(entry.plural)
            yield Resource(entry.group, entry.version, entry.plural)


def sources(reading: Reading) -> Parts:
    """The sources that the deliveries name."""
    names = {name for delivery in reading.found["deliveries"].items for name in source_names(delivery)}
    seens = [_sources(reading, kind, names=names) for kind in kinds.FLUX_SOURCES]
    return {"sources": _joined(seens)}


def _sources(reading: Reading, kind: Kind, *, names: set[SourceName]) -> Seen[GitOpsSource]:
    """The sources of one kind; makes no request if no delivery names one."""
    of_kind = {(home, name) for named, home, name in names if named == kind.kind}
    if not of_kind:
        return Seen(())
    read = partial(_item_if, kind=GitOpsSource, condition=lambda source: (source.namespace, source.name) in of_kind)
    seen = _read_kind(reading, kind, read=read)
    return replace(seen, items=tuple(msgspec.structs.replace(source, kind=kind.kind) for source in seen.items))


def _item_if(item: msgspec.Raw, *, kind: type[N], condition: Callable[[N], bool]) -> N | UnparsableObject | None:
    value = read_one(item, kind, take=decoder(kind).decode)
    return value if isinstance(value, UnparsableObject) or condition(value) else None


def _read_kind(reading: Reading, kind: Kind, *, read: ItemReader[N]) -> Seen[N]:
    """The results of `read` for the objects of a kind, with the count of all objects; empty if the kind is not
    served.
    """
    reading.refuse_doubtful(kind)
    for resource in reading.candidates(kind):
        try:
            return _listed(reading, resource, read=read)
        except NotServed:
            continue
    reading.refuse_contradicted(kind)
    return Seen((), None, total=0)


def _listed(reading: Reading, resource: Resource, *, read: ItemReader[N]) -> Seen[N]:
    good: list[N] = []
    bad: list[UnparsableObject] = []
    total = 0

    def begin() -> Callable[[ListPage], None]:
        nonlocal total
        good.clear()
        bad.clear()
        total = 0
        return take

    def take(page: ListPage) -> None:
        nonlocal total
        total += len(page.items)
        for item in page.items:
            value = read(item)
            if isinstance(value, UnparsableObject):
                bad.append(value)
            elif value is not None:
                good.append(value)

    reading.each_page(resource, begin)
    refuse_repeated(resource, is_repeated=len({(entry.namespace, entry.name) for entry in good}) < len(good))
    return Seen(tuple(good), resource.group_version, tuple(bad), total=total)


def _joined(seens: Iterable[Seen[N]]) -> Seen[N]:
    every = tuple(seens)
    return Seen(
        tuple(item for seen in every for item in seen.items),
        next((seen.served for seen in every if seen.served), None),
        tuple(bad for seen in every for bad in seen.quarantined),
        total=sum(seen.count for seen in every),
    )

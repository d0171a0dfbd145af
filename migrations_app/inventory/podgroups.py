"""Folds pods into groups as their pages arrive, so that memory follows the number of workloads and not of pods."""

from collections.abc import Iterable
from dataclasses import dataclass, field

import msgspec

from migrations_app.inventory.objects import Constraint, Metadata, OwnerReference, Pod, PodGroup, PodSpec
from migrations_app.inventory.parse import decoder, read_one
from migrations_app.inventory.placement import constraints, markers
from migrations_app.inventory.seen import Quarantined, Seen

SAMPLES = 3
NODES_KEPT = 50
BAD_KEPT = 1000
_OVER = ("Succeeded", "Failed")

Key = tuple[str, str, str, tuple[tuple[str, str], ...], tuple[Constraint, ...], tuple[str, ...]]


@dataclass(slots=True)
class _Tally:
    count: int = 0
    samples: list[str] = field(default_factory=list)
    nodes: dict[str, None] = field(default_factory=dict)
    labels: dict[str, str] = field(default_factory=dict)
    grace: int = 0


@dataclass(slots=True)
class PodFold:
    """Takes pages with `add`, answers once with `seen`. Finished pods count in the total and in no group."""

    total: int = 0
    groups: dict[Key, _Tally] = field(default_factory=dict)
    bad: list[Quarantined] = field(default_factory=list)
    bad_total: int = 0
    names: dict[str, str] = field(default_factory=dict)
    """Each node's name once: every pod page spells them anew."""

    def add(self, items: Iterable[msgspec.Raw]) -> None:
        take = decoder(Pod).decode
        for item in items:
            found = read_one(item, Pod, take=take)
            if isinstance(found, Quarantined):
                self._set_aside(found)
            else:
                self._count(found)

    def seen(self, served: str) -> Seen[PodGroup]:
        groups = tuple(_group(key, tally) for key, tally in self.groups.items())
        return Seen(groups, served, tuple(self.bad), total=self.total + self.bad_total)

    def _set_aside(self, found: Quarantined) -> None:
        self.bad_total += 1
        if len(self.bad) < BAD_KEPT:
            self.bad.append(found)

    def _count(self, pod: Pod) -> None:
        self.total += 1
        if pod.status and pod.status.phase in _OVER:
            return
        key = _key(pod)
        tally = self.groups.get(key)
        if tally is None:
            tally = self.groups[key] = _Tally(labels=pod.metadata.labels or {})
        tally.count += 1
        tally.grace = max(tally.grace, pod.spec.termination_grace_period_seconds or 0)
        if len(tally.samples) < SAMPLES:
            tally.samples.append(pod.name)
        if (key[3] or key[1] != "DaemonSet") and pod.spec.node_name and len(tally.nodes) < NODES_KEPT:
            tally.nodes[self.names.setdefault(pod.spec.node_name, pod.spec.node_name)] = None


def _key(pod: Pod) -> Key:
    kind, name = _owner(pod.metadata)
    marks = tuple(sorted(markers(pod.metadata).items()))
    return pod.namespace, kind, name, marks, constraints(pod.spec), _storage(pod.spec)


def _storage(spec: PodSpec) -> tuple[str, ...]:
    found = set()
    for volume in spec.volumes or ():
        if volume.persistent_volume_claim is not None or volume.ephemeral is not None:
            found.add("claim")
        elif volume.host_path is not None:
            found.add("hostPath")
        elif volume.empty_dir is not None and volume.empty_dir.medium != "Memory":
            found.add("emptyDir")
    return tuple(sorted(found))


def _owner(metadata: Metadata) -> tuple[str, str]:
    """The workload behind the pod: of a ReplicaSet with its template hash in the name, the Deployment."""
    owner = _controller(metadata.owner_references)
    if owner is None:
        return "", ""
    template_hash = metadata.label("pod-template-hash")
    if owner.kind == "ReplicaSet" and template_hash and owner.name.endswith(f"-{template_hash}"):
        return "Deployment", owner.name.removesuffix(f"-{template_hash}")
    return owner.kind, owner.name


def _controller(references: list[OwnerReference] | None) -> OwnerReference | None:
    if not references:
        return None
    return next((reference for reference in references if reference.controller), references[0])


def _group(key: Key, tally: _Tally) -> PodGroup:
    namespace, kind, name, marks, places, storage = key
    return PodGroup(
        namespace=namespace,
        owner_kind=kind,
        owner_name=name,
        markers=dict(marks),
        placement=list(places),
        count=tally.count,
        samples=tally.samples,
        nodes=list(tally.nodes),
        labels=tally.labels,
        storage=list(storage),
        grace_seconds=tally.grace,
    )

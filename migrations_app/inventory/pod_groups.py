"""Groups pods as their pages arrive, so that memory depends on the number of workloads and not of pods.

A group includes every mention of a Karpenter key in a placement: selectors, affinities, topology spread keys,
tolerations.
"""

from array import array
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field

import msgspec

from migrations_app.inventory.objects.karpenter import (
    Affinity,
    Constraint,
    Metadata,
    NodeAffinity,
    OwnerReference,
    Placement,
    Pod,
    PodAffinity,
    PodGroup,
    PodSpec,
    SelectorExpression,
    Workload,
)
from migrations_app.inventory.parse import BETA_NODE_KEYS, TEMPLATE_KEYS, decoder, is_karpenter, read_one
from migrations_app.inventory.parts import Seen, UnparsableObject


def constraints(
    spec: Placement, *, below: str = "spec", also: Collection[str] = BETA_NODE_KEYS
) -> tuple[Constraint, ...]:
    """The mentions, in field order; `below` is the path of the pod spec inside its object.

    `also` are keys outside Karpenter's domains that matter as well.
    """
    return tuple(
        Constraint(path=f"{below}.{path}", key=key, value=value)
        for path, key, value in _mentions(spec)
        if is_karpenter(key) or key in also
    )


def markers(metadata: Metadata) -> dict[str, str]:
    """The annotations with Karpenter keys.

    A label with such a key protects nothing: kubernetes-sigs/karpenter@v0.37.7:pkg/utils/pod/scheduling.go.
    """
    return {key: value[:253] for key, value in (metadata.annotations or {}).items() if is_karpenter(key)}


def names_karpenter(workload: Workload) -> bool:
    """Whether a workload or its pod template mentions a Karpenter key, or an old key that upgrades depend on."""
    template = workload.template
    placed = constraints(template.spec, also=TEMPLATE_KEYS)
    return bool(markers(workload.metadata) or markers(template.metadata) or placed)


PlacementMention = tuple[str, str, str]


ANYWAY = "ScheduleAnyway"
"""The `whenUnsatisfiable` of a spread that is only a preference."""


def _mentions(spec: Placement) -> Iterator[PlacementMention]:
    for key, value in (spec.node_selector or {}).items():
        yield "nodeSelector", key, value
    if spec.affinity:
        yield from _affinity(spec.affinity)
    for spread in spec.topology_spread_constraints or ():
        # The operator's place: what the scheduler and Karpenter give up is no requirement.
        yield "topologySpreadConstraints", spread.topology_key or "", ANYWAY * (spread.when_unsatisfiable == ANYWAY)
    for toleration in spec.tolerations or ():
        yield "tolerations", toleration.key or "", toleration.value or ""


def _affinity(affinity: Affinity) -> Iterator[PlacementMention]:
    if affinity.node_affinity:
        yield from _node_affinity(affinity.node_affinity)
    for name, terms in (("podAffinity", affinity.pod_affinity), ("podAntiAffinity", affinity.pod_anti_affinity)):
        if terms:
            yield from _pod_affinity(f"affinity.{name}", terms)


def _node_affinity(affinity: NodeAffinity) -> Iterator[PlacementMention]:
    required = affinity.required_during_scheduling_ignored_during_execution
    for term in (required.node_selector_terms if required else None) or ():
        yield from _expressions("affinity.nodeAffinity.required", term.match_expressions)
    for weighted in affinity.preferred_during_scheduling_ignored_during_execution or ():
        if weighted.preference:
            yield from _expressions("affinity.nodeAffinity.preferred", weighted.preference.match_expressions)


def _expressions(path: str, expressions: list[SelectorExpression] | None) -> Iterator[PlacementMention]:
    for expression in expressions or ():
        yield path, expression.key, " ".join([expression.operator, *(expression.values or ())])


def _pod_affinity(path: str, terms: PodAffinity) -> Iterator[PlacementMention]:
    for term in terms.required_during_scheduling_ignored_during_execution or ():
        yield f"{path}.required", term.topology_key or "", ""
    for weighted in terms.preferred_during_scheduling_ignored_during_execution or ():
        if weighted.pod_affinity_term:
            yield f"{path}.preferred", weighted.pod_affinity_term.topology_key or "", ""


SAMPLES = 3
NODES_KEPT = 50
BAD_KEPT = 1000
_FINISHED = ("Succeeded", "Failed")

TEMPLATE_HASHES = (("pod-template-hash", "Deployment"), ("rollouts-pod-template-hash", "Rollout"))
"""Labels with the template hash that ends the name of a ReplicaSet, and the kind that made it.
argoproj/argo-rollouts@master:pkg/apis/rollouts/v1alpha1.
"""

PodGroupKey = tuple[str, str, str, tuple[tuple[str, str], ...], tuple[Constraint, ...], tuple[str, ...], bool]


@dataclass(slots=True)
class _Tally:
    count: int = 0
    samples: list[str] = field(default_factory=list)
    nodes: dict[str, None] = field(default_factory=dict)
    labels: dict[str, str] = field(default_factory=dict)
    grace: int = 0


@dataclass(slots=True)
class PodGrouper:
    """Takes pages with `add` and returns the part with `seen`. Finished pods count in the total but belong to no
    group.
    """

    total: int = 0
    groups: dict[PodGroupKey, _Tally] = field(default_factory=dict)
    bad: list[UnparsableObject] = field(default_factory=list)
    bad_total: int = 0
    names: dict[str, str] = field(default_factory=dict)
    """Interned node names, since every page of pods repeats them."""
    known: "array[int]" = field(default_factory=lambda: array("q"))
    """A digest of each pod's namespace and name: eight bytes each, for a hundred thousand of them."""

    def add(self, items: Iterable[msgspec.Raw]) -> None:
        take = decoder(Pod).decode
        for item in items:
            pod = read_one(item, Pod, take=take)
            if isinstance(pod, UnparsableObject):
                self._set_aside(pod)
            else:
                self._count(pod)

    def seen(self, served: str) -> Seen[PodGroup]:
        groups = tuple(_group(key, tally) for key, tally in self.groups.items())
        return Seen(groups, served, tuple(self.bad), total=self.total + self.bad_total)

    @property
    def is_repeated(self) -> bool:
        """Whether a pod was listed more than once."""
        return len(set(self.known)) < len(self.known)

    def _set_aside(self, unparsable: UnparsableObject) -> None:
        self.bad_total += 1
        if len(self.bad) < BAD_KEPT:
            self.bad.append(unparsable)

    def _count(self, pod: Pod) -> None:
        self.total += 1
        self.known.append(hash((pod.namespace, pod.name)))
        if pod.status and pod.status.phase in _FINISHED:
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


def _key(pod: Pod) -> PodGroupKey:
    kind, name = _owner(pod.metadata)
    marks = tuple(sorted(markers(pod.metadata).items()))
    devices = bool(pod.spec.resource_claims)
    return pod.namespace, kind, name, marks, constraints(pod.spec), _storage(pod.spec), devices


def _storage(spec: PodSpec) -> tuple[str, ...]:
    kinds_of_volume = set()
    for volume in spec.volumes or ():
        if volume.persistent_volume_claim is not None or volume.ephemeral is not None:
            kinds_of_volume.add("claim")
        elif volume.host_path is not None:
            kinds_of_volume.add("hostPath")
        elif volume.empty_dir is not None and volume.empty_dir.medium != "Memory":
            kinds_of_volume.add("emptyDir")
    return tuple(sorted(kinds_of_volume))


def _owner(metadata: Metadata) -> tuple[str, str]:
    """Kind and name of the pod's workload; for a ReplicaSet with a template hash in its name, the Deployment or the
    Rollout of Argo.
    """
    owner = _controller(metadata.owner_references)
    if owner is None:
        return "", ""
    for label, kind in TEMPLATE_HASHES:
        template_hash = metadata.label(label)
        if owner.kind == "ReplicaSet" and template_hash and owner.name.endswith(f"-{template_hash}"):
            return kind, owner.name.removesuffix(f"-{template_hash}")
    return owner.kind, owner.name


def _controller(references: list[OwnerReference] | None) -> OwnerReference | None:
    if not references:
        return None
    return next((reference for reference in references if reference.controller), references[0])


def _group(key: PodGroupKey, tally: _Tally) -> PodGroup:
    namespace, kind, name, marks, places, storage, devices = key
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
        claims_devices=devices,
    )

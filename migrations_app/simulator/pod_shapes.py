"""The properties that decide where a pod may run and what protects it; equal for all pods of a workload, so stored
once."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import msgspec

from migrations_app.karpenter import labels as keys
from migrations_app.manifests import JsonMap
from migrations_app.simulator.pod_terms import PodRules, rules_of, unplayed_terms
from migrations_app.simulator.resources import ResourceAmounts, requested

PINS = (keys.DO_NOT_EVICT, keys.DO_NOT_DISRUPT)
STAYS_WITH_NODE = ("DaemonSet", "Node")
"""Kinds of owners whose pods are not moved: they are deleted with their node."""
DEFAULT_GRACE = 30
OF_ONE_POD = (
    "statefulset.kubernetes.io/pod-name",
    "apps.kubernetes.io/pod-index",
    "batch.kubernetes.io/job-completion-index",
)
"""Labels whose value differs between the pods of a workload."""

Expression = tuple[str, str, tuple[str, ...]]
"""Key, operator and values of a requirement on labels."""


@dataclass(frozen=True, slots=True, eq=False)
class PodShape:
    """Compared by identity: `PodShapes` returns the same object for equal pods."""

    namespace: str
    owner: str
    """The uid of the controller; empty for a pod without one."""
    owner_kind: str
    labels: Mapping[str, str]
    requests: ResourceAmounts
    selector: Mapping[str, str]
    terms: tuple[tuple[Expression, ...], ...]
    """Required node affinity: one of these terms has to match; empty if there is none."""
    tolerations: tuple[JsonMap, ...]
    pinned: bool
    """Whether an annotation forbids Karpenter to evict it."""
    grace: int
    """terminationGracePeriodSeconds."""
    unplayed: tuple[str, ...]
    """The fields of placement rules that are not simulated."""
    keys: frozenset[str]
    """The labels of nodes that selector and terms use."""
    rules: PodRules
    """Its rules about other pods."""

    @property
    def stays(self) -> bool:
        return self.owner_kind in STAYS_WITH_NODE

    def tolerates(self, taints: Iterable[JsonMap]) -> bool:
        """Returns whether the pod tolerates all taints."""
        return all(any(_tolerated(taint, toleration) for toleration in self.tolerations) for taint in hard(taints))

    def selects_in(self, labels: Mapping[str, str]) -> bool:
        """As `selects`, with only some labels known: requirements on other labels count as met."""
        if any(labels[key] != value for key, value in self.selector.items() if key in labels):
            return False
        known_parts = [[expression for expression in term if expression[0] in labels] for term in self.terms]
        return not known_parts or any(all(matches(expression, labels) for expression in term) for term in known_parts)

    def selects(self, labels: Mapping[str, str]) -> bool:
        """Returns whether node selector and required affinity match a node with these labels."""
        if self.selector.items() - labels.items():
            return False
        return not self.terms or any(all(matches(expression, labels) for expression in term) for term in self.terms)


def hard(taints: Iterable[JsonMap]) -> list[JsonMap]:
    """Returns the taints that forbid pods; the others only discourage."""
    return [taint for taint in taints if taint.get("effect") != "PreferNoSchedule"]


def _tolerated(taint: JsonMap, toleration: JsonMap) -> bool:
    if toleration.get("effect") not in (None, "", taint.get("effect")):
        return False
    if toleration.get("operator") == "Exists":
        return toleration.get("key") in (None, "", taint["key"])
    same_key = toleration.get("key") == taint["key"]
    return same_key and (toleration.get("value") or "") == (taint.get("value") or "")


def matches(expression: Expression, labels: Mapping[str, str]) -> bool:
    """Returns whether labels meet a requirement; one with an unknown operator is never met.

    Source: kubernetes/kubernetes documentation, Assigning Pods to Nodes, Operators.
    """
    key, operator, values = expression
    value = labels.get(key)
    match operator:
        case "In":
            return value in values
        case "NotIn":
            return value not in values
        case "Exists":
            return value is not None
        case "DoesNotExist":
            return value is None
        case "Gt" | "Lt":
            return _compared(operator, value, values=values)
    return False


def _compared(operator: str, value: str | None, *, values: tuple[str, ...]) -> bool:
    if value is None or not value.isdecimal() or len(values) != 1 or not values[0].isdecimal():
        return False
    return int(value) > int(values[0]) if operator == "Gt" else int(value) < int(values[0])


def expressions(terms: Iterable[Mapping[str, Any]] | None) -> tuple[Expression, ...]:
    """Returns the requirements of a NodePool or node selector term."""
    return tuple(
        (str(term.get("key", "")), str(term.get("operator", "")), tuple(map(str, term.get("values") or ())))
        for term in terms or ()
    )


class PodShapes:
    """Returns one shape for all pods that are equal in it."""

    def __init__(self) -> None:
        self._known: dict[bytes, PodShape] = {}
        self._seen: dict[tuple[object, ...], tuple[PodShape, object]] = {}
        """By the object ids of a pod's parts, which pods in a twin share; the parts are kept so that ids stay valid."""

    def of(self, pod: JsonMap) -> PodShape:
        """Returns the shape of a pod, or of a template that has the metadata of a pod."""
        metadata, spec = pod["metadata"], pod.get("spec") or {}
        parts = [*map(metadata.get, _METADATA), *map(spec.get, _SPEC_FIELDS)]
        cache_key = metadata.get("namespace"), *map(id, parts)
        cached = self._seen.get(cache_key)
        if cached is None:
            if len(self._seen) >= MAX_SEEN:
                self._seen.clear()
            cached = self._seen[cache_key] = self._compared(pod), parts
        return cached[0]

    def _compared(self, pod: JsonMap) -> PodShape:
        metadata, spec = pod["metadata"], pod.get("spec") or {}
        owner = controller_of(pod) or {}
        shared_labels = {key: value for key, value in (metadata.get("labels") or {}).items() if key not in OF_ONE_POD}
        annotations = metadata.get("annotations") or {}
        pinned = any(annotations.get(name) == "true" for name in PINS)
        placed = {key: spec.get(key) for key in _SPEC_FIELDS}
        identity = [metadata.get("namespace", ""), owner.get("uid"), shared_labels, pinned, placed]
        key = msgspec.json.encode(identity, order="deterministic")
        if key not in self._known:
            self._known[key] = _shape(
                metadata.get("namespace", ""), owner, labels=shared_labels, pinned=pinned, spec=spec
            )
        return self._known[key]


MAX_SEEN = 20_000
_METADATA = ("labels", "annotations", "ownerReferences")
_SPEC_FIELDS = (
    "containers", "initContainers", "overhead", "nodeSelector", "affinity", "tolerations",
    "topologySpreadConstraints", "terminationGracePeriodSeconds", "volumes",
)  # fmt: skip


def _shape(
    namespace: str, owner: JsonMap, *, labels: Mapping[str, str], pinned: bool, spec: Mapping[str, Any]
) -> PodShape:
    grace = spec.get("terminationGracePeriodSeconds")
    selector, terms = spec.get("nodeSelector") or {}, _terms(spec.get("affinity") or {})
    return PodShape(
        namespace=namespace,
        owner=str(owner.get("uid", "")),
        owner_kind=str(owner.get("kind", "")),
        labels=labels,
        requests=requested(spec),
        selector=selector,
        terms=terms,
        tolerations=tuple(spec.get("tolerations") or ()),
        pinned=pinned,
        grace=DEFAULT_GRACE if grace is None else int(grace),
        unplayed=tuple(_unplayed(spec)),
        rules=rules_of(spec, namespace, labels=labels),
        keys=frozenset([*selector, *(key for term in terms for key, _, _ in term)]),
    )


def _terms(affinity: Mapping[str, Any]) -> tuple[tuple[Expression, ...], ...]:
    required = (affinity.get("nodeAffinity") or {}).get("requiredDuringSchedulingIgnoredDuringExecution") or {}
    return tuple(expressions(term.get("matchExpressions")) for term in required.get("nodeSelectorTerms") or ())


def _unplayed(spec: Mapping[str, Any]) -> Iterable[str]:
    yield from unplayed_terms(spec)
    if any("persistentVolumeClaim" in volume or "ephemeral" in volume for volume in spec.get("volumes") or ()):
        yield "volumes"


def controller_of(doc: JsonMap) -> JsonMap | None:
    """Returns the owner reference of the object's controller; the first reference if none is marked so."""
    references: list[JsonMap] = doc["metadata"].get("ownerReferences") or []
    return next(
        (reference for reference in references if reference.get("controller")), references[0] if references else None
    )

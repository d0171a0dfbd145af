"""What decides where a pod may run and what protects it; equal for all pods of a workload, so it is kept once."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import msgspec

from migrations_app.karpenter import labels as keys
from migrations_app.simulator.api import Document
from migrations_app.simulator.pod_terms import PodRules, rules_of, unplayed_terms
from migrations_app.simulator.resources import ResourceAmounts, requested

PINS = (keys.DO_NOT_EVICT, keys.DO_NOT_DISRUPT)
STAYS_WITH_NODE = ("DaemonSet", "Node")
"""Owners of pods that are not moved: they go with their node."""
DEFAULT_GRACE = 30
OF_ONE_POD = (
    "statefulset.kubernetes.io/pod-name",
    "apps.kubernetes.io/pod-index",
    "batch.kubernetes.io/job-completion-index",
)
"""Labels that each pod of a workload has with a value of its own."""

Expression = tuple[str, str, tuple[str, ...]]
"""Key, operator and values of a requirement on labels."""


@dataclass(frozen=True, slots=True, eq=False)
class PodShape:
    """Compared by identity: `PodShapes` gives the same one for equal pods."""

    namespace: str
    owner: str
    """The uid of the controller; empty for a pod without one."""
    owner_kind: str
    labels: Mapping[str, str]
    requests: ResourceAmounts
    selector: Mapping[str, str]
    terms: tuple[tuple[Expression, ...], ...]
    """Required node affinity: one of these terms has to hold; empty if there is none."""
    tolerations: tuple[Document, ...]
    pinned: bool
    """An annotation forbids Karpenter to evict it."""
    grace: int
    """terminationGracePeriodSeconds."""
    unplayed: tuple[str, ...]
    """Rules of placement that the simulator does not play, by field."""
    keys: frozenset[str]
    """The labels of nodes that selector and terms look at."""
    rules: PodRules
    """What it asks of the pods around it."""

    @property
    def stays(self) -> bool:
        return self.owner_kind in STAYS_WITH_NODE

    def tolerates(self, taints: Iterable[Document]) -> bool:
        """Whether nothing among the taints keeps the pod off."""
        return all(any(_tolerated(taint, toleration) for toleration in self.tolerations) for taint in hard(taints))

    def selects_in(self, labels: Mapping[str, str]) -> bool:
        """The same for labels of which only some are known: what looks at others holds."""
        if any(labels[key] != value for key, value in self.selector.items() if key in labels):
            return False
        near = [[expression for expression in term if expression[0] in labels] for term in self.terms]
        return not near or any(all(matches(expression, labels) for expression in term) for term in near)

    def selects(self, labels: Mapping[str, str]) -> bool:
        """Whether its node selector and required affinity hold for a node of these labels."""
        if self.selector.items() - labels.items():
            return False
        return not self.terms or any(all(matches(expression, labels) for expression in term) for term in self.terms)


def hard(taints: Iterable[Document]) -> list[Document]:
    """The taints that forbid; the others only discourage."""
    return [taint for taint in taints if taint.get("effect") != "PreferNoSchedule"]


def _tolerated(taint: Document, toleration: Document) -> bool:
    if toleration.get("effect") not in (None, "", taint.get("effect")):
        return False
    if toleration.get("operator") == "Exists":
        return toleration.get("key") in (None, "", taint["key"])
    same = toleration.get("key") == taint["key"]
    return same and (toleration.get("value") or "") == (taint.get("value") or "")


def matches(expression: Expression, labels: Mapping[str, str]) -> bool:
    """Whether labels satisfy a requirement. An operator that is not known is not satisfied.

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
    """Requirements as they stand in NodePools and in node selector terms."""
    return tuple(
        (str(term.get("key", "")), str(term.get("operator", "")), tuple(map(str, term.get("values") or ())))
        for term in terms or ()
    )


class PodShapes:
    """Gives the same shape for pods that are equal in it."""

    def __init__(self) -> None:
        self._known: dict[bytes, PodShape] = {}
        self._seen: dict[tuple[object, ...], tuple[PodShape, object]] = {}
        """By the identities of a pod's parts, which a twin shares between pods; the parts are kept, too."""

    def of(self, pod: Document) -> PodShape:
        """The shape of a pod, or of the pods of a template with the metadata of one."""
        metadata, spec = pod["metadata"], pod.get("spec") or {}
        parts = [*map(metadata.get, _METADATA), *map(spec.get, _SPEC_FIELDS)]
        same = metadata.get("namespace"), *map(id, parts)
        known = self._seen.get(same)
        if known is None:
            if len(self._seen) >= MOST_SEEN:
                self._seen.clear()
            known = self._seen[same] = self._compared(pod), parts
        return known[0]

    def _compared(self, pod: Document) -> PodShape:
        metadata, spec = pod["metadata"], pod.get("spec") or {}
        owner = controller_of(pod) or {}
        shared_labels = {key: value for key, value in (metadata.get("labels") or {}).items() if key not in OF_ONE_POD}
        marks = metadata.get("annotations") or {}
        pinned = any(marks.get(name) == "true" for name in PINS)
        placed = {key: spec.get(key) for key in _SPEC_FIELDS}
        identity = [metadata.get("namespace", ""), owner.get("uid"), shared_labels, pinned, placed]
        key = msgspec.json.encode(identity, order="deterministic")
        if key not in self._known:
            self._known[key] = _shape(
                metadata.get("namespace", ""), owner, labels=shared_labels, pinned=pinned, spec=spec
            )
        return self._known[key]


MOST_SEEN = 20_000
_METADATA = ("labels", "annotations", "ownerReferences")
_SPEC_FIELDS = (
    "containers", "initContainers", "overhead", "nodeSelector", "affinity", "tolerations",
    "topologySpreadConstraints", "terminationGracePeriodSeconds", "volumes",
)  # fmt: skip


def _shape(
    namespace: str, owner: Document, *, labels: Mapping[str, str], pinned: bool, spec: Mapping[str, Any]
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


def controller_of(doc: Document) -> Document | None:
    """The owner reference that controls the object; the first one if none says so."""
    references: list[Document] = doc["metadata"].get("ownerReferences") or []
    return next(
        (reference for reference in references if reference.get("controller")), references[0] if references else None
    )

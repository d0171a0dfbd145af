"""The required rules of a pod about other pods: affinity, anti-affinity and topology spread.

Sources: kubernetes/kubernetes documentation, Assigning Pods to Nodes, and Pod Topology Spread Constraints.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import msgspec

from migrations_app.inventory.facts.workloads import selects
from migrations_app.inventory.objects.workloads import LabelSelector

_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"


@dataclass(frozen=True, slots=True)
class PodTerm:
    """Which pods a rule counts, by domain: the value of the label `key` on their node.

    `spaces` are the namespaces of the pods; None for all. `selector` is the LabelSelector as JSON.
    """

    key: str
    spaces: frozenset[str] | None
    selector: bytes

    def counts(self, namespace: str, labels: Mapping[str, str]) -> bool:
        """Returns whether the term selects a pod of this namespace with these labels."""
        if self.spaces is not None and namespace not in self.spaces:
            return False
        return selects(msgspec.json.decode(self.selector, type=LabelSelector | None), labels)


@dataclass(frozen=True, slots=True)
class SpreadRule:
    """Domains may differ by `most` pods; with fewer than `fewest` domains the smallest counts as empty."""

    term: PodTerm
    most: int
    fewest: int


@dataclass(frozen=True, slots=True)
class PodRules:
    """A pod's rules about other pods: anti-affinity, affinity and spread."""

    apart: tuple[PodTerm, ...] = ()
    together: tuple[PodTerm, ...] = ()
    spread: tuple[SpreadRule, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.apart or self.together or self.spread)

    @property
    def terms(self) -> Iterator[PodTerm]:
        yield from self.apart
        yield from self.together
        yield from (rule.term for rule in self.spread)


def rules_of(spec: Mapping[str, Any], namespace: str, *, labels: Mapping[str, str]) -> PodRules:
    """Returns the required rules in the spec of a pod."""
    affinity = spec.get("affinity") or {}
    return PodRules(
        tuple(_terms((affinity.get("podAntiAffinity") or {}).get(_REQUIRED), namespace)),
        tuple(_terms((affinity.get("podAffinity") or {}).get(_REQUIRED), namespace)),
        tuple(_spread(spec.get("topologySpreadConstraints"), namespace, labels=labels)),
    )


def unplayed_terms(spec: Mapping[str, Any]) -> Iterator[str]:
    """Yields the fields of rules that need more than pods and nodes, and are not simulated."""
    affinity = spec.get("affinity") or {}
    for name in ("podAffinity", "podAntiAffinity"):
        if any(term.get("namespaceSelector") for term in (affinity.get(name) or {}).get(_REQUIRED) or ()):
            yield f"affinity.{name}.namespaceSelector"


def _terms(terms: Iterable[Mapping[str, Any]] | None, namespace: str) -> Iterator[PodTerm]:
    for term in terms or ():
        chosen = term.get("namespaceSelector")
        spaces = None if chosen is not None else frozenset(term.get("namespaces") or (namespace,))
        yield PodTerm(str(term.get("topologyKey", "")), spaces, _encoded(term.get("labelSelector")))


def _spread(
    constraints: Iterable[Mapping[str, Any]] | None, namespace: str, *, labels: Mapping[str, str]
) -> Iterator[SpreadRule]:
    for constraint in constraints or ():
        if constraint.get("whenUnsatisfiable", "DoNotSchedule") != "DoNotSchedule":
            continue
        selector = dict(constraint.get("labelSelector") or {})
        own = {key: labels[key] for key in constraint.get("matchLabelKeys") or () if key in labels}
        selector["matchLabels"] = (selector.get("matchLabels") or {}) | own
        term = PodTerm(str(constraint.get("topologyKey", "")), frozenset({namespace}), _encoded(selector))
        yield SpreadRule(term, int(constraint.get("maxSkew") or 1), int(constraint.get("minDomains") or 1))


def _encoded(selector: Mapping[str, Any] | None) -> bytes:
    return msgspec.json.encode(selector, order="sorted")

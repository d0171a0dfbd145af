"""Counts the pods of each rule by domain, and decides which nodes the rules allow for a pod."""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

from migrations_app.simulator.placement.states import NodeState, PodState
from migrations_app.simulator.pod_shapes import PodShape
from migrations_app.simulator.pod_terms import PodTerm, SpreadRule

Domains = Mapping[str, str]
"""The labels of one node that rules use."""


@dataclass(slots=True)
class TermCount:
    """By domain, the pods that a term selects (`pods`), and those with an anti-affinity to such pods (`holders`)."""

    pods: Counter[str] = field(default_factory=Counter)
    holders: Counter[str] = field(default_factory=Counter)


class DomainCounts:
    """Updated pod by pod. Terms are learnt from the shapes that have them."""

    def __init__(self, nodes: Mapping[str, NodeState]) -> None:
        self._nodes = nodes
        self._counts: dict[PodTerm, TermCount] = {}
        self._counting: dict[PodShape, list[PodTerm]] = {}
        self._apart: dict[PodTerm, None] = {}
        self._keys: set[str] = set()
        self._at: dict[str, tuple[PodShape, Domains]] = {}
        self._domains: dict[str, Counter[str]] = defaultdict(Counter)

    def learn(self, shape: PodShape, pods: Iterable[PodState]) -> None:
        """Adds the rules of a new shape; `pods` are all pods of the cluster."""
        new_terms = [term for term in shape.rules.terms if term not in self._counts]
        self._apart.update(dict.fromkeys(shape.rules.apart))
        if not new_terms:
            return
        self._counts.update({term: TermCount() for term in new_terms})
        self._counting.clear()
        new_keys = {term.key for term in new_terms} - self._keys
        self._keys |= new_keys
        for key in new_keys:
            self._domains[key] = Counter(node.labels[key] for node in self._nodes.values() if key in node.labels)
        for uid in list(self._at):
            self.removed(uid)
        for pod in pods:
            if pod.node in self._nodes:
                self.placed(pod, self._nodes[pod.node])

    def placed(self, pod: PodState, node: NodeState) -> None:
        """Counts a pod on this node."""
        if not self._counts:
            return
        self.removed(pod.uid)
        domains = {key: node.labels[key] for key in self._keys if key in node.labels}
        self._at[pod.uid] = pod.shape, domains
        self.add(pod.shape, domains, times=1)

    def removed(self, uid: str) -> None:
        """Removes a pod from the counts."""
        known = self._at.pop(uid, None)
        if known is not None:
            self.add(*known, times=-1)

    def add(self, shape: PodShape, domains: Domains, *, times: int) -> None:
        """Adds `times` pods of a shape in these domains."""
        for term in self.counted_by(shape):
            if term.key in domains:
                self._counts[term].pods[domains[term.key]] += times
        for term in shape.rules.apart:
            if term in self._counts and term.key in domains:
                self._counts[term].holders[domains[term.key]] += times

    def node(self, labels: Mapping[str, str], times: int) -> None:
        """Adds (1) or removes (-1) a node in the counts of domains."""
        for key in self._keys:
            if key in labels:
                self._domains[key][labels[key]] += times

    def counted_by(self, shape: PodShape) -> list[PodTerm]:
        """Returns the terms that select pods of this shape."""
        pod_terms = self._counting.get(shape)
        if pod_terms is None:
            pod_terms = [term for term in self._counts if term.counts(shape.namespace, shape.labels)]
            self._counting[shape] = pod_terms
        return pod_terms

    def keys_of(self, shape: PodShape) -> set[str]:
        """Returns the labels that decide where such a pod may go."""
        terms = [*shape.rules.terms, *(term for term in self.counted_by(shape) if term in self._apart)]
        return {term.key for term in terms}

    def bound(self, shape: PodShape) -> bool:
        """Returns whether any rule limits where such a pod may go."""
        return bool(shape.rules) or any(term in self._apart for term in self.counted_by(shape))

    def allows(self, shape: PodShape, *, more: Mapping[str, Iterable[str]] | None = None) -> Callable[[Domains], bool]:
        """Returns a function that tells whether such a pod may go to a node; `more` are domains that new nodes could
        add."""
        own_terms = set(self.counted_by(shape))
        forbidden_terms = [(term.key, self._counts[term].holders) for term in own_terms if term in self._apart]
        forbidden_terms += [(term.key, self._counts[term].pods) for term in shape.rules.apart]
        required_terms = [(term, self._counts[term].pods) for term in shape.rules.together]
        alone = {term for term, pods in required_terms if term in own_terms and not +pods}
        spread_rules = [
            (rule, self._smallest(rule, shape, more=more), rule.term in own_terms) for rule in shape.rules.spread
        ]

        def allowed(domains: Domains) -> bool:
            if any(counts.get(domains.get(key, "")) for key, counts in forbidden_terms if key in domains):
                return False
            for term, pods in required_terms:
                if term.key not in domains or not (pods.get(domains[term.key]) or term in alone):
                    return False
            for rule, smallest, own in spread_rules:
                counts_of_rule = self._counts[rule.term].pods
                if rule.term.key not in domains or counts_of_rule[domains[rule.term.key]] + own - smallest > rule.most:
                    return False
            return True

        return allowed

    def _smallest(self, rule: SpreadRule, shape: PodShape, *, more: Mapping[str, Iterable[str]] | None) -> int:
        """Returns the least number of pods in a domain that the pod may go to.

        Source: kubernetes/kubernetes:pkg/scheduler/framework/plugins/podtopologyspread: only nodes that selector and
        affinity of the pod allow count (nodeAffinityPolicy Honor); taints are not looked at.
        """
        key, counts = rule.term.key, self._counts[rule.term].pods
        if shape.keys:
            names = {
                node_state.labels[key]
                for node_state in self._nodes.values()
                if key in node_state.labels and shape.selects(node_state.labels)
            }
        else:
            names = {name for name, count in self._domains[key].items() if count > 0}
        names |= set((more or {}).get(key, ()))
        if len(names) < rule.fewest:
            return 0
        return min((counts[name] for name in names), default=0)

    def fullness(self, shape: PodShape, domains: Domains) -> tuple[int, ...]:
        """Returns the number of pods for each spread rule of the shape in these domains; lower is better."""
        return tuple(self._counts[rule.term].pods[domains.get(rule.term.key, "")] for rule in shape.rules.spread)

"""Every mention of a Karpenter key in a placement: selectors, affinities, spread keys and tolerations."""

from collections.abc import Collection, Iterator

from migrations_app.inventory.keys import BETA_NODE_KEYS, TEMPLATE_KEYS, is_karpenter
from migrations_app.inventory.objects import (
    Affinity,
    Constraint,
    Expression,
    Metadata,
    NodeAffinity,
    Placement,
    PodAffinity,
    Workload,
)


def constraints(
    spec: Placement, *, below: str = "spec", also: Collection[str] = BETA_NODE_KEYS
) -> tuple[Constraint, ...]:
    """The mentions, in the order of the fields; `below` is the path of the pod spec inside its object.

    `also` are keys that are not Karpenter's and matter all the same.
    """
    return tuple(
        Constraint(path=f"{below}.{path}", key=key, value=value)
        for path, key, value in _mentions(spec)
        if is_karpenter(key) or key in also
    )


def markers(metadata: Metadata) -> dict[str, str]:
    """The labels and annotations whose keys are Karpenter's; an annotation wins over a label of the same key."""
    found = (metadata.labels or {}) | (metadata.annotations or {})
    return {key: value[:253] for key, value in found.items() if is_karpenter(key)}


def names_karpenter(workload: Workload) -> bool:
    """Whether a workload or its pods' template mentions a Karpenter key, or one of old that upgrades turn on."""
    template = workload.template
    placed = constraints(template.spec, also=TEMPLATE_KEYS)
    return bool(markers(workload.metadata) or markers(template.metadata) or placed)


Mention = tuple[str, str, str]


def _mentions(spec: Placement) -> Iterator[Mention]:
    for key, value in (spec.node_selector or {}).items():
        yield "nodeSelector", key, value
    if spec.affinity:
        yield from _affinity(spec.affinity)
    for spread in spec.topology_spread_constraints or ():
        yield "topologySpreadConstraints", spread.topology_key or "", ""
    for toleration in spec.tolerations or ():
        yield "tolerations", toleration.key or "", toleration.value or ""


def _affinity(affinity: Affinity) -> Iterator[Mention]:
    if affinity.node_affinity:
        yield from _node_affinity(affinity.node_affinity)
    for name, terms in (("podAffinity", affinity.pod_affinity), ("podAntiAffinity", affinity.pod_anti_affinity)):
        if terms:
            yield from _pod_affinity(f"affinity.{name}", terms)


def _node_affinity(affinity: NodeAffinity) -> Iterator[Mention]:
    required = affinity.required_during_scheduling_ignored_during_execution
    for term in (required.node_selector_terms if required else None) or ():
        yield from _expressions("affinity.nodeAffinity.required", term.match_expressions)
    for weighted in affinity.preferred_during_scheduling_ignored_during_execution or ():
        if weighted.preference:
            yield from _expressions("affinity.nodeAffinity.preferred", weighted.preference.match_expressions)


def _expressions(path: str, expressions: list[Expression] | None) -> Iterator[Mention]:
    for expression in expressions or ():
        yield path, expression.key, " ".join([expression.operator, *(expression.values or ())])


def _pod_affinity(path: str, terms: PodAffinity) -> Iterator[Mention]:
    for term in terms.required_during_scheduling_ignored_during_execution or ():
        yield f"{path}.required", term.topology_key or "", ""
    for weighted in terms.preferred_during_scheduling_ignored_during_execution or ():
        if weighted.pod_affinity_term:
            yield f"{path}.preferred", weighted.pod_affinity_term.topology_key or "", ""

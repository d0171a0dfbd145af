"""What the controller's ClusterRoles grant."""

from collections.abc import Iterable

from migrations_app.inventory.facts.managers import managed
from migrations_app.inventory.objects.cluster import ClusterRole, PolicyRule
from migrations_app.karpenter import kinds, labels
from migrations_app.karpenter.tables.rbac_rows import RbacRight

ANY = "*"
CONVERTED = frozenset(kind.crd_name for kind in kinds.CURRENT_KINDS)


def missing_rights(roles: Iterable[ClusterRole], rights: Iterable[RbacRight]) -> tuple[RbacRight, ...]:
    """The rights that no role grants, in the given order."""
    rules = [rule for role in roles for rule in role.rules or ()]
    return tuple(right for right in rights if not any(grants(rule, right) for rule in rules))


def grants(rule: PolicyRule, right: RbacRight) -> bool:
    """Whether the rule grants the right for every object, or for all converted CRDs if that is sufficient."""
    sub = right.resource.partition("/")[2]
    resources = {right.resource, ANY, f"{ANY}/{sub}"} if sub else {right.resource, ANY}
    return (
        bool({right.group, ANY} & set(rule.api_groups or ()))
        and bool(resources & set(rule.resources or ()))
        and bool({right.verb, ANY} & set(rule.verbs or ()))
        and (not rule.resource_names or (right.named and set(rule.resource_names) >= CONVERTED))
    )


def kept_by_chart(role: ClusterRole) -> bool:
    """Whether the chart rewrites the role at each upgrade."""
    by_label = (role.metadata.label(labels.HELM_CHART) or "").startswith("karpenter-")
    return by_label or managed(role.metadata).by == "helm"


def per_target(rights: Iterable[RbacRight]) -> dict[str, tuple[RbacRight, ...]]:
    """The rights by resource, each in kubectl's spelling."""
    by_target: dict[str, tuple[RbacRight, ...]] = {}
    for right in rights:
        by_target[right.target] = (*by_target.get(right.target, ()), right)
    return by_target

"""Disruption budgets: which pods they cover, where these run, and what keeps one from letting a pod go."""

from collections import defaultdict
from collections.abc import Collection

from migrations_app.inventory.inventory import Inventory
from migrations_app.inventory.objects import DisruptionBudget, PodGroup
from migrations_app.inventory.podgroups import NODES_KEPT
from migrations_app.inventory.selectors import selects
from migrations_app.inventory.sharing import once

Covered = tuple[PodGroup, tuple[DisruptionBudget, ...]]


@once
def covered(inventory: Inventory) -> tuple[Covered, ...]:
    """Each group of pods that budgets of its namespace cover, with these budgets."""
    by_namespace: dict[str, list[DisruptionBudget]] = defaultdict(list)
    for budget in inventory.pdbs.items:
        by_namespace[budget.namespace].append(budget)
    found = ((group, _covering(group, by_namespace.get(group.namespace, []))) for group in inventory.pods.items)
    return tuple((group, budgets) for group, budgets in found if budgets)


def _covering(group: PodGroup, budgets: list[DisruptionBudget]) -> tuple[DisruptionBudget, ...]:
    return tuple(budget for budget in budgets if selects(budget.spec.selector, group.labels))


def elsewhere(inventory: Inventory, nodes: Collection[str]) -> frozenset[tuple[str, str]]:
    """Namespace and name of the budgets whose pods were all seen, none of them on these nodes."""
    away: dict[tuple[str, str], bool] = {}
    for group, budgets in covered(inventory):
        apart = 0 < len(group.nodes) < NODES_KEPT and not any(name in nodes for name in group.nodes)
        for budget in budgets:
            key = (budget.namespace, budget.name)
            away[key] = away.get(key, True) and apart
    return frozenset(key for key, apart in away.items() if apart)


def what_holds(budget: DisruptionBudget) -> tuple[str, str]:
    """The rule where it can never let a pod go, else the count of the moment."""
    spec, expected = budget.spec, (budget.status and budget.status.expected_pods) or 0
    if spec.max_unavailable in (0, "0", "0%"):
        return "spec.maxUnavailable", str(spec.max_unavailable)
    least = spec.min_available
    if least == "100%" or (isinstance(least, int) and least >= expected):
        return "spec.minAvailable", f"{least} of {expected} pods"
    healthy = (budget.status and budget.status.current_healthy) or 0
    if healthy >= expected:
        path, limit = ("minAvailable", least) if least is not None else ("maxUnavailable", spec.max_unavailable)
        return f"spec.{path}", f"{limit}, and all {expected} pods are healthy"
    return "status.disruptionsAllowed", f"0, {healthy} of {expected} pods are healthy"

"""Which nodes a plan replaces, and how many of them at the same time."""

from collections.abc import Iterator

from migrations_app.actions.plan import Plan, Step
from migrations_app.inventory.aws_facts.replacement_need import (
    OWNERS,
    Replacement,
    replacement_by_pool,
    replacement_in_batches,
)
from migrations_app.inventory.facts.ownership import ownership
from migrations_app.inventory.inventory import Inventory
from migrations_app.karpenter import kinds

CLAIMS = frozenset({kinds.NODE_CLAIM.kind, kinds.MACHINE.kind})


def replacement_of(plan: Plan, inventory: Inventory) -> Replacement:
    """The nodes that the plan's steps delete, batch by batch.

    A plan that lets Karpenter replace nodes names none of them: then all nodes of Karpenter count, as many at once as
    the budgets of their pools allow. That is an upper bound. Empty for a plan that moves no node.
    """
    batches = tuple(_batches(plan, inventory))
    if batches:
        return replacement_in_batches(inventory, batches)
    if plan.forecast.nodes == 0:
        return Replacement(())
    return replacement_by_pool(inventory, {node.name for node in ownership(inventory).nodes if node.owner in OWNERS})


def _batches(plan: Plan, inventory: Inventory) -> Iterator[tuple[str, ...]]:
    """The names of the nodes that are deleted between two gates."""
    by_claim = {node.claim: node.name for node in ownership(inventory).nodes if node.claim}
    node_names: dict[str, None] = {}
    for step in plan.steps:
        if name := _deleted(step, by_claim):
            node_names[name] = None
        if step.after is not None and node_names:
            yield tuple(node_names)
            node_names = {}
    if node_names:
        yield tuple(node_names)


def _deleted(step: Step, by_claim: dict[str, str]) -> str:
    """The node that the step deletes, by itself or by its claim; empty if it deletes none."""
    if step.change is None or step.change.verb != "delete":
        return ""
    target = step.change.target
    if target.kind == kinds.NODE.kind:
        return target.name
    return by_claim.get(target.name, "") if target.kind in CLAIMS else ""

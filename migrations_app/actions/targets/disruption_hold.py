"""Holds NodePools, so that Karpenter disrupts none of their nodes by itself, and releases them. An annotation of the
NodePool keeps its former budgets, so that anyone who finds it held can restore them.
"""

import json
from typing import Any

from msgspec.structs import replace

from migrations_app.actions.base import Parameters, PlanningContext, Unavailable
from migrations_app.actions.changes import ObjectTarget, PlannedRequest, checked_name, merge
from migrations_app.actions.conditions import Field, fields_digest, value_at
from migrations_app.actions.patches import field_conditions, patch_step
from migrations_app.actions.plan import Step
from migrations_app.actions.targets.pools import (
    chosen,
    joined,
    living_pools,
    reverting_tool,
    served_version,
    source_note,
    target_of,
)
from migrations_app.inventory.facts.disruption_hold import HELD, NO_NODES
from migrations_app.inventory.inventory import Inventory
from migrations_app.inventory.objects.karpenter import NodePool
from migrations_app.karpenter import kinds
from migrations_app.karpenter.versions import minor_order
from migrations_app.manifests import JsonMap
from migrations_app.manifests.nesting import parse_json

NAMES = "nodepools"
FIRST_WITH_BUDGETS = (0, 34)
"""The first minor that respects budgets. aws/karpenter-provider-aws@v0.34.0:pkg/apis/crds."""
FIRST_FORCEFUL_EXPIRY = (1, 0)
"""From this minor on, nodes expire regardless of budgets. karpenter.sh docs v1.0: disruption, expiration."""
MAX_MARK_LENGTH = 20_000
"""Most characters of kept budgets; a NodePool has at most 50 of them."""
BUDGETS: Field = ("spec", "disruption", "budgets")
MARK: Field = ("metadata", "annotations", HELD)
NO_BUDGETS = (
    "keeps to no budgets. Provisioners have none in any release: take spec.consolidation and ttlSecondsAfterEmpty out "
    "to stop consolidation, switch the feature gate of drift off, and mark pods with karpenter.sh/do-not-evict"
)
UNTOUCHED = "Interruptions of spot capacity and deleted nodes are not held by a budget"


def pools_named(inventory: Inventory, parameters: Parameters) -> tuple[NodePool, ...]:
    """The chosen NodePools, by default all of Karpenter's own. Raises InvalidInput for a name that none has."""
    return chosen(living_pools(inventory), parameters, name=NAMES)


def pool_target(inventory: Inventory, pool: NodePool) -> ObjectTarget:
    """The NodePool by uid, in the version in which it was read."""
    checked_name(pool.name)
    return target_of(kinds.NODE_POOL, pool, version=served_version(inventory, "nodepools"))


def refuse_without_budgets(context: PlanningContext) -> None:
    """Raises Unavailable, with a way without budgets, if the release is not known or does not respect budgets."""
    running = context.running.release
    if running is None:
        raise Unavailable(f"which release runs is not known: {context.running.how}", code="release_unknown")
    if minor_order(running.minor) < FIRST_WITH_BUDGETS:
        raise Unavailable(f"Karpenter {running} {NO_BUDGETS}", code="wrong_release")


def hold_step(context: PlanningContext, pool: NodePool, *, read: JsonMap) -> Step:
    """The step that sets budgets of no nodes and keeps the former budgets; its undo restores them."""
    running = context.running.release
    expires = running is not None and minor_order(running.minor) >= FIRST_FORCEFUL_EXPIRY
    expiry = "from 1.0 on nodes that are older than expireAfter go all the same" if expires else ""
    return patch_step(
        pool_target(context.inventory, pool), read, patch=holding(_budgets(pool, read)),
        title=f"Hold Karpenter's own disruption of NodePool {pool.name}",
        manager=reverting_tool(pool.metadata), note=joined(UNTOUCHED, expiry, source_note(pool.metadata)),
    )  # fmt: skip


def release_step(context: PlanningContext, pool: NodePool, *, read: JsonMap) -> Step:
    """The step that restores the former budgets. If somebody changed the budgets since the hold, they stay, and the
    step only removes the annotation. Raises Unavailable for an annotation without valid budgets.
    """
    target, before = pool_target(context.inventory, pool), former_budgets(pool, read)
    if value_at(read, BUDGETS) != NO_NODES:
        step = patch_step(
            target, read, patch={"metadata": {"annotations": {HELD: None}}},
            title=f"Leave the budgets of NodePool {pool.name}, which were changed since",
            note=f"They were changed externally and stay; before the hold they were {_text(before)}",
        )  # fmt: skip
        return replace(step, preconditions=(BUDGETS, MARK), digest=fields_digest(read, (BUDGETS, MARK)))
    step = patch_step(
        target, read, patch=releasing(before), title=f"Restore the budgets of NodePool {pool.name}",
        manager=reverting_tool(pool.metadata), note=joined(f"to {_text(before)}", source_note(pool.metadata)),
    )  # fmt: skip
    hold_patch = holding(before)
    return replace(step, undo=merge(target, hold_patch), undo_postconditions=field_conditions(hold_patch))


def holding(budgets: Any) -> JsonMap:  # noqa: ANN401 - plain JSON
    """The merge patch that holds the NodePool, with the former budgets in the annotation."""
    return {"metadata": {"annotations": {HELD: _text(budgets)}}, "spec": {"disruption": {"budgets": NO_NODES}}}


def releasing(budgets: Any) -> JsonMap:  # noqa: ANN401 - plain JSON
    """The merge patch that restores the budgets and removes the annotation."""
    return {"metadata": {"annotations": {HELD: None}}, "spec": {"disruption": {"budgets": budgets}}}


def restores(change: PlannedRequest) -> bool:
    """Whether the request restores budgets; False if it only removes the annotation."""
    return "spec" in change.body


def former_budgets(pool: NodePool, read: JsonMap) -> Any:  # noqa: ANN401 - plain JSON
    """The budgets from before the hold. Raises Unavailable if the annotation does not hold them."""
    text = value_at(read, MARK)
    try:
        budgets = parse_json(text) if isinstance(text, str) and len(text) <= MAX_MARK_LENGTH else ""
    except ValueError:
        budgets = ""
    if budgets is not None and not _is_list(budgets):
        words = f"NodePool {pool.name}: the annotation {HELD} does not contain its budgets; restore them yourself"
        raise Unavailable(f"{words} and remove the annotation", code="changed")
    return budgets


def _budgets(pool: NodePool, read: JsonMap) -> Any:  # noqa: ANN401 - plain JSON
    """The current budgets; None if there are none. Raises Unavailable if they are not a list of budgets."""
    budgets = value_at(read, BUDGETS)
    if (budgets is not None and not _is_list(budgets)) or len(_text(budgets)) > MAX_MARK_LENGTH:
        raise Unavailable(f"NodePool {pool.name}: {'.'.join(BUDGETS)} cannot be read", code="not_seen")
    return budgets


def _is_list(value: Any) -> bool:  # noqa: ANN401 - plain JSON
    return isinstance(value, list) and all(isinstance(item, dict) for item in value)


def _text(budgets: Any) -> str:  # noqa: ANN401 - plain JSON
    return json.dumps(budgets, sort_keys=True, separators=(",", ":"))

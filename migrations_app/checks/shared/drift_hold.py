"""A budget that blocks drift during a hop, added to the budgets of a NodePool, and its undo."""

from collections.abc import Iterable
from typing import Any, Final

from msgspec.structs import replace

from migrations_app.checks.changes import Change, ChangeTarget, ObjectPatch, group
from migrations_app.checks.remedies.karpenter_objects import RESOURCES
from migrations_app.checks.remedies.observations import undo_comments
from migrations_app.checks.render.kubectl import MAX_NAMES_SHOWN
from migrations_app.checks.shell import json_word
from migrations_app.inventory.facts.node_pools import BUDGETS, DEFAULT_PERCENT
from migrations_app.inventory.objects.karpenter import NodePool
from migrations_app.karpenter.versions import Release, minor_order
from migrations_app.manifests import JsonMap

DRIFTED: Final = "Drifted"
_MILD: Final = "Holds drift during the upgrade, beside each pool's own budgets; consolidation goes on"
_HARD: Final = "Holds drift during the upgrade, beside each pool's own budgets; consolidation and expiry wait too"
_BACK: Final = "To take it back once the new controller runs and nodes may drift:"
KNOWS_BUDGETS: Final = (0, 34)
"""The first minor whose CRDs keep budgets. aws/karpenter-provider-aws@v0.34.0:pkg/apis/crds."""
_KEEPS_REASONS: Final = (1, 0)
"""The first minor that stores v1; stored as v1beta1 a budget loses its reasons and counts for all of them."""


def is_held(pool: NodePool) -> bool:
    """Whether the pool has a budget of 0 nodes without a schedule that covers drift or every reason."""
    return any(
        isinstance(budget, dict)
        and str(budget.get("nodes")) in ("0", "0%")
        and not budget.get("schedule")
        and DRIFTED in (budget.get("reasons") or [DRIFTED])
        for budget in _budgets(pool)
    )


def budgets_with_hold(pool: NodePool, running: Release | None) -> list[Any]:
    """The budgets of the pool, or its default budget, and one more that lets no node drift."""
    hold: dict[str, Any] = {"nodes": "0"}
    return [*_own_budgets(pool), hold | {"reasons": [DRIFTED]} if _keeps_reasons(running) else hold]


def drift_hold(pools: Iterable[NodePool], running: Release | None) -> Change | None:
    """Adds the hold to each pool that lacks it, with its undo; None if every pool has it."""
    steps = [_hold_patch(pool, running) for pool in pools if not is_held(pool)]
    if not steps:
        return None
    notes = [_MILD] if _keeps_reasons(running) else [_HARD, "before 1.0 a budget has no reasons, so take it back soon"]
    if running is not None and minor_order(running.minor) < KNOWS_BUDGETS:
        notes.append(f"{running} keeps no budgets: set it when the new CRDs are there, before the controller")
        steps = [replace(step, when="landing", needs=("hop_crds_installed",)) for step in steps]
    return group(*steps, what=_settings_text(steps), notes=(*notes, *undo_comments(group(*steps), _BACK)))


def _hold_patch(pool: NodePool, running: Release | None) -> ObjectPatch:
    """CRDs that keep budgets fill in the default one where the pool has none, so that it is there by then."""
    hold, own = _body(budgets_with_hold(pool, running)), _body(_own_budgets(pool))
    target = ChangeTarget("NodePool", pool.name, resource=RESOURCES["NodePool"][1])
    undo = ObjectPatch(target=target, body=own, seen=hold, when="after")
    return ObjectPatch(
        target=target,
        body=hold,
        seen=own,
        undo=replace(undo, what=_settings_text([undo])),
        done=f"{BUDGETS} of NodePool {pool.name} ends with the hold",
    )


def _settings_text(steps: list[ObjectPatch]) -> str:
    return "; ".join(f"of NodePool {step.target.name} set {json_word(step.body)}" for step in steps[:MAX_NAMES_SHOWN])


def _body(budgets: list[Any]) -> JsonMap:
    return {"spec": {"disruption": {"budgets": budgets}}}


def _keeps_reasons(running: Release | None) -> bool:
    return running is not None and minor_order(running.minor) >= _KEEPS_REASONS


def _own_budgets(pool: NodePool) -> list[Any]:
    return _budgets(pool) or [{"nodes": f"{DEFAULT_PERCENT}%"}]


def _budgets(pool: NodePool) -> list[Any]:
    budgets = pool.get(BUDGETS, [])
    return budgets if isinstance(budgets, list) else []

"""A budget that holds drift over a hop, beside the budgets that a NodePool has, and how to take it back."""

from collections.abc import Iterable, Iterator
from typing import Any, Final

from migrations_app.checks.remedies.commands import merged
from migrations_app.checks.remedies.karpenter_objects import RESOURCES
from migrations_app.checks.shell import word
from migrations_app.inventory.facts.node_pools import BUDGETS, DEFAULT_PERCENT
from migrations_app.inventory.objects.karpenter import NodePool
from migrations_app.karpenter.versions import Release, minor_order

DRIFTED: Final = "Drifted"
_KNOWS_BUDGETS: Final = (0, 34)
"""The first minor whose CRDs keep budgets. aws/karpenter-provider-aws@v0.34.0:pkg/apis/crds."""
_KEEPS_REASONS: Final = (1, 0)
"""The first minor that stores v1; stored as v1beta1 a budget loses its reasons and counts for all of them."""


def is_held(pool: NodePool) -> bool:
    """Whether it has a budget of nothing without a schedule, for every reason or for drift."""
    return any(
        isinstance(one, dict)
        and str(one.get("nodes")) in ("0", "0%")
        and not one.get("schedule")
        and DRIFTED in (one.get("reasons") or [DRIFTED])
        for one in _budgets(pool)
    )


def budgets_with_hold(pool: NodePool, running: Release | None) -> list[Any]:
    """The budgets of the pool, or the one that it has by default, and one that lets no node drift."""
    hold: dict[str, Any] = {"nodes": "0"}
    return [*_own(pool), hold | {"reasons": [DRIFTED]} if _keeps_reasons(running) else hold]


def hold_lines(pools: Iterable[NodePool], running: Release | None) -> Iterator[str]:
    """Commands that add the hold to each pool that lacks it, and in comments those that take it back."""
    every = [pool for pool in pools if not is_held(pool)]
    if not every:
        return
    if _keeps_reasons(running):
        yield "# Holds drift over the landing, beside each pool's own budgets; consolidation goes on"
    else:
        yield "# Holds drift over the landing, beside each pool's own budgets; consolidation and expiry wait too:"
        yield "# before 1.0 a budget has no reasons, so take it back soon"
    if running is not None and minor_order(running.minor) < _KNOWS_BUDGETS:
        yield f"# {running} keeps no budgets: set it when the new CRDs are there, before the controller"
    for pool in every:
        yield _patch(pool, budgets_with_hold(pool, running))
    yield "# To take it back once the controller has landed and nodes may drift:"
    yield from (f"# {_patch(pool, _own(pool))}" for pool in every)


def _patch(pool: NodePool, budgets: list[Any]) -> str:
    return f"kubectl patch {RESOURCES['NodePool'][1]} {word(pool.name)} --type=merge -p {merged(BUDGETS, budgets)}"


def _keeps_reasons(running: Release | None) -> bool:
    return running is not None and minor_order(running.minor) >= _KEEPS_REASONS


def _own(pool: NodePool) -> list[Any]:
    return _budgets(pool) or [{"nodes": f"{DEFAULT_PERCENT}%"}]


def _budgets(pool: NodePool) -> list[Any]:
    found = pool.get(BUDGETS, [])
    return found if isinstance(found, list) else []

"""Provisioners and NodePools as targets: which were chosen, who keeps them, what takes over, and the fence."""

from collections.abc import Iterable, Sequence
from typing import Any, TypeVar

from migrations_app.actions.base import Parameters, Scene, Unavailable
from migrations_app.actions.changes import Body, Target, checked_name
from migrations_app.actions.differences import changing
from migrations_app.actions.keepers import keeper
from migrations_app.actions.nodes import said
from migrations_app.actions.plan import Step
from migrations_app.errors import BadInput
from migrations_app.inventory.inventory import Inventory
from migrations_app.inventory.managers import managed
from migrations_app.inventory.objects import Metadata, Named, NodePool, Provisioner, WholeObject
from migrations_app.inventory.pool_fit import misfit
from migrations_app.inventory.pools import own_pools
from migrations_app.karpenter import kinds
from migrations_app.karpenter.rolling import FENCE, ROLLS_ON

T = TypeVar("T", bound=Named)


def target_of(row: kinds.Kind, one: Named, *, version: str = "") -> Target:
    """The object itself, in that version or the newest that there is."""
    return Target(
        row.group,
        version or row.versions[0],
        row.plural,
        row.kind,
        one.name,
        namespace=one.namespace,
        uid=one.metadata.uid or "",
    )


def served_version(inventory: Inventory, part: str) -> str:
    """The version that the part was read in; empty where nothing serves it."""
    return str(getattr(inventory.part(part), "served", None) or "").rpartition("/")[2]


def names_given(parameters: Parameters, name: str) -> tuple[str, ...]:
    """The names that were chosen, each once. Raises BadInput for what is no name of an object."""
    given = parameters.get(name) or ()
    if isinstance(given, str) or not isinstance(given, list | tuple):
        raise BadInput("a list of names is wanted", where=name, code="bad_parameter")
    return tuple(dict.fromkeys(checked_name(one if isinstance(one, str) else "") for one in given))


def chosen(items: Sequence[T], parameters: Parameters, *, name: str) -> tuple[T, ...]:
    """The objects of those names, by default all. Raises BadInput naming those that are not there."""
    wanted = names_given(parameters, name)
    here = {one.name: one for one in items}
    missing = [one for one in wanted if one not in here]
    if missing:
        raise BadInput(f"not in the cluster: {said(missing)}", where=name, code="unknown_name")
    return tuple(here[one] for one in wanted) if wanted else tuple(items)


def source_note(metadata: Metadata) -> str:
    """Where else to change the object, where its next delivery would overwrite a direct write."""
    by = managed(metadata).by
    if keeper(metadata):
        return "change its source too, or this is reverted"
    return "" if by == "hand" else f"{by} overwrites this at its next upgrade, unless its values are changed too"


def joined(*words: str) -> str:
    """Sentences of a note, without the empty ones."""
    return "; ".join(word for word in words if word)


def is_ready(pool: WholeObject) -> bool:
    """Whether nothing says that the pool is not ready; 0.32 says nothing at all of it."""
    found = pool.get("status.conditions", [])
    rows = [row for row in found if isinstance(row, dict)] if isinstance(found, list) else []
    return not any(row.get("type") == "Ready" and row.get("status") == "False" for row in rows)


def living_pools(inventory: Inventory) -> tuple[NodePool, ...]:
    """Karpenter's own NodePools that are not being deleted."""
    return tuple(pool for pool in own_pools(inventory) if not pool.metadata.deleting)


def refuse_without_successor(inventory: Inventory, old: Iterable[Provisioner]) -> None:
    """Raises Unavailable naming the Provisioners whose pods no ready NodePool would take over."""
    for one in old:
        reasons = [_against(one, pool) for pool in living_pools(inventory)]
        if all(reasons):
            why = min(reasons, key=len) if reasons else "there is no NodePool"
            raise Unavailable(f"nothing takes over from Provisioner {one.name}: {why}", code="no_successor")


def _against(old: Provisioner, pool: NodePool) -> str:
    if not is_ready(pool):
        return f"NodePool {pool.name} is not ready"
    found = misfit(old, pool)
    return f"NodePool {pool.name} {found}" if found else ""


def refuse_other_release(scene: Scene) -> None:
    """Raises Unavailable unless the release runs that has both generations."""
    running = scene.running.release
    if running is None:
        raise Unavailable(f"which release runs is not known: {scene.running.how}", code="release_unknown")
    if running.minor != ROLLS_ON.minor:
        raise Unavailable(f"NodePools take over on {ROLLS_ON.minor}, and {running} runs", code="wrong_release")


def fenced(one: Provisioner) -> bool:
    """Whether it has the fence already."""
    return any(row.get("key") == FENCE.key and row.get("effect") == FENCE.effect for row in _taints(one))


def fence(one: Provisioner, *, title: str, spec: Body | None = None, note: str = "") -> Step:
    """The step that fences a Provisioner, with more fields of its spec where they are given."""
    taints = {} if fenced(one) else {"taints": [*_taints(one), FENCE.taint]}
    return changing(
        target_of(kinds.PROVISIONER, one),
        {"spec": one.spec or {}},
        patch={"spec": taints | (spec or {})},
        title=title,
        risk="medium",
        manager=keeper(one.metadata),
        note=joined(note, source_note(one.metadata)),
    )


def _taints(one: Provisioner) -> list[dict[str, Any]]:
    """Its taints. Raises Unavailable for a list that cannot be read: a patch would replace it whole."""
    found = one.get("spec.taints", [])
    if not isinstance(found, list) or not all(isinstance(row, dict) for row in found):
        raise Unavailable(f"Provisioner {one.name}: spec.taints cannot be read", code="not_seen")
    return list(found)

"""Whether Karpenter may launch spot instances here, told by what the pools ask of karpenter.sh/capacity-type."""

from collections.abc import Iterable, Iterator
from typing import Any

from migrations_app.inventory.inventory import Inventory
from migrations_app.inventory.objects import NodePool, Provisioner, WholeObject
from migrations_app.inventory.seen import is_whole
from migrations_app.karpenter import kinds, labels

Row = tuple[str, tuple[str, ...]]
"""An operator with its values."""
POOL_TEMPLATE = "spec.template"


def spot_possible(inventory: Inventory) -> bool | None:
    """True where some pool admits spot, False where none does; None where a list or a pool could not be read whole.

    One pool that admits spot decides, whatever else was not seen.
    """
    words = [*map(pool_admits_spot, inventory.nodepools.items), *map(admits_spot, inventory.provisioners.items)]
    if True in words:
        return True
    whole = all(is_whole(part) for part in (inventory.nodepools, inventory.provisioners))
    return False if whole and None not in words else None


def pool_admits_spot(pool: NodePool) -> bool | None:
    """Whether a NodePool may launch spot: without a word on capacity types it may. None where its spec is odd.

    Pools of EKS Auto Mode are not Karpenter's to launch for.
    """
    if pool.get(f"{POOL_TEMPLATE}.spec.nodeClassRef.group") == kinds.AUTO_MODE_GROUP:
        return False
    rows = _rows(pool, f"{POOL_TEMPLATE}.spec.requirements", labels_at=f"{POOL_TEMPLATE}.metadata.labels")
    return None if rows is None else _all_admit(rows)


def admits_spot(provisioner: Provisioner) -> bool | None:
    """Whether a Provisioner may launch spot: without a word on capacity types its webhook fills in on-demand."""
    rows = _rows(provisioner, "spec.requirements", labels_at="spec.labels")
    return None if rows is None else bool(rows) and _all_admit(rows)


def _rows(one: WholeObject, requirements_at: str, *, labels_at: str) -> list[Row] | None:
    """What the object asks of the capacity type; None where it cannot be read. Labels of the nodes bind as well."""
    requirements, given = one.get(requirements_at, []), one.get(labels_at, {})
    if not isinstance(requirements, list) or not isinstance(given, dict):
        return None
    if not all(isinstance(row, dict) for row in requirements):
        return None
    rows = list(_asked(requirements))
    if labels.CAPACITY_TYPE in given:
        rows.append(("In", (str(given[labels.CAPACITY_TYPE]),)))
    return rows


def _asked(requirements: Iterable[dict[str, Any]]) -> Iterator[Row]:
    for row in requirements:
        if row.get("key") == labels.CAPACITY_TYPE:
            values = row.get("values") or []
            yield str(row.get("operator")), tuple(map(str, values)) if isinstance(values, list) else ()


def _all_admit(rows: Iterable[Row]) -> bool | None:
    """Every row binds: one that shuts spot out decides, one that cannot be read leaves it open."""
    words = [_admits(operator, values) for operator, values in rows]
    if False in words:
        return False
    return None if None in words else True


def _admits(operator: str, values: tuple[str, ...]) -> bool | None:
    """None for operators that compare numbers or do not exist, and for In and NotIn without values."""
    if operator in ("In", "NotIn") and values:
        return (labels.SPOT in values) is (operator == "In")
    return {"Exists": True, "DoesNotExist": False}.get(operator)

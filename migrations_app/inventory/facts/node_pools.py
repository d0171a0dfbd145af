"""Whether Karpenter may launch spot instances here, told by what the pools ask of karpenter.sh/capacity-type.

Whether a NodePool admits what ran on a Provisioner's nodes: taints, labels and requirements of both.

Whether nodes of a NodePool may stand in a zone: by its requirements, and by the subnets of its class.

Pools, claims and node classes of Karpenter's own: without what EKS Auto Mode keeps under the same kinds.

Disruption budgets of a NodePool: how many nodes it lets go at once.
"""

from collections.abc import Iterable, Iterator
from typing import Any

from migrations_app.inventory.inventory import Inventory, once
from migrations_app.inventory.objects.karpenter import (
    EC2NodeClass,
    NamedObject,
    NodeClaim,
    NodePool,
    Provisioner,
    WholeObject,
)
from migrations_app.inventory.parts import is_whole
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


_EFFECTS = ("NoSchedule", "NoExecute")
_FENCE = labels.LEGACY_TAINT
_OWNER_KEYS = (labels.PROVISIONER_NAME, labels.NODEPOOL)


def misfit(old: Provisioner, pool: NodePool) -> str:
    """Why the pool does not take over, in words that follow its name; empty where nothing speaks against it."""
    return next(_misfits(old, pool), "")


def _misfits(old: Provisioner, pool: NodePool) -> Iterator[str]:
    borne = _taints(old, "spec.taints")
    for taint in _taints(pool, "spec.template.spec.taints"):
        if taint not in borne:
            yield f"has the taint {taint[0]}, which the pods need not tolerate now"
    asked = _values(pool, "spec.template.spec.requirements")
    given = _texts(pool, "spec.template.metadata.labels")
    for key, value in _texts(old, "spec.labels").items():
        if key not in _OWNER_KEYS and given.get(key) != value and value not in asked.get(key, ()):
            yield f"does not give the label {key}={value}"
    for key, values in _values(old, "spec.requirements").items():
        wanted = asked.get(key, set() if key not in given else {given[key]})
        if wanted and not values & wanted:
            yield f"admits no {key} of {' '.join(sorted(values))}"


def _taints(one: WholeObject, path: str) -> set[tuple[str, str]]:
    found = ((str(row.get("key")), str(row.get("value", "")), row.get("effect")) for row in _pool_fit_rows(one, path))
    return {(key, value) for key, value, effect in found if effect in _EFFECTS and key != _FENCE}


def _values(one: WholeObject, path: str) -> dict[str, set[str]]:
    """The values that `In` lists, by key."""
    rows = (
        row for row in _pool_fit_rows(one, path) if row.get("operator") == "In" and isinstance(row.get("values"), list)
    )
    return {str(row.get("key")): {str(value) for value in row["values"]} for row in rows}


def _texts(one: WholeObject, path: str) -> dict[str, str]:
    found = one.get(path, {})
    return {key: str(value) for key, value in found.items()} if isinstance(found, dict) else {}


def _pool_fit_rows(one: WholeObject, path: str) -> list[dict[str, Any]]:
    found = one.get(path, [])
    return [row for row in found if isinstance(row, dict)] if isinstance(found, list) else []


ZONE = "topology.kubernetes.io/zone"
_SPELLED = (ZONE, "failure-domain.beta.kubernetes.io/zone")


def reaches(inventory: Inventory, pool: NodePool, *, zone: str) -> bool:
    """True unless a requirement of the pool, or the subnets that its class found, leave the zone out."""
    rows = pool.get("spec.template.spec.requirements", [])
    asked = [row for row in rows if isinstance(row, dict)] if isinstance(rows, list) else []
    return all(_pool_zones_admits(row, zone) for row in asked if row.get("key") in _SPELLED) and _has_subnet(
        inventory, pool, zone=zone
    )


def _pool_zones_admits(row: dict[str, Any], zone: str) -> bool:
    values = row.get("values")
    listed = values if isinstance(values, list) else []
    answers = {"In": zone in listed, "NotIn": zone not in listed, "DoesNotExist": False}
    return answers.get(str(row.get("operator")), True)


def _has_subnet(inventory: Inventory, pool: NodePool, *, zone: str) -> bool:
    name = pool.get("spec.template.spec.nodeClassRef.name")
    node_class = next((one for one in inventory.ec2nodeclasses.items if one.name == name), None)
    subnets = node_class.get("status.subnets", []) if node_class else []
    zones = {one.get("zone") for one in subnets if isinstance(one, dict)} if isinstance(subnets, list) else set()
    return not zones or zone in zones


REFERENCE = "spec.template.spec.nodeClassRef"
REQUIREMENTS = "spec.template.spec.requirements"
USER_DATA = "spec.userData"
AMI_TERMS = "spec.amiSelectorTerms"
FAMILIES = {
    name.lower(): name
    for name in ("AL2", "AL2023", "Bottlerocket", "Ubuntu", "Custom", "Windows2019", "Windows2022", "Windows2025")
}
"""Image families by the word that an alias uses for them; Ubuntu and Custom have none."""


def is_auto_mode(group: object, api_version: object = None) -> bool:
    """Whether a reference with that group, or API version in v1beta1, leads to a node class of EKS Auto Mode."""
    return kinds.AUTO_MODE_GROUP in (group, str(api_version or "").partition("/")[0])


@once
def own_pools(inventory: Inventory) -> tuple[NodePool, ...]:
    """The NodePools that Karpenter itself acts on; empty also where they could not be read."""
    return tuple(
        pool
        for pool in inventory.nodepools.items
        if not is_auto_mode(pool.get(f"{REFERENCE}.group"), pool.get(f"{REFERENCE}.apiVersion"))
    )


@once
def own_claims(inventory: Inventory) -> tuple[NodeClaim, ...]:
    """The NodeClaims that Karpenter itself acts on; empty also where they could not be read."""
    return tuple(claim for claim in inventory.nodeclaims.items if not _foreign(claim))


def _foreign(claim: NodeClaim) -> bool:
    reference = claim.spec.node_class_ref
    return reference is not None and is_auto_mode(reference.group, reference.api_version)


def class_name(pool: NodePool) -> str:
    """The node class that the pool names; empty where it names none."""
    found = pool.get(f"{REFERENCE}.name")
    return found if isinstance(found, str) else ""


def rows(one: WholeObject, path: str) -> tuple[tuple[int, dict[str, Any]], ...]:
    """The entries of the list at that path which are maps, each with its place; empty where there is no list."""
    found = one.get(path)
    return tuple((place, row) for place, row in enumerate(found if isinstance(found, list) else ()) if _is_map(row))


def _is_map(row: object) -> bool:
    return isinstance(row, dict)


def strings(one: WholeObject, path: str) -> dict[str, str]:
    """The pairs of text in the map at that path."""
    found = one.get(path)
    pairs = found.items() if isinstance(found, dict) else ()
    return {key: value for key, value in pairs if isinstance(value, str)}


def text(one: WholeObject, path: str) -> str:
    """The text at that path; empty for anything else."""
    found = one.get(path)
    return found if isinstance(found, str) else ""


def aliases(node_class: EC2NodeClass) -> Iterator[tuple[int, str]]:
    """The aliases among the terms for images, each with its place."""
    for place, term in rows(node_class, AMI_TERMS):
        if isinstance(term.get("alias"), str):
            yield place, term["alias"]


def family(node_class: EC2NodeClass) -> str:
    """The image family as amiFamily spells it: that field, else the alias; empty where neither tells."""
    told = text(node_class, "spec.amiFamily")
    from_alias = (FAMILIES.get(alias.partition("@")[0].lower(), "") for _, alias in aliases(node_class))
    return told or next(from_alias, "")


def is_v1(inventory_part: object, one: NamedObject) -> bool:
    """Whether that object was read as v1; what nothing tells about is taken for v1, the newest."""
    told = one.api_version or getattr(inventory_part, "served", None) or "v1"
    return str(told).rpartition("/")[2] == "v1"


BUDGETS = "spec.disruption.budgets"
DEFAULT_PERCENT = 10
"""What a pool without budgets is given from 0.34 on. aws/karpenter-provider-aws@v0.37.8:pkg/apis/crds."""
REASONS = frozenset({"Drifted", "Empty", "Underutilized"})


def at_once(nodes: int, *, percent: int = DEFAULT_PERCENT) -> int:
    """How many of so many nodes a share lets go at once; it is rounded up."""
    return -(-nodes * percent // 100)


def closed(pool: NodePool) -> Iterator[tuple[int, str]]:
    """The budgets that let no node go, at any time and for any reason: place and value."""
    for place, budget in rows(pool, BUDGETS):
        if _is_none(budget.get("nodes")) and not budget.get("schedule") and _for_every_reason(budget.get("reasons")):
            yield place, str(budget["nodes"])


def unreadable(pool: NodePool) -> Iterator[int]:
    """The budgets whose nodes are neither a number nor a share."""
    for place, budget in rows(pool, BUDGETS):
        told = str(budget.get("nodes")).removesuffix("%")
        if isinstance(budget.get("nodes"), bool) or not (told.isascii() and told.isdigit()):
            yield place


def _is_none(nodes: Any) -> bool:  # noqa: ANN401 - the tree is the API's own JSON
    told = str(nodes).removesuffix("%")
    return told.isascii() and told.isdigit() and not told.strip("0")


def _for_every_reason(reasons: Any) -> bool:  # noqa: ANN401 - the tree is the API's own JSON
    return not reasons or (isinstance(reasons, list) and set(map(str, reasons)) >= REASONS)

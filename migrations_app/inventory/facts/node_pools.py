"""What NodePools and Provisioners allow: spot capacity, zones, disruption budgets, and whether a NodePool can take
over from a Provisioner and keeps its defaults.

The functions `own_...` leave out what EKS Auto Mode keeps under the same kinds.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from migrations_app.conversion.convert import Item
from migrations_app.conversion.findings import FindingCollector
from migrations_app.conversion.provisioner import defaults, requirement_text
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
from migrations_app.inventory.schedules import always_active, is_readable, window_of
from migrations_app.karpenter import kinds, labels

Row = tuple[str, tuple[str, ...]]
"""An operator with its values."""
POOL_TEMPLATE = "spec.template"


def spot_possible(inventory: Inventory) -> bool | None:
    """True if some pool allows spot, False if none does; None if a list or a pool could not be read completely.

    One pool that allows spot is enough, even if others were not seen.
    """
    answers = [*map(pool_admits_spot, inventory.nodepools.items), *map(admits_spot, inventory.provisioners.items)]
    if True in answers:
        return True
    whole = all(is_whole(part) for part in (inventory.nodepools, inventory.provisioners))
    return False if whole and None not in answers else None


def pool_admits_spot(pool: NodePool) -> bool | None:
    """Whether a NodePool may launch spot; without a capacity-type requirement it may. None if its spec is malformed.

    False for pools of EKS Auto Mode, since Karpenter does not launch for them.
    """
    if pool.get(f"{POOL_TEMPLATE}.spec.nodeClassRef.group") == kinds.AUTO_MODE_GROUP:
        return False
    rows = _rows(pool, f"{POOL_TEMPLATE}.spec.requirements", labels_at=f"{POOL_TEMPLATE}.metadata.labels")
    return None if rows is None else _all_admit(rows)


def admits_spot(provisioner: Provisioner) -> bool | None:
    """Whether a Provisioner may launch spot; without a capacity-type requirement its webhook sets on-demand."""
    rows = _rows(provisioner, "spec.requirements", labels_at="spec.labels")
    return None if rows is None else bool(rows) and _all_admit(rows)


def _rows(whole_object: WholeObject, requirements_at: str, *, labels_at: str) -> list[Row] | None:
    """The object's requirements on the capacity type, including node labels, which restrict as well; None if they
    cannot be read.
    """
    requirements, label_values = whole_object.get(requirements_at, []), whole_object.get(labels_at, {})
    if not isinstance(requirements, list) or not isinstance(label_values, dict):
        return None
    if not all(isinstance(row, dict) for row in requirements):
        return None
    rows = list(_capacity_rows(requirements))
    if labels.CAPACITY_TYPE in label_values:
        rows.append(("In", (str(label_values[labels.CAPACITY_TYPE]),)))
    return rows


def _capacity_rows(requirements: Iterable[dict[str, Any]]) -> Iterator[Row]:
    for row in requirements:
        if row.get("key") == labels.CAPACITY_TYPE:
            values = row.get("values") or []
            yield str(row.get("operator")), tuple(map(str, values)) if isinstance(values, list) else ()


def _all_admit(rows: Iterable[Row]) -> bool | None:
    """Whether all rows allow spot: False if one excludes it, otherwise None if one cannot be read."""
    answers = [_admits(operator, values) for operator, values in rows]
    if False in answers:
        return False
    return None if None in answers else True


def _admits(operator: str, values: tuple[str, ...]) -> bool | None:
    """None for unknown or numeric operators, and for In and NotIn without values."""
    if operator in ("In", "NotIn") and values:
        return (labels.SPOT in values) is (operator == "In")
    return {"Exists": True, "DoesNotExist": False}.get(operator)


_EFFECTS = ("NoSchedule", "NoExecute")
_DRAIN_TAINT_KEY = labels.LEGACY_TAINT
_OWNER_KEYS = (labels.PROVISIONER_NAME, labels.NODEPOOL)


def misfit(old: Provisioner | NodePool, pool: NodePool) -> str:
    """Why the pool cannot take over from the Provisioner, as text after its name; empty if nothing prevents it."""
    return next(_misfits(old, pool), "")


def _misfits(old: Provisioner | NodePool, pool: NodePool) -> Iterator[str]:
    at = "spec.template"
    spec, metadata = ("spec", "spec") if isinstance(old, Provisioner) else (f"{at}.spec", f"{at}.metadata")
    for taint in sorted(_taints(pool, f"{at}.spec.taints") - _taints(old, f"{spec}.taints")):
        yield f"has the taint {taint[0]}, which the pods need not tolerate now"
    requirements = _values(pool, "spec.template.spec.requirements")
    pool_labels = _texts(pool, "spec.template.metadata.labels")
    for key, value in _texts(old, f"{metadata}.labels").items():
        if key not in _OWNER_KEYS and pool_labels.get(key) != value and value not in requirements.get(key, ()):
            yield f"does not give the label {key}={value}"
    for key, values in _values(old, f"{spec}.requirements").items():
        admitted = requirements.get(key, set() if key not in pool_labels else {pool_labels[key]})
        if admitted and not values & admitted:
            yield f"admits no {key} of {' '.join(sorted(values))}"


def _taints(whole_object: WholeObject, path: str) -> set[tuple[str, str]]:
    taints = (
        (str(row.get("key")), str(row.get("value", "")), row.get("effect"))
        for row in _pool_fit_rows(whole_object, path)
    )
    return {(key, value) for key, value, effect in taints if effect in _EFFECTS and key != _DRAIN_TAINT_KEY}


def _values(whole_object: WholeObject, path: str) -> dict[str, set[str]]:
    """The values that `In` lists, by key."""
    rows = (
        row
        for row in _pool_fit_rows(whole_object, path)
        if row.get("operator") == "In" and isinstance(row.get("values"), list)
    )
    return {str(row.get("key")): {str(value) for value in row["values"]} for row in rows}


def _texts(whole_object: WholeObject, path: str) -> dict[str, str]:
    texts = whole_object.get(path, {})
    return {key: str(value) for key, value in texts.items()} if isinstance(texts, dict) else {}


def _pool_fit_rows(whole_object: WholeObject, path: str) -> list[dict[str, Any]]:
    entries = whole_object.get(path, [])
    return [row for row in entries if isinstance(row, dict)] if isinstance(entries, list) else []


ZONE = "topology.kubernetes.io/zone"
_SPELLED = (ZONE, "failure-domain.beta.kubernetes.io/zone")


def reaches_zone(inventory: Inventory, pool: NodePool, *, zone: str) -> bool:
    """False if a requirement of the pool, or the subnets that its class found, exclude the zone; True otherwise."""
    rows = pool.get("spec.template.spec.requirements", [])
    requirements = [row for row in rows if isinstance(row, dict)] if isinstance(rows, list) else []
    return all(_pool_zones_admits(row, zone) for row in requirements if row.get("key") in _SPELLED) and _has_subnet(
        inventory, pool, zone=zone
    )


def _pool_zones_admits(row: dict[str, Any], zone: str) -> bool:
    values = row.get("values")
    listed = values if isinstance(values, list) else []
    answers = {"In": zone in listed, "NotIn": zone not in listed, "DoesNotExist": False}
    return answers.get(str(row.get("operator")), True)


def _has_subnet(inventory: Inventory, pool: NodePool, *, zone: str) -> bool:
    name = pool.get("spec.template.spec.nodeClassRef.name")
    node_class = next(
        (ec2nodeclass for ec2nodeclass in inventory.ec2nodeclasses.items if ec2nodeclass.name == name), None
    )
    subnets = node_class.get("status.subnets", []) if node_class else []
    zones = (
        {subnet.get("zone") for subnet in subnets if isinstance(subnet, dict)} if isinstance(subnets, list) else set()
    )
    return not zones or zone in zones


REFERENCE = "spec.template.spec.nodeClassRef"
REQUIREMENTS = "spec.template.spec.requirements"
USER_DATA = "spec.userData"
AMI_TERMS = "spec.amiSelectorTerms"
FAMILIES = {
    name.lower(): name
    for name in ("AL2", "AL2023", "Bottlerocket", "Ubuntu", "Custom", "Windows2019", "Windows2022", "Windows2025")
}
"""Image families by their name in an alias; Ubuntu and Custom have none."""


def is_auto_mode(group: object, api_version: object = None) -> bool:
    """Whether a reference with that group, or API version in v1beta1, names a node class of EKS Auto Mode."""
    return kinds.AUTO_MODE_GROUP in (group, str(api_version or "").partition("/")[0])


@once
def own_pools(inventory: Inventory) -> tuple[NodePool, ...]:
    """The NodePools that Karpenter itself manages; empty also if they could not be read."""
    return tuple(
        pool
        for pool in inventory.nodepools.items
        if not is_auto_mode(pool.get(f"{REFERENCE}.group"), pool.get(f"{REFERENCE}.apiVersion"))
    )


@once
def own_claims(inventory: Inventory) -> tuple[NodeClaim, ...]:
    """The NodeClaims that Karpenter itself manages; empty also if they could not be read."""
    return tuple(claim for claim in inventory.nodeclaims.items if not _foreign(claim))


def _foreign(claim: NodeClaim) -> bool:
    reference = claim.spec.node_class_ref
    return reference is not None and is_auto_mode(reference.group, reference.api_version)


def class_name(pool: NodePool) -> str:
    """The node class that the pool names; empty if it names none."""
    name = pool.get(f"{REFERENCE}.name")
    return name if isinstance(name, str) else ""


def class_group(pool: NodePool) -> str:
    """The group of the pool's node class: v1 names it, v1beta1 names an API version; empty if both are missing."""
    return (text(pool, f"{REFERENCE}.group") or text(pool, f"{REFERENCE}.apiVersion")).partition("/")[0]


def of_other_provider(pool: NodePool) -> bool:
    """Whether the pool's node class is of another provider: its group is a domain that is not Karpenter's."""
    group = class_group(pool)
    return "." in group and group not in kinds.KARPENTER_GROUPS


def wrong_class_fields(pool: NodePool) -> Iterator[tuple[str, str, str]]:
    """The fields of the reference that name no EC2NodeClass, each with what it has and what it should have. Up to 0.37
    the name alone counted; conversion keeps the others, and from 1.0 on the class is looked up by group and kind.
    """
    kind = text(pool, f"{REFERENCE}.kind")
    if class_group(pool) not in ("", kinds.AWS_GROUP):
        if group := text(pool, f"{REFERENCE}.group"):
            yield "group", group, kinds.AWS_GROUP
        else:
            yield "apiVersion", text(pool, f"{REFERENCE}.apiVersion"), f"{kinds.AWS_GROUP}/v1beta1"
    if kind not in ("", kinds.EC2_NODE_CLASS.kind):
        yield "kind", kind, kinds.EC2_NODE_CLASS.kind


def rows(whole_object: WholeObject, path: str) -> tuple[tuple[int, dict[str, Any]], ...]:
    """The entries of the list at that path that are maps, each with its index; empty if there is no list."""
    entries = whole_object.get(path)
    return tuple((place, row) for place, row in enumerate(entries if isinstance(entries, list) else ()) if _is_map(row))


def _is_map(row: object) -> bool:
    return isinstance(row, dict)


def strings(whole_object: WholeObject, path: str) -> dict[str, str]:
    """The string entries of the map at that path."""
    mapping = whole_object.get(path)
    pairs = mapping.items() if isinstance(mapping, dict) else ()
    return {key: value for key, value in pairs if isinstance(value, str)}


def text(whole_object: WholeObject, path: str) -> str:
    """The text at that path; empty for any other type."""
    value = whole_object.get(path)
    return value if isinstance(value, str) else ""


def aliases(node_class: EC2NodeClass) -> Iterator[tuple[int, str]]:
    """The aliases among the AMI selector terms, each with its index."""
    for place, term in rows(node_class, AMI_TERMS):
        if isinstance(term.get("alias"), str):
            yield place, term["alias"]


def family(node_class: EC2NodeClass) -> str:
    """The image family in the spelling of amiFamily: from that field, otherwise from the alias; empty if neither names
    one.
    """
    ami_family = text(node_class, "spec.amiFamily")
    from_alias = (FAMILIES.get(alias.partition("@")[0].lower(), "") for _, alias in aliases(node_class))
    return ami_family or next(from_alias, "")


def is_v1(inventory_part: object, named_object: NamedObject) -> bool:
    """Whether that object was read as v1; v1, the newest, is assumed if nothing shows the version."""
    api_version = named_object.api_version or getattr(inventory_part, "served", None) or "v1"
    return str(api_version).rpartition("/")[2] == "v1"


BUDGETS = "spec.disruption.budgets"
DEFAULT_PERCENT = 10
"""The default budget of a pool without budgets, from 0.34 on. aws/karpenter-provider-aws@v0.37.8:pkg/apis/crds."""
REASONS = frozenset({"Drifted", "Empty", "Underutilized"})


def at_once(nodes: int, *, percent: int = DEFAULT_PERCENT) -> int:
    """The number of nodes that the percentage allows to be disrupted at once, rounded up."""
    return -(-nodes * percent // 100)


def closed_budgets(pool: NodePool) -> Iterator[tuple[int, str]]:
    """The budgets that allow no disruption at any time and for any reason: index and value. Of budgets with a schedule
    those that together leave no time."""
    closed = {
        place: budget
        for place, budget in rows(pool, BUDGETS)
        if _is_none(budget.get("nodes")) and _for_every_reason(budget.get("reasons"))
    }
    windows = {place: window for place, budget in closed.items() if (window := window_of(budget))}
    alone = {place for place, window in windows.items() if always_active([window])}
    whole_time = alone or (set(windows) if always_active(windows.values()) else set())
    for place, budget in closed.items():
        if not budget.get("schedule"):
            yield place, str(budget["nodes"])
        elif place in whole_time:
            yield place, f"{budget['nodes']} for {budget['duration']} from {budget['schedule']} on"


def unreadable_schedules(pool: NodePool) -> Iterator[int]:
    """Index of each budget with a schedule that Karpenter cannot read, by which it allows no disruption, and of each
    that allows none for a duration that cannot be read here."""
    for place, budget in rows(pool, BUDGETS):
        has_no_end = _is_none(budget.get("nodes")) and window_of(budget) is None
        if budget.get("schedule") and (has_no_end or not is_readable(budget["schedule"])):
            yield place


def unreadable_budgets(pool: NodePool) -> Iterator[int]:
    """Index of each budget whose `nodes` is neither a number nor a percentage."""
    for place, budget in rows(pool, BUDGETS):
        amount = str(budget.get("nodes")).removesuffix("%")
        if isinstance(budget.get("nodes"), bool) or not (amount.isascii() and amount.isdigit()):
            yield place


def _is_none(nodes: Any) -> bool:  # noqa: ANN401 - the tree is the API's own JSON
    amount = str(nodes).removesuffix("%")
    return amount.isascii() and amount.isdigit() and not amount.strip("0")


def _for_every_reason(reasons: Any) -> bool:  # noqa: ANN401 - the tree is the API's own JSON
    return not reasons or (isinstance(reasons, list) and set(map(str, reasons)) >= REASONS)


DISRUPTION = "spec.disruption"
TEMPLATE_LABELS = "spec.template.metadata.labels"
_BETA_DISRUPTION = (("consolidationPolicy", "WhenUnderutilized"), ("expireAfter", "720h"))
"""Fields of spec.disruption with the default of v1beta1, which a Provisioner does not have."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LostDefault:
    """A default of Provisioners that a NodePool does not keep: the field, its value as text, and the value that keeps
    the default."""

    pool: NodePool
    path: str
    seen: str
    wanted: str
    key: str = ""
    """The key, for a requirement."""


def lost_defaults(pools: Iterable[NodePool], provisioners: Iterable[Item]) -> Iterator[LostDefault]:
    """The defaults that these pools do not keep, pool by pool. `provisioners`: the conversion of the alpha objects;
    disruption is compared with the Provisioner of the same name."""
    trees = [tree for item in provisioners for tree in item.objects]
    before = {tree["metadata"]["name"]: tree["spec"]["disruption"] for tree in trees if tree["kind"] == "NodePool"}
    for pool in pools:
        yield from _lost_requirements(pool)
        if pool.name in before:
            yield from _lost_disruption(pool, before[pool.name])


def _lost_requirements(pool: NodePool) -> Iterator[LostDefault]:
    requirements = [row for _, row in rows(pool, REQUIREMENTS) if isinstance(row.get("key"), str)]
    notes = FindingCollector("NodePool", pool.name)
    for missing in defaults(requirements, strings(pool, TEMPLATE_LABELS), notes=notes):
        key = missing["key"]
        # pools_state_capacity_type reports that key, at every hop.
        if key != labels.CAPACITY_TYPE:
            seen, wanted = f"nothing about {key}", requirement_text(missing)
            yield LostDefault(pool=pool, path=REQUIREMENTS, seen=seen, wanted=wanted, key=key)


def _lost_disruption(pool: NodePool, before: Mapping[str, str]) -> Iterator[LostDefault]:
    for field, default in _BETA_DISRUPTION:
        path = f"{DISRUPTION}.{field}"
        current = text(pool, path) or default
        former = before.get(field) or default  # the converter leaves out what is the default of v1beta1
        if current == default and former not in (default, "720h0m0s"):
            wanted = f"{former}, as the Provisioner had it"
            yield LostDefault(pool=pool, path=path, seen=current, wanted=wanted)

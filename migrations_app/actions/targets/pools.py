"""Provisioners, NodePools and node classes as targets: the chosen ones, what depends on them, the tool that would
revert a direct write, the NodePool that takes over, the drain taint, and the converted successors.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from migrations_app.actions.base import Parameters, PlanningContext, Unavailable
from migrations_app.actions.changes import ObjectTarget, checked_name
from migrations_app.actions.patches import patch_step
from migrations_app.actions.plan import Step
from migrations_app.actions.targets.nodes import PoolName, name_list
from migrations_app.conversion.convert import Item, convert
from migrations_app.conversion.findings import ConversionFinding
from migrations_app.conversion.node_template import placeholder_paths
from migrations_app.conversion.objects import KnownNames, Options, TargetVersion
from migrations_app.errors import InvalidInput
from migrations_app.inventory.aws_facts import names
from migrations_app.inventory.facts.managers import REVERTS, managed
from migrations_app.inventory.facts.node_classes import CONVERTIBLE_PARTS, convertible
from migrations_app.inventory.facts.node_pools import misfit, own_pools
from migrations_app.inventory.facts.ownership import ownership
from migrations_app.inventory.inventory import Inventory
from migrations_app.inventory.objects.karpenter import Metadata, NamedObject, NodePool, Provisioner, WholeObject
from migrations_app.karpenter import kinds, labels
from migrations_app.karpenter.release_facts import DRAIN_TAINT, ROLLS_ON
from migrations_app.manifests import JsonMap


def nodes_of(inventory: Inventory, provisioner: str) -> int:
    """The number of nodes of the Provisioner. An alpha node of unknown Provisioner counts for every Provisioner."""
    owned = ownership(inventory).nodes
    return sum(owned_node.owner == "karpenter_alpha" and owned_node.pool in ("", provisioner) for owned_node in owned)


def machines_of(inventory: Inventory, provisioner: str) -> int:
    """The number of Machines of the Provisioner. A Machine without the label counts for every Provisioner."""
    pool_names = (machine.metadata.label(labels.PROVISIONER_NAME) or "" for machine in inventory.machines.items)
    return sum(name in ("", provisioner) for name in pool_names)


def templates_used(inventory: Inventory, *, without: Collection[str]) -> frozenset[str]:
    """The node templates that Machines, and Provisioners other than those in `without`, refer to."""
    staying = (provisioner for provisioner in inventory.provisioners.items if provisioner.name not in without)
    by_provisioners = {str(provisioner.get("spec.providerRef.name", "")) for provisioner in staying}
    references = (machine.spec.machine_template_ref for machine in inventory.machines.items)
    return frozenset(by_provisioners | {reference.name or "" for reference in references if reference})


def reverting_tool(metadata: Metadata) -> str:
    """Tool and owner, such as `Flux flux-system/karpenter`; empty if no tool reverts a direct write."""
    manager = managed(metadata)
    tool = REVERTS.get(manager.by, "")
    owner = "/".join(part for part in (manager.namespace, manager.name) if part)
    return f"{tool} {owner}" if tool and owner else tool


T = TypeVar("T", bound=NamedObject)


def target_of(row: kinds.Kind, named_object: NamedObject, *, version: str = "") -> ObjectTarget:
    """The object by uid, in the given version or the newest one."""
    return ObjectTarget(
        row.group,
        version or row.versions[0],
        row.plural,
        row.kind,
        named_object.name,
        namespace=named_object.namespace,
        uid=named_object.metadata.uid or "",
    )


def served_version(inventory: Inventory, part: str) -> str:
    """The version in which the part was read; empty if the kind is not served."""
    return str(getattr(inventory.part(part), "served", None) or "").rpartition("/")[2]


def chosen_names(parameters: Parameters, name: str) -> tuple[str, ...]:
    """The chosen names, each once. Raises InvalidInput for an invalid object name."""
    values = parameters.get(name) or ()
    if isinstance(values, str) or not isinstance(values, list | tuple):
        raise InvalidInput("enter a list of names", where=name, code="bad_parameter")
    return tuple(dict.fromkeys(checked_name(text if isinstance(text, str) else "") for text in values))


def chosen_owners(parameters: Parameters, *, existing: Collection[PoolName]) -> set[PoolName]:
    """The chosen pools. Each text is a name, or `Provisioner/name` or `NodePool/name` where both have that name.

    Raises InvalidInput for a pool that has no node, and for a name that two pools have.
    """
    values = parameters.get("pools") or ()
    if isinstance(values, str) or not isinstance(values, list | tuple):
        raise InvalidInput("enter a list of names", where="pools", code="bad_parameter")
    return {_owner(text if isinstance(text, str) else "", existing) for text in values}


def _owner(text: str, existing: Collection[PoolName]) -> PoolName:
    kind, _, name = text.rpartition("/") if text.startswith(("Provisioner/", "NodePool/")) else ("", "", text)
    checked_name(name)
    matches = sorted(pool for pool in existing if pool[1] == name and kind in ("", pool[0]))
    if not matches:
        raise InvalidInput(f"not among Karpenter's nodes: {text}", where="pools", code="unknown_name")
    if len(matches) > 1:
        both = " or ".join("/".join(pool) for pool in matches)
        raise InvalidInput(f"{name} is the name of two objects: enter {both}", where="pools", code="ambiguous_name")
    return matches[0]


def chosen(items: Sequence[T], parameters: Parameters, *, name: str) -> tuple[T, ...]:
    """The objects with those names, by default all. Raises InvalidInput with the names that do not exist."""
    names = chosen_names(parameters, name)
    by_name = {item.name: item for item in items}
    missing = [item for item in names if item not in by_name]
    if missing:
        raise InvalidInput(f"not in the cluster: {name_list(missing)}", where=name, code="unknown_name")
    return tuple(by_name[item] for item in names) if names else tuple(items)


def source_note(metadata: Metadata) -> str:
    """Where else to change the object, if its manager would overwrite a direct write later."""
    by = managed(metadata).by
    if reverting_tool(metadata):
        return "change its source too, or this is reverted"
    return "" if by == "hand" else f"{by} overwrites this at its next upgrade, unless its values are changed too"


def joined(*words: str) -> str:
    """The sentences of a note, without empty ones."""
    return "; ".join(word for word in words if word)


def is_ready(pool: WholeObject) -> bool:
    """False only if a condition says that the pool is not ready; 0.32 has no such condition."""
    conditions = pool.get("status.conditions", [])
    rows = [row for row in conditions if isinstance(row, dict)] if isinstance(conditions, list) else []
    return not any(row.get("type") == "Ready" and row.get("status") == "False" for row in rows)


def living_pools(inventory: Inventory) -> tuple[NodePool, ...]:
    """Karpenter's own NodePools that are not being deleted."""
    return tuple(pool for pool in own_pools(inventory) if not pool.metadata.deleting)


def refuse_without_successor(inventory: Inventory, old: Iterable[Provisioner]) -> None:
    """Raises Unavailable with the Provisioners whose pods no ready NodePool can take over."""
    for provisioner in old:
        if reason := without_successor(inventory, provisioner):
            raise Unavailable(reason, code="no_successor")


def without_successor(inventory: Inventory, old: Provisioner) -> str:
    """Why no ready NodePool can take over the pods of the Provisioner; empty if one can."""
    reasons = [_obstacle(old, pool) for pool in living_pools(inventory)]
    if not all(reasons):
        return ""
    reason = min(reasons, key=len) if reasons else "there is no NodePool"
    return f"no NodePool replaces Provisioner {old.name}: {reason}"


def successor_pool(inventory: Inventory, old: Provisioner | NodePool, *, without: Collection[object] = ()) -> NodePool:
    """The ready NodePool that fits the pods of the pool, the one of its name first; none of those in `without`.

    Raises Unavailable if there is none.
    """
    others = sorted(
        (pool for pool in living_pools(inventory) if pool not in without), key=lambda pool: pool.name != old.name
    )
    reasons = [_obstacle(old, pool) for pool in others]
    if not all(reasons):
        return others[reasons.index("")]
    words = without_successor(inventory, old) if isinstance(old, Provisioner) else ""
    why = f": {min(reasons, key=len)}" if reasons else ""
    raise Unavailable(words or f"no other NodePool is ready for the pods of {old.name}{why}", code="no_successor")


def _obstacle(old: Provisioner | NodePool, pool: NodePool) -> str:
    if not is_ready(pool):
        return f"NodePool {pool.name} is not ready"
    difference = misfit(old, pool)
    return f"NodePool {pool.name} {difference}" if difference else ""


def refuse_other_release(context: PlanningContext) -> None:
    """Raises Unavailable unless the running release supports both generations."""
    running = context.running.release
    if running is None:
        raise Unavailable(f"which release runs is not known: {context.running.how}", code="release_unknown")
    if running.minor != ROLLS_ON.minor:
        raise Unavailable(
            f"NodePools can replace Provisioners on {ROLLS_ON.minor} only, and {running} runs", code="wrong_release"
        )


def has_drain_taint(provisioner: Provisioner) -> bool:
    """Whether the Provisioner has the drain taint already."""
    return any(
        row.get("key") == DRAIN_TAINT.key and row.get("effect") == DRAIN_TAINT.effect for row in _taints(provisioner)
    )


def taint_step(provisioner: Provisioner, *, title: str, spec: JsonMap | None = None, note: str = "") -> Step:
    """The step that adds the drain taint to a Provisioner, with further spec fields if given."""
    taints = {} if has_drain_taint(provisioner) else {"taints": [*_taints(provisioner), DRAIN_TAINT.taint]}
    return patch_step(
        target_of(kinds.PROVISIONER, provisioner),
        {"spec": provisioner.spec or {}},
        patch={"spec": taints | (spec or {})},
        title=title,
        risk="medium",
        manager=reverting_tool(provisioner.metadata),
        note=joined(note, source_note(provisioner.metadata)),
    )


def _taints(provisioner: Provisioner) -> list[dict[str, Any]]:
    """Returns the taints. Raises Unavailable if the list cannot be read, since a patch would replace the whole list."""
    taints = provisioner.get("spec.taints", [])
    if not isinstance(taints, list) or not all(isinstance(row, dict) for row in taints):
        raise Unavailable(f"Provisioner {provisioner.name}: spec.taints cannot be read", code="not_seen")
    return list(taints)


DEFAULT_PROFILE = "aws.defaultInstanceProfile"
POOLS = ("Provisioner", "NodePool")
CLASSES = ("AWSNodeTemplate", "EC2NodeClass")
MAX_FINDINGS_SHOWN = 5


@dataclass(frozen=True, slots=True)
class Successor:
    """One object to apply, and the item of the conversion that made it."""

    body: JsonMap
    item: Item

    @property
    def target(self) -> ObjectTarget:
        """The object without uid, since it may not exist yet."""
        row = kinds.NODE_POOL if self.body["kind"] == "NodePool" else kinds.EC2_NODE_CLASS
        version = str(self.body["apiVersion"]).rpartition("/")[2]
        return ObjectTarget(row.group, version, row.plural, row.kind, str(self.body["metadata"]["name"]))

    @property
    def own(self) -> bool:
        """Whether it is the same object that was read, in its newer or cleaned form."""
        return (self.item.kind, self.item.name) == (self.body["kind"], self.body["metadata"]["name"])

    @property
    def warnings(self) -> tuple[str, ...]:
        """What may behave differently, as text."""
        return tuple(loss.what for loss in self.item.losses if loss.severity == "warn")


def successors(inventory: Inventory, parameters: Parameters) -> tuple[Successor, ...]:
    """Every object that the chosen ones convert to: classes before the pools that refer to them.

    Raises Unavailable with the decisions that a person has to make first.
    """
    items = converted(inventory, parameters)
    _refuse_losses([loss for item in items for loss in item.losses])
    new_objects = [Successor(body, item) for item in items for body in item.objects if not item.view_only]
    _refuse_placeholders(new_objects)
    return tuple(sorted(new_objects, key=lambda successor: successor.body["kind"] in POOLS))


def converted(inventory: Inventory, parameters: Parameters) -> tuple[Item, ...]:
    """The conversion of the chosen objects: to v1beta1 if any of them is alpha, otherwise to v1."""
    trees, to = _chosen(inventory, parameters)
    options = Options(
        to=to,
        node_role=_node_role(parameters),
        keep_instance_profile=parameters.get("keep_instance_profile") is True,
        live=True,
    )
    return convert(trees, options, known_names=_known(inventory)).items


def object_of(inventory: Inventory, kind: str, *, name: str) -> WholeObject | None:
    """The pool or class of that kind and name, as read; None if there is none."""
    part = next((part for part, of_kind in CONVERTIBLE_PARTS.items() if of_kind == kind), None)
    objects = inventory.part(part).items if part else ()
    return next((item for item in objects if isinstance(item, WholeObject) and item.name == name), None)


def _chosen(inventory: Inventory, parameters: Parameters) -> tuple[list[JsonMap], TargetVersion]:
    """The chosen pools with their classes, and the generation to convert to; by default the oldest one."""
    old = bool(inventory.provisioners.items or inventory.awsnodetemplates.items)
    provisioner_names, nodepool_names = (chosen_names(parameters, name) for name in ("provisioners", "nodepools"))
    if provisioner_names and nodepool_names:
        raise InvalidInput("choose either Provisioners or NodePools, not both", where="nodepools", code="bad_parameter")
    alpha = bool(provisioner_names) or (old and not nodepool_names)
    kinds_chosen = ("Provisioner", "AWSNodeTemplate") if alpha else ("NodePool", "EC2NodeClass")
    named = provisioner_names or nodepool_names
    own = {pool.name for pool in own_pools(inventory)}
    trees = [tree for tree in convertible(inventory) if tree["kind"] in kinds_chosen]
    trees = [tree for tree in trees if tree["kind"] != "NodePool" or name_of(tree) in own]
    _refuse_unknown(named, trees, where="provisioners" if alpha else "nodepools")
    picked = [tree for tree in trees if not named or name_of(tree) in named or tree["kind"] in CLASSES]
    return _with_used_classes(picked, every=not named), "v1beta1" if alpha else "v1"


def _with_used_classes(trees: list[JsonMap], *, every: bool) -> list[JsonMap]:
    used = {class_of(tree) for tree in trees if tree["kind"] in POOLS}
    return [tree for tree in trees if every or tree["kind"] in POOLS or name_of(tree) in used]


def _refuse_unknown(named: Collection[str], trees: list[JsonMap], *, where: str) -> None:
    pool_names = {name_of(tree) for tree in trees if tree["kind"] in POOLS}
    missing = [name for name in named if name not in pool_names]
    if missing:
        raise InvalidInput(f"not in the cluster: {', '.join(missing)}", where=where, code="unknown_name")


def name_of(tree: JsonMap) -> str:
    return str(tree["metadata"]["name"])


def class_of(tree: JsonMap) -> str:
    """The name of the class or template that a pool uses; empty if it names none."""
    spec = tree["spec"]
    path = ("providerRef",) if tree["kind"] == "Provisioner" else ("template", "spec", "nodeClassRef")
    node: Any = spec
    for step in (*path, "name"):
        node = node.get(step) if isinstance(node, dict) else None
    return str(node or "")


def _node_role(parameters: Parameters) -> str | None:
    role = parameters.get("node_role") or None
    if role is not None and (not isinstance(role, str) or not names.ROLE_NAME.fullmatch(role)):
        raise InvalidInput("enter the name of an IAM role, not its ARN", where="node_role", code="bad_parameter")
    return role


def _known(inventory: Inventory) -> KnownNames:
    """Names that a conversion needs from the cluster, and from AWS if it was read."""
    default = next(iter(names.setting(inventory, DEFAULT_PROFILE).items), "")
    return KnownNames(
        role_of_profile=dict(_roles(inventory)),
        default_profile=default or None,
        nodes_of_pool=_nodes_of_pool(inventory),
        all_pools_given=True,
    )


def _roles(inventory: Inventory) -> Iterator[tuple[str, str]]:
    for profile in inventory.aws.instance_profiles.items:
        if len(profile.role_arns) == 1:
            yield profile.name, profile.role_arns[0].rpartition("/")[2]


def _nodes_of_pool(inventory: Inventory) -> Mapping[str, int]:
    return Counter(node.pool for node in ownership(inventory).nodes if node.pool)


def _refuse_losses(losses: list[ConversionFinding]) -> None:
    open_ones = [loss for loss in losses if loss.severity in ("error", "action")]
    if open_ones:
        words = "; ".join(f"{loss.object} {loss.path}: {loss.what}" for loss in open_ones[:MAX_FINDINGS_SHOWN])
        more = f"; and {len(open_ones) - MAX_FINDINGS_SHOWN} more" if len(open_ones) > MAX_FINDINGS_SHOWN else ""
        raise Unavailable(f"a person has to decide first: {words}{more}", code="loss")


def _refuse_placeholders(new_objects: list[Successor]) -> None:
    for successor in new_objects:
        if any(True for _ in placeholder_paths(successor.body)):
            raise Unavailable(
                f"{successor.target.display_name} still contains a placeholder: name the node role", code="loss"
            )

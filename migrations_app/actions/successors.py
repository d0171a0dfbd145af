"""What becomes of a cluster's own pools and classes in the next generation, and what keeps it from being applied."""

from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from migrations_app.actions import pools
from migrations_app.actions.base import Parameters, Unavailable
from migrations_app.actions.changes import Target
from migrations_app.actions.conditions import Tree
from migrations_app.errors import BadInput
from migrations_app.inventory import aws_named
from migrations_app.inventory.convertible import CONVERTIBLE_PARTS, convertible
from migrations_app.inventory.inventory import Inventory
from migrations_app.inventory.objects import WholeObject
from migrations_app.inventory.ownership import ownership
from migrations_app.inventory.pools import own_pools
from migrations_app.karpenter import kinds
from migrations_app.karpenter.conversion.convert import Item, convert
from migrations_app.karpenter.conversion.losses import Loss
from migrations_app.karpenter.conversion.options import Known, Options
from migrations_app.karpenter.conversion.options import Target as Generation
from migrations_app.karpenter.conversion.roles import placeholder_paths

DEFAULT_PROFILE = "aws.defaultInstanceProfile"
POOLS = ("Provisioner", "NodePool")
CLASSES = ("AWSNodeTemplate", "EC2NodeClass")
LOSSES_SAID = 5


@dataclass(frozen=True, slots=True)
class Successor:
    """One object to be applied, and the item that it came from."""

    body: Tree
    item: Item

    @property
    def target(self) -> Target:
        """The object without uid: it need not be there yet."""
        row = kinds.NODE_POOL if self.body["kind"] == "NodePool" else kinds.EC2_NODE_CLASS
        version = str(self.body["apiVersion"]).rpartition("/")[2]
        return Target(row.group, version, row.plural, row.kind, str(self.body["metadata"]["name"]))

    @property
    def own(self) -> bool:
        """Whether it is the very object that was read, in its newer or cleaner form."""
        return (self.item.kind, self.item.name) == (self.body["kind"], self.body["metadata"]["name"])

    @property
    def warnings(self) -> tuple[str, ...]:
        """What may behave otherwise, in words."""
        return tuple(loss.what for loss in self.item.losses if loss.severity == "warn")


def successors(inventory: Inventory, parameters: Parameters) -> tuple[Successor, ...]:
    """Every object that the choice becomes: classes before the pools that name them.

    Raises Unavailable naming what a person has to decide first.
    """
    items = converted(inventory, parameters)
    _refuse_losses([loss for item in items for loss in item.losses])
    found = [Successor(body, item) for item in items for body in item.objects if not item.view_only]
    _refuse_placeholders(found)
    return tuple(sorted(found, key=lambda one: one.body["kind"] in POOLS))


def converted(inventory: Inventory, parameters: Parameters) -> tuple[Item, ...]:
    """The conversion of the chosen objects, taken to v1beta1 where any of them is alpha, else to v1."""
    trees, to = _chosen(inventory, parameters)
    options = Options(
        to=to,
        node_role=_node_role(parameters),
        keep_instance_profile=parameters.get("keep_instance_profile") is True,
        live=True,
    )
    return convert(trees, options, known=_known(inventory)).items


def object_of(inventory: Inventory, kind: str, *, name: str) -> WholeObject | None:
    """The pool or class of that kind and name, as it was read."""
    part = next((part for part, of_kind in CONVERTIBLE_PARTS.items() if of_kind == kind), None)
    found = inventory.part(part).items if part else ()
    return next((one for one in found if isinstance(one, WholeObject) and one.name == name), None)


def _chosen(inventory: Inventory, parameters: Parameters) -> tuple[list[Tree], Generation]:
    """The objects by the names of their pools; without names those of the older generation that is there."""
    old = bool(inventory.provisioners.items or inventory.awsnodetemplates.items)
    of_alpha, of_current = (pools.names_given(parameters, name) for name in ("provisioners", "nodepools"))
    if of_alpha and of_current:
        raise BadInput("Provisioners or NodePools, not both at once", where="nodepools", code="bad_parameter")
    alpha = bool(of_alpha) or (old and not of_current)
    kinds_here = ("Provisioner", "AWSNodeTemplate") if alpha else ("NodePool", "EC2NodeClass")
    named = of_alpha or of_current
    own = {pool.name for pool in own_pools(inventory)}
    trees = [tree for tree in convertible(inventory) if tree["kind"] in kinds_here]
    trees = [tree for tree in trees if tree["kind"] != "NodePool" or _name(tree) in own]
    _refuse_unknown(named, trees, where="provisioners" if alpha else "nodepools")
    picked = [tree for tree in trees if not named or _name(tree) in named or tree["kind"] in CLASSES]
    return _with_used_classes(picked, every=not named), "v1beta1" if alpha else "v1"


def _with_used_classes(trees: list[Tree], *, every: bool) -> list[Tree]:
    used = {_class_of(tree) for tree in trees if tree["kind"] in POOLS}
    return [tree for tree in trees if every or tree["kind"] in POOLS or _name(tree) in used]


def _refuse_unknown(named: Collection[str], trees: list[Tree], *, where: str) -> None:
    here = {_name(tree) for tree in trees if tree["kind"] in POOLS}
    missing = [name for name in named if name not in here]
    if missing:
        raise BadInput(f"not in the cluster: {', '.join(missing)}", where=where, code="unknown_name")


def _name(tree: Tree) -> str:
    return str(tree["metadata"]["name"])


def _class_of(tree: Tree) -> str:
    spec = tree["spec"]
    path = ("providerRef",) if tree["kind"] == "Provisioner" else ("template", "spec", "nodeClassRef")
    here: Any = spec
    for step in (*path, "name"):
        here = here.get(step) if isinstance(here, dict) else None
    return str(here or "")


def _node_role(parameters: Parameters) -> str | None:
    role = parameters.get("node_role") or None
    if role is not None and (not isinstance(role, str) or not aws_named.ROLE_NAME.fullmatch(role)):
        raise BadInput("the name of an IAM role is wanted, not its ARN", where="node_role", code="bad_parameter")
    return role


def _known(inventory: Inventory) -> Known:
    """What the cluster, and AWS where it was asked, tell a conversion."""
    default = next(iter(aws_named.setting(inventory, DEFAULT_PROFILE).items), "")
    return Known(
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


def _refuse_losses(losses: list[Loss]) -> None:
    open_ones = [loss for loss in losses if loss.severity in ("error", "action")]
    if open_ones:
        words = "; ".join(f"{loss.object} {loss.path}: {loss.what}" for loss in open_ones[:LOSSES_SAID])
        more = f"; and {len(open_ones) - LOSSES_SAID} more" if len(open_ones) > LOSSES_SAID else ""
        raise Unavailable(f"a person has to decide first: {words}{more}", code="loss")


def _refuse_placeholders(found: list[Successor]) -> None:
    for one in found:
        if any(True for _ in placeholder_paths(one.body)):
            raise Unavailable(f"{one.target.said} still holds a placeholder: name the node role", code="loss")

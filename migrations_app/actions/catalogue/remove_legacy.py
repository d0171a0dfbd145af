"""Deletes alpha objects that nothing depends on, and the CRDs of alpha kinds without remaining objects."""

from collections.abc import Iterator

import msgspec

from migrations_app.actions.base import Action, Parameters, PlanningContext, Unavailable
from migrations_app.actions.changes import ObjectTarget, Risk, creation, deletion
from migrations_app.actions.conditions import Deleted, Exists, Field
from migrations_app.actions.plan import Forecast, ListLimit, Step
from migrations_app.actions.targets.crds import PARTS, crd_need, crd_target, find_crd, kind_need, object_target
from migrations_app.actions.targets.pools import (
    machines_of,
    nodes_of,
    reverting_tool,
    served_version,
    templates_used,
    without_successor,
)
from migrations_app.actions.undo import restorable
from migrations_app.inventory.inventory import Inventory
from migrations_app.inventory.objects.karpenter import NamedObject, Provisioner
from migrations_app.karpenter import kinds
from migrations_app.karpenter.kinds import Kind
from migrations_app.karpenter.releases import serves

DELETED = (kinds.PROVISIONER, kinds.AWS_NODE_TEMPLATE)
"""Never Machines: deleting them terminates instances. They are removed with their nodes."""

action = Action(
    __name__,
    title="Delete legacy alpha objects",
    button="Delete {objects} legacy alpha objects",
    why="Once no Provisioner owns a node, alpha objects are no longer used; the cluster still counts as migrating.",
    risk="destructive",
    parts=("crds", "provisioners", "awsnodetemplates", "machines", "nodes", "nodepools", "controller"),
    may=(
        *(kind_need(verb, kind) for kind in DELETED for verb in ("create", "delete")),
        *(crd_need(verb) for verb in ("create", "delete")),
    ),
    typed=True,
    sources=("aws/karpenter-provider-aws@v1.14.1:website/content/en/v1.0/upgrading/v1beta1-migration.md",),
)


@action.reads
def reads(inventory: Inventory, _parameters: Parameters) -> Iterator[ObjectTarget]:
    for kind in DELETED:
        yield from (_target(kind, named_object) for named_object in _items(inventory, kind))
    yield from (crd_target(kind.crd_name) for kind in kinds.ALPHA_KINDS if find_crd(inventory, kind.crd_name))


@action.prepare
def prepare(context: PlanningContext, _parameters: Parameters) -> Iterator[Step]:
    inventory, alpha_in_use = context.inventory, _acts_on_alpha(context)
    kept = _kept(inventory, in_use=alpha_in_use)
    unused = [provisioner for provisioner in inventory.provisioners.items if provisioner.name not in kept]
    used = templates_used(inventory, without={provisioner.name for provisioner in unused})
    templates = [template for template in inventory.awsnodetemplates.items if template.name not in used]
    yield from (_delete_object(context, kinds.PROVISIONER, named_object=provisioner) for provisioner in unused)
    yield from (_delete_object(context, kinds.AWS_NODE_TEMPLATE, named_object=template) for template in templates)
    found = [kind for kind in kinds.ALPHA_KINDS if not alpha_in_use and find_crd(inventory, kind.crd_name)]
    empty = [kind for kind in found if not _items(inventory, kind)]
    yield from (_delete_crd(context, kind) for kind in empty)
    if kept and not (unused or templates or empty):
        raise Unavailable("; ".join([*kept.values()][:5]), code="in_use")


@action.forecasts
def forecast_steps(context: PlanningContext, parameters: Parameters) -> Forecast:
    """The forecast: no node moves, because only objects without nodes are deleted."""
    changes = (step.change for step in prepare(context, parameters) if step.change)
    crds = [change.target.name for change in changes if change.target.kind == kinds.CRD.kind]
    return Forecast(cannot_be_undone=tuple(f"a re-made {name} gets another uid" for name in crds))


def _acts_on_alpha(context: PlanningContext) -> bool:
    """Whether the running release still acts on alpha objects as well as beta. Raises Unavailable if it acts on alpha
    only.
    """
    release = context.running.release
    alpha, beta = (serves(release, name) if release else None for name in ("alpha", "beta"))
    if alpha is None:
        raise Unavailable("whether the running release acts on alpha objects is not known", code="unknown_release")
    if alpha and not (beta and context.inventory.nodepools.count):
        raise Unavailable(f"{release} launches nodes by Provisioners, and no NodePool is there", code="in_use")
    return alpha


def _kept_by(inventory: Inventory, provisioner: Provisioner, *, in_use: bool) -> str:
    """Why the Provisioner stays: what depends on it, or who else would launch its nodes; empty if it can go."""
    nodes, machines = nodes_of(inventory, provisioner.name), machines_of(inventory, provisioner.name)
    if nodes or machines:
        return f"Provisioner {provisioner.name} has {nodes} nodes and {machines} Machines"
    return without_successor(inventory, provisioner) if in_use else ""


def _kept(inventory: Inventory, *, in_use: bool) -> dict[str, str]:
    """The Provisioners that stay, by name, each with the reason."""
    reasons = {one.name: _kept_by(inventory, one, in_use=in_use) for one in inventory.provisioners.items}
    return {name: reason for name, reason in reasons.items() if reason}


def _items(inventory: Inventory, kind: Kind) -> tuple[NamedObject, ...]:
    return tuple(item for item in inventory.part(PARTS[kind]).items if isinstance(item, NamedObject))


def _target(kind: Kind, named_object: NamedObject) -> ObjectTarget:
    return object_target(kind, kind.versions[0], name=named_object.name)


def _delete_object(context: PlanningContext, kind: Kind, *, named_object: NamedObject) -> Step:
    preconditions: tuple[Field, ...] = (("spec",), ("status", "resources"))
    step = _delete(
        context,
        _target(kind, named_object),
        uid=named_object.metadata.uid or "",
        preconditions=preconditions,
        risk="destructive",
    )
    return msgspec.structs.replace(step, manager=reverting_tool(named_object.metadata), note="Nothing depends on it.")


def _delete_crd(context: PlanningContext, kind: Kind) -> Step:
    crd = find_crd(context.inventory, kind.crd_name)
    uid, preconditions = (crd.metadata.uid or "") if crd else "", (("spec", "versions"), ("status", "storedVersions"))
    step = _delete(context, crd_target(kind.crd_name), uid=uid, preconditions=preconditions, risk="destructive")
    note = f"No {kind.kind} is left. If one is made until then, the rollout pauses before this step."
    version = served_version(context.inventory, PARTS[kind]) or kind.versions[0]
    none_left = ListLimit(group=kind.group, version=version, plural=kind.plural, what=f"objects of {kind.crd_name}")
    return msgspec.structs.replace(
        step, manager=reverting_tool(crd.metadata) if crd else "", note=note, at_most=(none_left,)
    )


def _delete(
    context: PlanningContext, target: ObjectTarget, *, uid: str, preconditions: tuple[Field, ...], risk: Risk
) -> Step:
    read = context.objects.get(target)
    return Step(
        id="",
        title=f"Delete {target.display_name}",
        change=deletion(msgspec.structs.replace(target, uid=uid)),
        preconditions=preconditions,
        postconditions=(Deleted(),),
        undo=creation(target, restorable(read)) if read else None,
        undo_postconditions=(Exists(),) if read else (),
        risk=risk,
    )

"""Creates or updates the NodePools and EC2NodeClasses that the cluster's own objects convert to, without force."""

from collections.abc import Iterator

from migrations_app.actions.base import Action, Parameter, Parameters, PlanningContext, Unavailable, refuse_unread
from migrations_app.actions.changes import ObjectTarget, RbacNeed
from migrations_app.actions.conditions import all_hold
from migrations_app.actions.patches import apply_step, create_step, patch_step
from migrations_app.actions.plan import Forecast, Step
from migrations_app.actions.targets import pools
from migrations_app.actions.targets.nodes import counted, nodes_by_pool
from migrations_app.actions.targets.pools import Successor, object_of, reverting_tool, successors
from migrations_app.actions.targets.successors import fields_gone, linked, sources_of
from migrations_app.actions.targets.workloads import with_uid
from migrations_app.inventory.facts.managers import managed
from migrations_app.inventory.inventory import Inventory
from migrations_app.karpenter import kinds
from migrations_app.karpenter.hops import ALPHA_LEFT, BETA_LEFT
from migrations_app.manifests import JsonMap

ROWS = (kinds.EC2_NODE_CLASS, kinds.NODE_POOL)
SOURCES = (kinds.PROVISIONER, kinds.AWS_NODE_TEMPLATE)
"""Kinds that are converted but not written. Each step reads their objects again before its request."""
MAX_WARNINGS_SHOWN = 3

action = Action(
    __name__,
    title="Apply converted NodePools and EC2NodeClasses",
    button="Apply converted NodePools and EC2NodeClasses",
    why="What the next release reads has to be there before nodes can move to it.",
    risk="medium",
    parts=("crds", "provisioners", "awsnodetemplates", "nodepools", "ec2nodeclasses"),
    may=(
        *(
            RbacNeed(verb=verb, group=row.group, plural=row.plural)
            for row in ROWS
            for verb in ("create", "delete", "patch")
        ),
        *(RbacNeed(verb="get", group=row.group, plural=row.plural) for row in SOURCES),
    ),
    parameters=(
        Parameter("provisioners", "Provisioners (default: all)", False, of="provisioners", many=True),
        Parameter("nodepools", "NodePools (default: all)", False, of="nodepools", many=True),
        Parameter("node_role", "IAM role of the nodes, where no object names it", False),
        Parameter("keep_instance_profile", "Keep instance profiles instead of roles", False, False),
    ),
    hops=("0.32", ALPHA_LEFT, BETA_LEFT),
    sources=(
        "aws/karpenter-provider-aws@v0.37.8:website/content/en/v0.32/upgrading/v1beta1-migration.md",
        "aws/karpenter-provider-aws@v1.3.0:website/content/en/v1.0/upgrading/v1-migration.md",
    ),
)


@action.reads
def reads(inventory: Inventory, parameters: Parameters) -> Iterator[ObjectTarget]:
    """The converted objects, which may exist already."""
    for name in action.parts:
        refuse_unread(inventory.part(name), name)
    for successor in successors(inventory, parameters):
        _refuse_unserved(inventory, successor.target)
        yield successor.target


@action.prepare
def prepare(context: PlanningContext, parameters: Parameters) -> Iterator[Step]:
    written: dict[tuple[str, str], Step] = {}
    for successor in successors(context.inventory, parameters):
        sources = sources_of(context.inventory, successor)
        for step in _steps(context, successor):
            yield linked(step, sources, written=written)
            written.setdefault((successor.target.kind, successor.target.name), step)


def _steps(context: PlanningContext, successor: Successor) -> Iterator[Step]:
    _refuse_unserved(context.inventory, successor.target)
    read = context.objects.get(successor.target)
    if read is None:
        yield _create(context.inventory, successor)
    else:
        yield from _update_steps(context.inventory, successor, read=read)


def _refuse_unserved(inventory: Inventory, target: ObjectTarget) -> None:
    name = f"{target.plural}.{target.group}"
    crd = next((row for row in inventory.crds.items if row.name == name), None)
    if crd is None or target.version not in crd.served:
        words = f"the cluster serves no {target.kind} of {target.version}: upgrade the CRDs first"
        raise Unavailable(words, code="not_served")


def _create(inventory: Inventory, successor: Successor) -> Step:
    is_pool = successor.target.kind == kinds.NODE_POOL.kind
    source = f"{successor.item.kind} {successor.item.name}"
    source_object = object_of(inventory, successor.item.kind, name=successor.item.name)
    by = managed(source_object.metadata).by if source_object else "hand"
    keeper_note = f"{source} is kept by {by}: add this object there too" if by != "hand" else ""
    note = "pods may run on it at once; its undo drains the nodes that it launched" if is_pool else ""
    return create_step(
        successor.target,
        successor.body,
        title=f"Create {successor.target.display_name} from {source}",
        risk="medium" if is_pool else "low",
        note=pools.joined(note, keeper_note, *_warnings(successor)),
    )


def _update_steps(inventory: Inventory, successor: Successor, *, read: JsonMap) -> Iterator[Step]:
    """Server-side apply over the existing object; fields to remove are not owned by karpdash, so a separate patch
    removes them.
    """
    target = with_uid(successor.target, read)
    existing = object_of(inventory, target.kind, name=target.name)
    by = reverting_tool(existing.metadata) if existing else ""
    note = pools.joined(
        pools.source_note(existing.metadata) if existing else "", _nodes(inventory, successor), *_warnings(successor)
    )
    step = apply_step(
        target, read, body=successor.body, title=f"Apply {target.display_name} as {target.version}", risk="high",
        manager=by, note=note,
    )  # fmt: skip
    if not all_hold(step.postconditions, read):
        yield step
    removal_patch = fields_gone(successor)
    if removal_patch:
        title = f"Take out of {target.display_name} what its new form does not have"
        yield patch_step(target, read, patch=removal_patch, title=title, risk="high", manager=by, note=note)


def _nodes(inventory: Inventory, successor: Successor) -> str:
    node_count = nodes_by_pool(inventory)[successor.target.name] if successor.target.kind == kinds.NODE_POOL.kind else 0
    return f"{counted(node_count, 'node')} may drift by it" if node_count else ""


def _warnings(successor: Successor) -> tuple[str, ...]:
    more = len(successor.warnings) - MAX_WARNINGS_SHOWN
    return (*successor.warnings[:MAX_WARNINGS_SHOWN], f"and {more} more warnings of the conversion" if more > 0 else "")


@action.forecasts
def forecast_steps(context: PlanningContext, parameters: Parameters) -> Forecast:
    """Counts the nodes of the pools that are written. A pool that already has its new form is not written."""
    changes = [step.change for step in prepare(context, parameters) if step.change and step.change.verb != "create"]
    pooled = {change.target.name for change in changes if change.target.kind == kinds.NODE_POOL.kind}
    sizes = nodes_by_pool(context.inventory)
    return Forecast(nodes=sum(sizes[name] for name in pooled), pods=None if pooled else 0)

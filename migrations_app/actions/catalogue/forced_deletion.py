"""Deletes an old pool with everything it owns: all its nodes drain at once, without replacements first."""

from collections.abc import Iterator

import msgspec

from migrations_app.actions.base import Action, Parameter, Parameters, PlanningContext, Unavailable
from migrations_app.actions.changes import RbacNeed
from migrations_app.actions.patches import delete_step
from migrations_app.actions.plan import Forecast, Step
from migrations_app.actions.targets import new_nodes, nodes, pools
from migrations_app.actions.targets.nodes import NodeRemoval
from migrations_app.actions.targets.pool_nodes import gate_after_deletion, node_limits
from migrations_app.actions.targets.pools import reverting_tool
from migrations_app.actions.targets.successors import source_of
from migrations_app.inventory.inventory import Inventory
from migrations_app.inventory.objects.karpenter import NodePool, Provisioner
from migrations_app.karpenter import kinds
from migrations_app.karpenter.releases import serves

PRECONDITIONS = (("spec",),)
IRREVERSIBLE = "nothing undoes this: the object, its claims and its nodes are gone"

action = Action(
    __name__,
    title="Force-delete a pool and all its nodes",
    button="Force-delete pools with {nodes} nodes",
    why="Last resort, where nodes neither drift nor can be rolled: they go before their replacements exist.",
    risk="destructive",
    parts=("provisioners", "nodepools", "nodes", "machines", "nodeclaims", "pods", "controller_pods"),
    may=(
        RbacNeed(verb="delete", group=kinds.PROVISIONER.group, plural=kinds.PROVISIONER.plural),
        *(
            RbacNeed(verb=verb, group=kinds.NODE_POOL.group, plural=kinds.NODE_POOL.plural)
            for verb in ("delete", "get")
        ),
    ),
    parameters=(
        Parameter("provisioners", "Provisioners to delete", False, of="provisioners", many=True),
        Parameter("nodepools", "NodePools to delete", False, of="nodepools", many=True),
    ),
    typed=True,
    sources=(
        "aws/karpenter-provider-aws@v1.14.1:website/content/en/v1.0/upgrading/v1beta1-migration.md",
        "Kubernetes documentation, Garbage Collection, foreground cascading deletion",
    ),
)

OldPool = Provisioner | NodePool


@action.prepare
def prepare(context: PlanningContext, parameters: Parameters) -> Iterator[Step]:
    chosen = _chosen(context.inventory, parameters)
    nodes.refuse_controllers(
        context.inventory, {node.name for old_pool in chosen for node in _nodes_of(context.inventory, old_pool)}
    )
    for old_pool in chosen:
        old_nodes = _nodes_of(context.inventory, old_pool)
        step = _delete(context, old_pool, many=len(old_nodes))
        if old_nodes:
            _refuse_unserved(context, old_pool)
            successor = pools.successor_pool(context.inventory, old_pool, without=chosen)
            step = msgspec.structs.replace(step, computed_from=(source_of(context.inventory, successor),))
        yield step


def _chosen(inventory: Inventory, parameters: Parameters) -> tuple[OldPool, ...]:
    """The named pools that are not being deleted. Only named pools are deleted."""
    objects: list[OldPool] = []
    if pools.chosen_names(parameters, "provisioners"):
        objects += pools.chosen(inventory.provisioners.items, parameters, name="provisioners")
    if pools.chosen_names(parameters, "nodepools"):
        objects += pools.chosen(pools.living_pools(inventory), parameters, name="nodepools")
    standing = tuple(item for item in objects if not item.metadata.deleting)
    if not standing:
        raise Unavailable("name the Provisioner or NodePool to delete", code="nothing_chosen")
    return standing


def _nodes_of(inventory: Inventory, old_pool: OldPool) -> tuple[NodeRemoval, ...]:
    is_alpha = isinstance(old_pool, Provisioner)
    removals = nodes.karpenter_nodes(inventory)
    return tuple(
        node_removal
        for node_removal in removals
        if node_removal.owned.pool == old_pool.name and (node_removal.owned.owner == nodes.ALPHA) is is_alpha
    )


def _refuse_unserved(context: PlanningContext, old_pool: OldPool) -> None:
    """Raises Unavailable if the running release acts on no object of that generation: its claims would stay terminating
    for ever, and its nodes would run on."""
    running, kind = context.running.release, "Provisioner" if isinstance(old_pool, Provisioner) else "NodePool"
    generations = ("alpha",) if isinstance(old_pool, Provisioner) else ("beta", "v1")
    if running is not None and all(serves(running, generation) is False for generation in generations):
        words = f"{running} acts on no {kind}: it would drain and end none of its nodes"
        raise Unavailable(words, code="wrong_release")


def _delete(context: PlanningContext, old_pool: OldPool, *, many: int) -> Step:
    row = kinds.PROVISIONER if isinstance(old_pool, Provisioner) else kinds.NODE_POOL
    target = pools.target_of(row, old_pool, version=pools.served_version(context.inventory, row.plural))
    return delete_step(
        target,
        foreground=True,
        preconditions=PRECONDITIONS,
        title=f"Delete {target.display_name} with {nodes.counted(many, 'node')} at once",
        risk="destructive",
        manager=reverting_tool(old_pool.metadata),
        after=gate_after_deletion(target),
        note=pools.joined(IRREVERSIBLE, pools.source_note(old_pool.metadata)),
        at_most=tuple(node_limits(context.inventory, row.kind, name=old_pool.name)),
    )


@action.forecasts
def forecast_steps(context: PlanningContext, parameters: Parameters) -> Forecast:
    chosen = _chosen(context.inventory, parameters)
    removals = [node_removal for old_pool in chosen for node_removal in _nodes_of(context.inventory, old_pool)]
    node_names = {node_removal.name for node_removal in removals}
    lost = tuple(
        f"{'Provisioner' if isinstance(old_pool, Provisioner) else 'NodePool'} {old_pool.name}" for old_pool in chosen
    )
    everything = (*lost, f"{nodes.counted(len(node_names), 'node')}, all at once")
    held = nodes.held_pods(context.inventory, node_names, running=context.running.release)
    beside = new_nodes.differences(context.inventory, removals)
    return nodes.forecast(context.inventory, node_names, lost=everything, also=held, beside=beside)

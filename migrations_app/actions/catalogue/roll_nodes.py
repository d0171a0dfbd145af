"""Replaces nodes in batches: each node is deleted, its finalizer drains it, and the next batch waits for the gate."""

from collections.abc import Iterator, Sequence

import msgspec

from migrations_app.actions.base import Action, Parameter, Parameters, PlanningContext, Unavailable
from migrations_app.actions.changes import RbacNeed
from migrations_app.actions.gate import Gate
from migrations_app.actions.patches import delete_step
from migrations_app.actions.plan import Forecast, RolloutLimits, Step
from migrations_app.actions.targets import drift, new_nodes, nodes, pools
from migrations_app.actions.targets.nodes import NodeRemoval
from migrations_app.errors import InvalidInput
from migrations_app.inventory.inventory import Inventory
from migrations_app.inventory.objects.karpenter import Provisioner
from migrations_app.karpenter import kinds, labels
from migrations_app.karpenter.release_facts import DRAIN_TAINT

GATE_SECONDS = 900
PRECONDITIONS = (
    ("metadata", "finalizers"),
    ("metadata", "labels", labels.PROVISIONER_NAME),
    ("metadata", "labels", labels.NODEPOOL),
    *(("metadata", "annotations", key) for key in nodes.PROTECTING_NODES),
)
"""The fields that show what drains the node, who owns it, and what would protect it."""

action = Action(
    __name__,
    title="Roll nodes in batches",
    button="Roll {nodes} nodes in batches",
    why="Also nodes that neither drift nor expire are replaced, and every batch waits for the one before it.",
    risk="high",
    parts=("nodes", "machines", "nodeclaims", "pods", "controller_pods", "provisioners", "nodepools"),
    may=(
        RbacNeed(verb="delete", group=kinds.NODE.group, plural=kinds.NODE.plural),
        RbacNeed(verb="patch", group=kinds.PROVISIONER.group, plural=kinds.PROVISIONER.plural),
    ),
    parameters=(
        Parameter("nodes", "Roll (default: nodes of Provisioners)", False, of="nodes", many=True),
        Parameter("pools", "Pools whose nodes are all rolled", False, many=True),
        Parameter("without", "Skip", False, of="nodes", many=True, excludes="nodes"),
        Parameter("batch", "Batch size", False),
        Parameter("with_protected", "Include despite do-not-disrupt pods", False, of="nodes", many=True),
        Parameter("with_local_data", "Allow loss of local data", False, False),
    ),
    sources=(DRAIN_TAINT.source, "kubernetes-sigs/karpenter@v0.32.10:pkg/controllers/termination/controller.go"),
)


@action.prepare
def prepare(context: PlanningContext, parameters: Parameters) -> Iterator[Step]:
    inventory, going = context.inventory, _chosen_nodes(context.inventory, parameters)
    names = {node.name for node in going}
    nodes.refuse_without_finalizer(going)
    nodes.refuse_controllers(inventory, names)
    listed = set(pools.chosen_names(parameters, "with_protected"))
    local_data = parameters.get("with_local_data") is True
    nodes.refuse_stuck_pods(inventory, names - listed, local_data=local_data, running=context.running.release)
    tainted = _to_taint(context, going)
    drifting = drift.drifting_nodes(context, tainted)
    yield from (_taint(pool, drifting=drifting) for pool in tainted)
    ordered = nodes.emptiest_first(inventory, going)
    for batch in nodes.batches(ordered, _limits(context, parameters), every=nodes.karpenter_nodes(inventory)):
        for node in batch:
            yield _roll(node, batch=batch, drifting=len(drifting))


def _chosen_nodes(inventory: Inventory, parameters: Parameters) -> Sequence[NodeRemoval]:
    """The chosen nodes; by default all nodes of Machines."""
    all_nodes = nodes.karpenter_nodes(inventory)
    by_name = set(pools.chosen_names(parameters, "nodes"))
    _refuse_unknown(by_name, {node.name for node in all_nodes}, where="nodes")
    by_pool = pools.chosen_owners(parameters, existing={node.pool for node in all_nodes})
    if by_name or by_pool:
        chosen = [node for node in all_nodes if node.name in by_name or node.pool in by_pool]
    else:
        chosen = [node for node in all_nodes if node.owned.owner == nodes.ALPHA]
    skipped = set(pools.chosen_names(parameters, "without"))
    going = [node for node in chosen if node.name not in skipped]
    if not going:
        raise Unavailable("there is no node to replace", code="nothing_to_do")
    return going


def _refuse_unknown(names: set[str], existing: set[str], *, where: str) -> None:
    missing = sorted(names - existing)
    if missing:
        raise InvalidInput(f"not among Karpenter's nodes: {nodes.name_list(missing)}", where=where, code="unknown_name")


def _limits(context: PlanningContext, parameters: Parameters) -> RolloutLimits:
    most, size = context.limits.batch, parameters.get("batch")
    if size is None:
        return context.limits
    if not isinstance(size, int) or isinstance(size, bool) or not 1 <= size <= most:
        raise InvalidInput(f"enter a whole number from 1 to {most}", where="batch", code="bad_parameter")
    return msgspec.structs.replace(context.limits, batch=size)


def _to_taint(context: PlanningContext, going: Sequence[NodeRemoval]) -> list[Provisioner]:
    """The Provisioners to taint first; otherwise they would launch the replacements as Machines again."""
    owners = {node.owned.pool for node in going if node.owned.owner == nodes.ALPHA}
    old = [pool for pool in context.inventory.provisioners.items if pool.name in owners and not pool.metadata.deleting]
    if owners:
        pools.refuse_other_release(context)
        pools.refuse_without_successor(context.inventory, old)
        _refuse_without_nodepool(context.inventory)
    return [pool for pool in old if not pools.has_drain_taint(pool)]


def _refuse_without_nodepool(inventory: Inventory) -> None:
    """Raises Unavailable without a ready NodePool: the pods of a deleted Provisioner would stay pending."""
    if not any(pools.is_ready(pool) for pool in pools.living_pools(inventory)):
        raise Unavailable("no NodePool is ready to launch the replacement nodes", code="no_successor")


def _taint(pool: Provisioner, *, drifting: Sequence[NodeRemoval]) -> Step:
    title = f"Taint Provisioner {pool.name}: it launches no more nodes for these pods"
    return pools.taint_step(pool, title=title, note=drift.note(row for row in drifting if row.owned.pool == pool.name))


def _roll(node: NodeRemoval, *, batch: Sequence[NodeRemoval], drifting: int) -> Step:
    """The next batch waits until no node is draining, so that both batch and drift do not run at the same time."""
    targets, seconds = tuple(row.target for row in batch), GATE_SECONDS + drift.SECONDS_A_NODE * drifting
    gate = Gate(gone=targets, replaced=True, pending_above=0, seconds=seconds, no_drains=drifting > 0)
    return delete_step(
        node.target,
        preconditions=PRECONDITIONS,
        title=f"Drain and replace node {node.name} of {node.owned.pool or 'no pool'}",
        risk="high",
        after=gate if node is batch[-1] else None,
        note="a deleted node does not come back; its pods are evicted within their budgets",
    )


@action.forecasts
def forecast_steps(context: PlanningContext, parameters: Parameters) -> Forecast:
    going = _chosen_nodes(context.inventory, parameters)
    names = {node.name for node in going}
    listed = [name for name in pools.chosen_names(parameters, "with_protected") if name in names]
    also = (f"protected pods run on {nodes.name_list(listed)}: they may hold the drain up",) if listed else ()
    lost = [nodes.counted(len(going), "node")]
    if parameters.get("with_local_data") is True:
        lost.append("data on the nodes' own disks")
    drifting = drift.drifting_nodes(context, _to_taint(context, going))
    moving = {node.name for node in (*going, *drifting)}
    beside = (drift.note(drifting), *new_nodes.differences(context.inventory, going))
    return nodes.forecast(context.inventory, moving, lost=tuple(lost), also=also, beside=beside)

"""Taints Provisioners so that their nodes drift or expire, and NodePools launch the replacements."""

from collections.abc import Iterator

from migrations_app.actions.base import Action, Parameter, Parameters, PlanningContext, Unavailable
from migrations_app.actions.changes import RbacNeed
from migrations_app.actions.gate import Gate
from migrations_app.actions.plan import Forecast, Step
from migrations_app.actions.targets import drift, new_nodes, nodes, pools
from migrations_app.actions.targets.nodes import NodeRemoval
from migrations_app.errors import InvalidInput
from migrations_app.inventory.inventory import Inventory
from migrations_app.inventory.objects.karpenter import Provisioner
from migrations_app.karpenter import kinds
from migrations_app.karpenter.hops import ALPHA_LEFT
from migrations_app.karpenter.release_facts import DRAIN_TAINT, SHORT_LIFE

LEAST_SECONDS = 3600
"""The watch waits at least this many seconds."""
EXPIRY = "ttlSecondsUntilExpired"
DRIFT, BY_EXPIRY = "drift", "expiry"

action = Action(
    __name__,
    title="Taint Provisioners and let drift replace their nodes",
    button="Taint Provisioners ({nodes} nodes are replaced)",
    why="Nodes of NodePools take over while the old ones drain one by one, within every disruption budget.",
    risk="medium",
    parts=("controller", "provisioners", "machines", "nodes", "nodepools"),
    may=(RbacNeed(verb="patch", group=kinds.PROVISIONER.group, plural=kinds.PROVISIONER.plural),),
    parameters=(
        Parameter("provisioners", "Provisioners (default: all)", False, of="provisioners", many=True),
        Parameter("by", "What replaces the nodes: drift or expiry", False, DRIFT),
        Parameter("seconds", "Seconds until nodes expire", False, SHORT_LIFE.seconds),
    ),
    hops=(ALPHA_LEFT,),
    sources=(DRAIN_TAINT.source, SHORT_LIFE.source, "aws/karpenter-provider-aws#5363"),
)


@action.prepare
def prepare(context: PlanningContext, parameters: Parameters) -> Iterator[Step]:
    pools.refuse_other_release(context)
    by = _replaced_by(parameters)
    provisioners = _chosen_provisioners(context.inventory, parameters)
    pools.refuse_without_successor(context.inventory, provisioners)
    replaced, unreached = _split_nodes(context.inventory, provisioners, by=by)
    if by == DRIFT:
        _refuse_without_drift(context, provisioners, replaced=replaced, unreached=unreached)
    nodes.refuse_controllers(context.inventory, [node_removal.name for node_removal in replaced])
    seconds = _seconds(parameters) if by == BY_EXPIRY else None
    taint_steps = [
        step
        for provisioner in provisioners
        for step in _taint_steps(provisioner, replaced=replaced, unreached=unreached, seconds=seconds)
    ]
    yield from taint_steps
    if replaced:
        yield _watch(context.inventory, replaced, unreached=unreached, compared=bool(taint_steps))


def _replaced_by(parameters: Parameters) -> str:
    by = parameters.get("by") or DRIFT
    if by not in (DRIFT, BY_EXPIRY):
        raise InvalidInput(f"choose {DRIFT} or {BY_EXPIRY}", where="by", code="bad_parameter")
    return str(by)


def _seconds(parameters: Parameters) -> int:
    number = parameters.get("seconds", SHORT_LIFE.seconds)
    if not isinstance(number, int) or isinstance(number, bool) or not SHORT_LIFE.least <= number <= SHORT_LIFE.most:
        words = f"enter a whole number from {SHORT_LIFE.least} to {SHORT_LIFE.most}"
        raise InvalidInput(words, where="seconds", code="bad_parameter")
    return number


def _chosen_provisioners(inventory: Inventory, parameters: Parameters) -> tuple[Provisioner, ...]:
    living = [provisioner for provisioner in inventory.provisioners.items if not provisioner.metadata.deleting]
    if not living:
        raise Unavailable("no Provisioner is left", code="nothing_to_do")
    return pools.chosen(living, parameters, name="provisioners")


def _split_nodes(
    inventory: Inventory, provisioners: tuple[Provisioner, ...], *, by: str
) -> tuple[list[NodeRemoval], list[NodeRemoval]]:
    """The nodes that will be replaced, and the nodes that drift does not reach because they have no hash."""
    removals = list(nodes.alpha_nodes(inventory, {provisioner.name for provisioner in provisioners}))
    replaced = removals if by == BY_EXPIRY else drift.driftable_nodes(inventory, provisioners)
    return replaced, [node_removal for node_removal in removals if node_removal not in replaced]


def _refuse_without_drift(
    context: PlanningContext,
    provisioners: tuple[Provisioner, ...],
    *,
    replaced: list[NodeRemoval],
    unreached: list[NodeRemoval],
) -> None:
    if not drift.is_on(context):
        raise Unavailable("drift is switched off: switch it on, or choose expiry", code="drift_off")
    if unreached and not replaced:
        owners = nodes.name_list(provisioner.name for provisioner in provisioners)
        words = f"none of {nodes.counted(len(unreached), 'node')} of {owners} can drift: they have no hash"
        raise Unavailable(f"{words}; choose expiry, or roll the nodes", code="cannot_drift")


def _taint_steps(
    provisioner: Provisioner, *, replaced: list[NodeRemoval], unreached: list[NodeRemoval], seconds: int | None
) -> Iterator[Step]:
    spec = {} if seconds is None or provisioner.get(f"spec.{EXPIRY}") == seconds else {EXPIRY: seconds}
    tainted = pools.has_drain_taint(provisioner)
    if tainted and not spec:
        return
    own_count = sum(row.owned.pool == provisioner.name for row in replaced)
    node_count = own_count + sum(row.owned.pool == provisioner.name for row in unreached)
    verb = "Taint" if not spec else "Shorten" if tainted else f"Set {EXPIRY} to {seconds} and taint"
    how = "expire" if seconds is not None else "can drift"
    title = f"{verb} Provisioner {provisioner.name}: {own_count} of {nodes.counted(node_count, 'node')} {how}"
    note = "nodes that are replaced meanwhile do not come back when the taint is taken off"
    yield pools.taint_step(provisioner, title=title, spec=spec, note=note)


def _watch(inventory: Inventory, replaced: list[NodeRemoval], *, unreached: list[NodeRemoval], compared: bool) -> Step:
    """The step that waits for the replacement. `compared`: counters from before the first request exist."""
    all_nodes = not unreached and len(replaced) == len(nodes.alpha_nodes(inventory))
    gate = Gate(
        gone=() if all_nodes else tuple(node_removal.target for node_removal in replaced),
        replaced=compared,
        no_legacy_nodes=all_nodes,
        pending_above=0 if compared else None,
        seconds=max(LEAST_SECONDS, drift.SECONDS_A_NODE * len(replaced)),
    )
    title = f"Watch until {nodes.counted(len(replaced), 'node')} went and what replaces them is Ready"
    return Step(id="", title=title, after=gate, note=_rest_note(unreached))


def _rest_note(unreached: list[NodeRemoval]) -> str:
    count, names = nodes.counted(len(unreached), "node"), nodes.name_list(row.name for row in unreached)
    return f"{count} without a hash cannot drift; roll afterwards: {names}" if unreached else ""


@action.forecasts
def forecast_steps(context: PlanningContext, parameters: Parameters) -> Forecast:
    provisioners = _chosen_provisioners(context.inventory, parameters)
    replaced, unreached = _split_nodes(context.inventory, provisioners, by=_replaced_by(parameters))
    lost = (f"{nodes.counted(len(replaced), 'node')}, once replaced",) if replaced else ()
    also = (_rest_note(unreached),) if unreached else ()
    beside = new_nodes.differences(context.inventory, replaced)
    return nodes.forecast(context.inventory, {row.name for row in replaced}, lost=lost, also=also, beside=beside)

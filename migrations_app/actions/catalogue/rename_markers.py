"""Renames retired annotations and labels that protect or place pods, in workloads, pods and nodes."""

from collections.abc import Iterator
from typing import NamedTuple

from migrations_app.actions.base import Action, Parameter, Parameters, PlanningContext
from migrations_app.actions.changes import ObjectTarget, RbacNeed
from migrations_app.actions.conditions import value_at
from migrations_app.actions.patches import between, patch_step, set_at
from migrations_app.actions.plan import Forecast, Step
from migrations_app.actions.targets import pools, workloads
from migrations_app.actions.targets.nodes import group_label, node_target
from migrations_app.actions.targets.pools import reverting_tool
from migrations_app.actions.targets.workloads import OLD, Renaming
from migrations_app.inventory.inventory import WORKLOAD_PARTS, Inventory
from migrations_app.inventory.objects.karpenter import PodGroup
from migrations_app.karpenter import kinds, labels
from migrations_app.karpenter.hops import ALPHA_LEFT, CONVERTED
from migrations_app.manifests import JsonMap

ROWS = (
    kinds.DEPLOYMENT, kinds.STATEFUL_SET, kinds.DAEMON_SET, kinds.CRON_JOB, kinds.JOB, kinds.POD, kinds.NODE,
)  # fmt: skip

action = Action(
    __name__,
    title="Rename deprecated annotations and labels of pods",
    button="Rename deprecated annotations and labels ({pods} pods restart)",
    why="What selects by a retired label stays pending, and what a retired annotation protects is evicted.",
    risk="medium",
    parts=("pods", *WORKLOAD_PARTS, "controller", "nodes", "nodepools"),
    may=tuple(RbacNeed(verb="patch", group=row.group, plural=row.plural) for row in ROWS),
    parameters=(
        Parameter("namespaces", "Namespaces (default: all)", False, many=True),
        Parameter("marks", "Rename do-not-evict and do-not-consolidate", False, True),
        Parameter("placement", f"Rename {OLD} in selectors and affinities", False, True),
        Parameter("pool", "NodePool, where none has the Provisioner's name", False, of="nodepools"),
    ),
    hops=(ALPHA_LEFT, CONVERTED),
    sources=(
        "aws/karpenter-provider-aws@v1.14.1:website/content/en/v1.0/upgrading/v1beta1-migration.md",
        "aws/karpenter-provider-aws@v1.14.1:website/content/en/v1.0/upgrading/v1-migration.md",
    ),
)


class RenameWork(NamedTuple):
    """The steps, the number of pods that restart, and as text what this action cannot change."""

    steps: tuple[Step, ...]
    restarting: int
    left: tuple[str, ...]


@action.reads
def reads(inventory: Inventory, parameters: Parameters) -> Iterator[ObjectTarget]:
    yield from workloads.templates(inventory, parameters)
    for group in workloads.marked_groups(inventory, parameters):
        yield from (workloads.pod_target(group.namespace, name) for name in group.samples)


@action.prepare
def prepare(context: PlanningContext, parameters: Parameters) -> Iterator[Step]:
    yield from _rename_work(context, parameters).steps


@action.forecasts
def forecast_steps(context: PlanningContext, parameters: Parameters) -> Forecast:
    rename_work = _rename_work(context, parameters)
    return Forecast(pods=rename_work.restarting, pods_without_budget=None, blocked=rename_work.left)


def _rename_work(context: PlanningContext, parameters: Parameters) -> RenameWork:
    """Templates come first, since their pods get the new keys at a restart; then other pods, then nodes."""
    steps, restarting, handled = [], 0, set()
    left = [f"Rollout {name}: change its manifest" for name in workloads.argo_rollouts(context.inventory, parameters)]
    renaming = workloads.renaming(context, parameters)
    for target in workloads.templates(context.inventory, parameters):
        read = context.objects.get(target)
        restart_effect = workloads.restart(target, read) if read is not None else None
        if read is None or restart_effect is None or restart_effect.held:
            left.append(f"{target.display_name}: {restart_effect.note if restart_effect else 'is gone'}")
            continue
        patch = between(read, _renamed(target, read, renaming=renaming, parameters=parameters))
        if patch:
            steps.append(_step(target, read, patch=patch, restart=restart_effect))
            restarting += restart_effect.pods
            handled |= {(target.kind, target.namespace, target.name)} if restart_effect.pods else set()
    for group in workloads.marked_groups(context.inventory, parameters):
        if (group.owner_kind, group.namespace, group.owner_name) not in handled:
            steps += _pod_steps(context, group, renaming=renaming)
            left += _pods_left(group)
    return RenameWork((*steps, *_node_steps(context.inventory, parameters, renaming=renaming)), restarting, tuple(left))


def _renamed(target: ObjectTarget, read: JsonMap, *, renaming: Renaming, parameters: Parameters) -> JsonMap:
    field = workloads.template_field(target)
    template = value_at(read, field)
    marks, placement = (workloads.asks(parameters, name) for name in ("marks", "placement"))
    new_template = renaming.template(template if isinstance(template, dict) else {}, marks=marks, placement=placement)
    return set_at(read, field, value=new_template)


def _step(target: ObjectTarget, read: JsonMap, *, patch: JsonMap, restart: workloads.Restart) -> Step:
    metadata, gate = workloads.metadata_of(read), workloads.rollout_gate(target, read, restart=restart)
    return patch_step(
        workloads.with_uid(target, read), read, patch=patch, manager=reverting_tool(metadata),
        title=f"Rename retired keys in the pod template of {target.display_name}: {restart.note}",
        risk="medium" if restart.pods else "low",
        after=gate,
        undo_after=gate,
        note=pools.joined(restart.note, "the undo restarts them" * bool(restart.pods), pools.source_note(metadata)),
    )  # fmt: skip


def _pod_steps(context: PlanningContext, group: PodGroup, *, renaming: Renaming) -> Iterator[Step]:
    for target in (workloads.pod_target(group.namespace, name) for name in group.samples):
        read = context.objects.get(target)
        patch = between(read, read | {"metadata": renaming.metadata(read["metadata"])}) if read else {}
        if read and patch:
            title = f"Mark {target.display_name} with {labels.DO_NOT_DISRUPT}: it does not restart"
            yield patch_step(workloads.with_uid(target, read), read, patch=patch, title=title)


def _pods_left(group: PodGroup) -> Iterator[str]:
    more = group.count - len(group.samples)
    if more > 0:
        yield f"{group_label(group)}: {more} more of its pods keep the old mark alone until they restart"


def _node_steps(inventory: Inventory, parameters: Parameters, *, renaming: Renaming) -> Iterator[Step]:
    for node in (
        inventory.nodes.items if workloads.asks(parameters, "marks") and not parameters.get("namespaces") else ()
    ):
        before: JsonMap = {"metadata": {"annotations": dict(node.metadata.annotations or {})}}
        patch = between(before, {"metadata": renaming.metadata(before["metadata"])})
        if patch:
            title = f"Mark node {node.name} with {labels.DO_NOT_DISRUPT}: Karpenter leaves it alone"
            yield patch_step(node_target(node), before, patch=patch, title=title)

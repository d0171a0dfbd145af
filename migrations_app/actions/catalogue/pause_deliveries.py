"""Pauses the deliveries of Flux and Argo CD that would revert a rollout. An annotation keeps their former setting."""

from collections.abc import Iterator

from migrations_app.actions.base import Action, Parameter, Parameters, PlanningContext, Unavailable
from migrations_app.actions.changes import ObjectTarget, RbacNeed
from migrations_app.actions.plan import Step
from migrations_app.actions.targets.deliveries import ROWS, delivery_target
from migrations_app.actions.targets.delivery_switch import NAMES, deliveries_named, pause_step, refuse_owned
from migrations_app.actions.undo import without_uid
from migrations_app.inventory.facts.delivery_sources import syncs_by_itself
from migrations_app.inventory.inventory import Inventory
from migrations_app.inventory.objects.karpenter import GitOpsDelivery

action = Action(
    __name__,
    title="Pause GitOps deliveries of Karpenter",
    button="Pause GitOps deliveries ({count})",
    why="Flux and Argo CD revert changes that others make; paused, they change nothing until they are resumed.",
    risk="medium",
    parts=("deliveries",),
    may=tuple(RbacNeed(verb="patch", group=row.group, plural=row.plural) for row in ROWS.values()),
    parameters=(
        Parameter(NAMES, "Deliveries, as Kind namespace/name (default: all that sync automatically)", False, many=True),
    ),
    role="karpdash-deliveries",
    sources=(
        "fluxcd/kustomize-controller@main:docs/spec/v1/kustomizations.md",
        "fluxcd/helm-controller@main:docs/spec/v2/helmreleases.md",
        "argoproj/argo-cd@master:docs/user-guide/auto_sync.md",
    ),
)


@action.reads
def reads(inventory: Inventory, parameters: Parameters) -> Iterator[ObjectTarget]:
    yield from (without_uid(delivery_target(delivery)) for delivery in _chosen(inventory, parameters))


@action.prepare
def prepare(context: PlanningContext, parameters: Parameters) -> Iterator[Step]:
    deliveries = _chosen(context.inventory, parameters)
    refuse_owned(deliveries)
    for delivery in deliveries:
        read = context.objects.get(without_uid(delivery_target(delivery)))
        if read is None:
            raise Unavailable(f"{delivery.kind} {delivery.name} could not be read, or is gone", code="not_seen")
        yield pause_step(delivery, read)


def _chosen(inventory: Inventory, parameters: Parameters) -> tuple[GitOpsDelivery, ...]:
    """The deliveries that sync by themselves. The others need no pause."""
    return tuple(delivery for delivery in deliveries_named(inventory, parameters) if syncs_by_itself(delivery))

"""Resumes deliveries that karpdash paused, with their settings from before the pause."""

from collections.abc import Iterator

from migrations_app.actions.base import Action, Parameter, Parameters, PlanningContext, Unavailable
from migrations_app.actions.changes import ObjectTarget, RbacNeed
from migrations_app.actions.plan import Step
from migrations_app.actions.targets.deliveries import ROWS, delivery_target
from migrations_app.actions.targets.delivery_switch import NAMES, deliveries_named, resume_step
from migrations_app.actions.undo import without_uid
from migrations_app.inventory.facts.delivery_sources import is_paused_by_us
from migrations_app.inventory.inventory import Inventory
from migrations_app.inventory.objects.karpenter import GitOpsDelivery

AHEAD = "ahead"

action = Action(
    __name__,
    title="Resume GitOps deliveries that were paused",
    button="Resume GitOps deliveries ({count})",
    why="A delivery that stays paused brings nothing any more: neither the next upgrade nor a correction.",
    risk="medium",
    parts=("deliveries",),
    may=tuple(RbacNeed(verb="patch", group=row.group, plural=row.plural) for row in ROWS.values()),
    parameters=(
        Parameter(NAMES, "Deliveries, as Kind namespace/name (default: all that karpdash paused)", False, many=True),
        Parameter(AHEAD, "Also those that are named and not paused yet? A journey plans so ahead of it", False, False),
    ),
    role="karpdash-deliveries",
    sources=("argoproj/argo-cd@master:docs/user-guide/auto_sync.md",),
)


@action.reads
def reads(inventory: Inventory, parameters: Parameters) -> Iterator[ObjectTarget]:
    yield from (without_uid(delivery_target(delivery)) for delivery in _chosen(inventory, parameters))


@action.prepare
def prepare(context: PlanningContext, parameters: Parameters) -> Iterator[Step]:
    for delivery in _chosen(context.inventory, parameters):
        read = context.objects.get(without_uid(delivery_target(delivery)))
        if read is None:
            raise Unavailable(f"{delivery.kind} {delivery.name} could not be read, or is gone", code="not_seen")
        yield resume_step(delivery, read)


def _chosen(inventory: Inventory, parameters: Parameters) -> tuple[GitOpsDelivery, ...]:
    named = bool(parameters.get(NAMES)) and parameters.get(AHEAD) is True
    return tuple(delivery for delivery in deliveries_named(inventory, parameters) if named or is_paused_by_us(delivery))

"""Upgrades Karpenter in the object of Flux or Argo CD that is its source: changes the version and the values there."""

from collections.abc import Iterator

import msgspec

from migrations_app.actions.base import Action, Parameter, Parameters, PlanningContext, Unavailable
from migrations_app.actions.changes import ObjectTarget, PlannedRequest, RbacNeed, merge
from migrations_app.actions.conditions import fields_digest
from migrations_app.actions.patches import field_conditions, patch_step
from migrations_app.actions.plan import Forecast, Step
from migrations_app.actions.targets.crds import release_for
from migrations_app.actions.targets.deliveries import (
    delivery_target,
    place_of,
    refuse_written,
    sync_once,
    the_delivery,
    upgrade_patch,
)
from migrations_app.actions.targets.delivery_sync import is_delivered, settled_gate, undo_gate
from migrations_app.actions.targets.helm_releases import rollback_problem
from migrations_app.actions.undo import without_uid
from migrations_app.inventory.facts.controller import CHART
from migrations_app.inventory.facts.delivery_sources import APPLICATION, ChartDelivery, syncs_by_itself
from migrations_app.inventory.inventory import Inventory
from migrations_app.karpenter import kinds
from migrations_app.karpenter.releases import as_tag
from migrations_app.karpenter.versions import Release, parse
from migrations_app.manifests import JsonMap

KINDS = (kinds.FLUX_HELM_RELEASE, kinds.ARGO_APPLICATION)
WHOLE = (("spec",), ("operation",))
"""The step depends on the whole object: any change of it since the preview stops the step."""

action = Action(
    __name__,
    title="Upgrade Karpenter in the object of Flux or Argo CD",
    button="Upgrade Karpenter in the object of Flux or Argo CD",
    why="Where that object is the source of the release, its version and values are what an upgrade changes.",
    risk="high",
    parts=("controller", "deliveries", "version"),
    may=tuple(RbacNeed(verb="patch", group=row.group, plural=row.plural) for row in KINDS),
    parameters=(
        Parameter("chart", "Chart: karpenter, or karpenter-crd for its CRDs", False, CHART),
        Parameter("release", "Release (default: that of the next upgrade)", False, ""),
    ),
    needs_edits=True,
    role="karpdash-deliveries",
    sources=(
        "fluxcd/helm-controller@main:docs/spec/v2/helmreleases.md",
        "argoproj/argo-cd@master:docs/operator-manual/application.yaml",
    ),
)


@action.reads
def reads(inventory: Inventory, parameters: Parameters) -> Iterator[ObjectTarget]:
    delivery, target_release = _chosen(inventory, parameters), parse(str(parameters.get("release") or ""))
    if (
        target_release is not None
        and parse(delivery.version) == target_release
        and is_delivered(inventory, delivery, release=target_release)
    ):
        # Checked before permissions are: if a person did the upgrade meanwhile, no permission is needed.
        raise Unavailable(f"{delivery.display_name} is at {target_release} already", code="nothing_to_do")
    yield without_uid(delivery_target(delivery.delivery))


@action.prepare
def prepare(context: PlanningContext, parameters: Parameters) -> Iterator[Step]:
    delivery = _chosen(context.inventory, parameters)
    target = delivery_target(delivery.delivery)
    read = context.objects.get(without_uid(target))
    if context.edits is None or read is None:
        raise Unavailable("what a delivery applies can only be read from the cluster itself", code="delivery_only_live")
    refuse_written(delivery, read)
    if read.get("operation") is not None:
        raise Unavailable(f"{delivery.display_name} is being synced: wait until the sync has ended", code="busy")
    to = release_for(context, parameters)
    patch = upgrade_patch(read, place_of(delivery), version=as_tag(to), edits=context.edits)
    if patch == {"spec": {}}:
        raise Unavailable(f"{delivery.display_name} is at {to} already", code="nothing_to_do")
    title = (
        f"Upgrade {delivery.chart} in {delivery.display_name} from {delivery.version or 'no version'} to {as_tag(to)}"
    )
    step = patch_step(
        target, read, patch=patch, title=title, risk="high", after=settled_gate(context.inventory, delivery, to=to)
    )
    yield _with_undo(step, delivery, read=read, to=to)


@action.forecasts
def forecast_steps(context: PlanningContext, parameters: Parameters) -> Forecast:
    """The forecast: no node moves. Gives the reason if the upgrade cannot be undone."""
    reason = _rollback_problem(_chosen(context.inventory, parameters), release_for(context, parameters))
    return Forecast(cannot_be_undone=(reason,) if reason else ())


def _chosen(inventory: Inventory, parameters: Parameters) -> ChartDelivery:
    return the_delivery(inventory, str(parameters.get("chart") or CHART))


def _rollback_problem(delivery: ChartDelivery, to: Release) -> str:
    return rollback_problem(to, parse(delivery.version))


def _with_undo(step: Step, delivery: ChartDelivery, *, read: JsonMap, to: Release) -> Step:
    """The step with what starts a sync, the whole object as precondition, and its undo if a rollback is possible."""
    by_hand = delivery.delivery.kind == APPLICATION and not syncs_by_itself(delivery.delivery)
    starts = sync_once(read) if by_hand else {}
    change, reason = step.change, _rollback_problem(delivery, to)
    note = "It does not sync by itself: the same request starts one sync, which deletes nothing." if by_hand else ""
    notes = (
        note,
        f"karpdash cannot undo it: {reason}." if reason else "Undo: the former version and values.",
    )
    undo: PlannedRequest | None = None
    if change is not None:
        change = merge(change.target, change.body | starts)
        undo = merge(change.target, step.undo.body | starts) if step.undo and not reason else None
    return msgspec.structs.replace(
        step,
        change=change,
        preconditions=WHOLE,
        digest=fields_digest(read, WHOLE),
        undo=undo,
        undo_postconditions=field_conditions(step.undo.body) if step.undo and undo else (),
        undo_after=undo_gate(step.after, delivery) if undo and step.after else None,
        note=" ".join(filter(None, notes)),
    )

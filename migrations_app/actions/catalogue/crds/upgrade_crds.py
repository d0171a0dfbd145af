"""Upgrades the CRDs to those of a release's chart, which Helm never does. Removes no CRD and no stored version."""

from collections.abc import Iterator

import msgspec

from migrations_app.actions.base import Action, Parameter, Parameters, PlanningContext, Unavailable
from migrations_app.actions.changes import ObjectTarget
from migrations_app.actions.conditions import value_at
from migrations_app.actions.plan import Forecast, Step
from migrations_app.actions.targets.crd_upgrade import creating_crd, upgrading_crd, with_note
from migrations_app.actions.targets.crds import (
    PARTS,
    crd_need,
    crd_target,
    crds_of,
    find_crd,
    origin,
    release_for,
    with_conversion,
)
from migrations_app.actions.targets.pools import reverting_tool
from migrations_app.inventory.facts.controller import CRD_CHART
from migrations_app.inventory.facts.managers import managed
from migrations_app.inventory.inventory import Inventory
from migrations_app.karpenter import kinds, labels
from migrations_app.karpenter.versions import Release
from migrations_app.manifests import JsonMap

OCI = "oci"
SHARED = frozenset({kinds.CAPACITY_BUFFER.crd_name})
"""CRDs that other projects install as well: an existing one is left to them."""

action = Action(
    __name__,
    title="Upgrade the CRDs to the next release",
    button="Upgrade {count} CRDs to the next release",
    why="Helm never upgrades CRDs, and the new controller cannot list kinds or versions that are not served.",
    risk="medium",
    parts=("crds", "controller", "version"),
    may=(crd_need("create"), crd_need("patch")),
    parameters=(
        Parameter(
            "source",
            "Chart source: oci, or the name of a .tgz or folder in the data folder's charts/",
            False,
            OCI,
        ),
        Parameter("release", "Release (default: that of the next upgrade)", False, ""),
    ),
    needs_chart=True,
    sources=(
        "aws/karpenter-provider-aws@v1.14.1:website/content/en/v1.0/upgrading/upgrade-guide.md",
        "aws/karpenter-provider-aws@v1.0.9:charts/karpenter/crds",
    ),
)


@action.reads
def reads(_inventory: Inventory, _parameters: Parameters) -> Iterator[ObjectTarget]:
    return (crd_target(kind.crd_name) for kind in kinds.KARPENTER_KINDS)


@action.prepare
def prepare(context: PlanningContext, parameters: Parameters) -> Iterator[Step]:
    release = release_for(context, parameters)
    for name, shipped in crds_of(context.files, release).items():
        before = context.objects.get(crd_target(name))
        if before is not None and name in SHARED:
            continue
        step = _step(context, shipped, before=before, release=release)
        if step is not None:
            yield with_note(step, f"From {origin(context.files)}.", _alpha(context.inventory))


@action.forecasts
def forecast_steps(context: PlanningContext, parameters: Parameters) -> Forecast:
    """The forecast: no node and no pod moves; created CRDs stay."""
    shipped = crds_of(context.files, release_for(context, parameters))
    new = [name for name in shipped if crd_target(name) not in context.objects]
    return Forecast(cannot_be_undone=tuple(f"{name} stays once it was made" for name in new))


def _step(context: PlanningContext, shipped: JsonMap, *, before: JsonMap | None, release: Release) -> Step | None:
    name = str(value_at(shipped, ("metadata", "name")))
    new_crd = with_conversion(shipped, before, inventory=context.inventory, release=release)
    if before is None:
        return creating_crd(crd_target(name), new_crd, marks=_marks(context.inventory), release=release)
    if value_at(before, ("metadata", "deletionTimestamp")):
        raise Unavailable(f"{name} is being deleted", code="terminating")
    uid = str(value_at(before, ("metadata", "uid")) or "")
    step = upgrading_crd(crd_target(name, uid), before, after=new_crd, release=release)
    crd = find_crd(context.inventory, name)
    return msgspec.structs.replace(step, manager=reverting_tool(crd.metadata)) if step and crd else step


def _marks(inventory: Inventory) -> JsonMap:
    """The marks of the Helm release that owns the other CRDs: Helm refuses to upgrade over a CRD without them."""
    for crd in inventory.crds.items:
        by = managed(crd.metadata)
        if by.by == "helm" and by.name == CRD_CHART and by.namespace:
            owner = {labels.HELM_RELEASE_NAME: by.name, labels.HELM_RELEASE_NAMESPACE: by.namespace}
            return {"labels": {labels.APP_MANAGED_BY: "Helm"}, "annotations": owner}
    return {}


def _alpha(inventory: Inventory) -> str:
    """The note about alpha CRDs: they stay unchanged, with or without objects."""
    kinds_present = [kind for kind in kinds.ALPHA_KINDS if find_crd(inventory, kind.crd_name)]
    left = sum(inventory.part(PARTS[kind]).count or 0 for kind in kinds_present)
    return f"Alpha CRDs stay, with {left} objects." if left else ""

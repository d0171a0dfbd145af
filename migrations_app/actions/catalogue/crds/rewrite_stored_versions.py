"""Rewrites every object as v1, then removes v1beta1 from the CRDs' stored versions."""

from collections.abc import Collection, Iterable, Iterator

import msgspec

from migrations_app.actions.base import Action, Parameter, Parameters, PlanningContext, Unavailable, refuse_unread
from migrations_app.actions.changes import merge
from migrations_app.actions.conditions import FieldEquals
from migrations_app.actions.patches import patch_step
from migrations_app.actions.plan import Forecast, Step
from migrations_app.actions.targets.crds import PARTS, crd_need, find_crd, kind_need, object_target, target_of
from migrations_app.actions.targets.nodes import name_list
from migrations_app.actions.targets.pools import reverting_tool
from migrations_app.errors import InvalidInput
from migrations_app.inventory.inventory import Inventory
from migrations_app.inventory.objects.karpenter import CRD, NamedObject
from migrations_app.karpenter import kinds, labels
from migrations_app.karpenter.hops import BETA_LEFT, hops_from
from migrations_app.karpenter.kinds import Kind

STORED = ("status", "storedVersions")
NEW = "v1"
TOUCHED = "true"

action = Action(
    __name__,
    title="Rewrite stored objects as v1",
    button="Rewrite stored objects as v1",
    why="CRDs without v1beta1 are refused while it is listed as stored, and what is stored in it could not be read.",
    risk="medium",
    parts=("crds", *(PARTS[kind] for kind in kinds.CURRENT_KINDS)),
    may=(*(kind_need("patch", kind) for kind in kinds.CURRENT_KINDS), crd_need("patch", "status")),
    parameters=(
        Parameter("leave_out", "Objects to skip, as Kind/name; their CRD keeps its stored versions", False, many=True),
    ),
    hops=hops_from(BETA_LEFT),
    sources=(
        "kubernetes-sigs/karpenter@v1.0.9:pkg/controllers/migration/resource/controller.go",
        "kubernetes-sigs/karpenter@v1.0.9:pkg/controllers/migration/crd/controller.go",
        "Kubernetes documentation, Versions in CustomResourceDefinitions",
    ),
)


@action.prepare
def prepare(context: PlanningContext, parameters: Parameters) -> Iterator[Step]:
    left_out = frozenset(parameters.get("leave_out") or ())
    _refuse_unknown_names(context.inventory, left_out)
    for kind in kinds.CURRENT_KINDS:
        crd = find_crd(context.inventory, kind.crd_name)
        if crd is None or crd.stored == (NEW,):
            continue
        pending = _objects_to_rewrite(context.inventory, kind)
        _refuse_unready(crd, kind, rewriting=bool(pending))
        chosen = [item for item in pending if f"{kind.kind}/{item.name}" not in left_out]
        yield from (_rewrite_step(kind, named_object) for named_object in chosen)
        if len(chosen) == len(pending):
            yield _trim_step(crd, kind, many=context.inventory.part(PARTS[kind]).count or 0)


def _refuse_unknown_names(inventory: Inventory, left_out: frozenset[str]) -> None:
    """Raises InvalidInput for a name that no object has: the object that was meant would be rewritten."""
    parts = [(kind, inventory.part(PARTS[kind])) for kind in kinds.CURRENT_KINDS]
    known = {f"{kind.kind}/{one.name}" for kind, part in parts for one in part.items if isinstance(one, NamedObject)}
    if missing := sorted(left_out - known):
        raise InvalidInput(f"not in the cluster: {name_list(missing)}", where="leave_out", code="unknown_name")


@action.forecasts
def forecast_steps(context: PlanningContext, _parameters: Parameters) -> Forecast:
    many = sum(len(_objects_to_rewrite(context.inventory, kind)) for kind in _kinds_to_rewrite(context.inventory))
    return Forecast(cannot_be_undone=(f"{many} objects stay stored as v1",) if many else ())


def _kinds_to_rewrite(inventory: Inventory) -> Iterable[Kind]:
    pairs = ((kind, find_crd(inventory, kind.crd_name)) for kind in kinds.CURRENT_KINDS)
    return [kind for kind, crd in pairs if crd is not None and crd.stored != (NEW,)]


def _objects_to_rewrite(inventory: Inventory, kind: Kind) -> Collection[NamedObject]:
    """The objects that still have to be rewritten. The controller of 1.0 sets the same mark."""
    part = inventory.part(PARTS[kind])
    refuse_unread(part, PARTS[kind])
    named = [item for item in part.items if isinstance(item, NamedObject)]
    return [
        named_object
        for named_object in named
        if named_object.metadata.annotation(labels.STORED_VERSION_DONE) != TOUCHED
    ]


def _refuse_unready(crd: CRD, kind: Kind, *, rewriting: bool) -> None:
    """Raises Unavailable if a write would not store a converted v1 object."""
    if crd.storage != NEW or NEW not in crd.served:
        raise Unavailable(f"{crd.name} does not store {NEW} yet: upgrade the CRD first", code="not_stored_as_v1")
    if not crd.stored:
        raise Unavailable(f"{crd.name}: status.storedVersions is empty", code="not_seen")
    strategy = crd.spec.conversion.strategy if crd.spec.conversion else None
    if rewriting and len(crd.stored) > 1 and strategy != "Webhook":
        words = f"the conversion of {crd.name} is off: each {kind.kind} stored as v1beta1 would lose renamed fields"
        raise Unavailable(words, code="conversion_off")


def _rewrite_step(kind: Kind, named_object: NamedObject) -> Step:
    target = object_target(kind, NEW, name=named_object.name, uid=named_object.metadata.uid or "")
    return patch_step(
        target,
        {"metadata": {"annotations": named_object.metadata.annotations or {}}},
        patch={"metadata": {"annotations": {labels.STORED_VERSION_DONE: TOUCHED}}},
        title=f"Write {target.display_name} anew as {NEW}",
        skippable=True,
        manager=reverting_tool(named_object.metadata),
        note="Only a mark changes; writing it makes the server store the object as v1, which cannot be undone.",
    )


def _trim_step(crd: CRD, kind: Kind, *, many: int) -> Step:
    """The step that removes the old stored versions. It comes last for its kind, once all objects are rewritten."""
    stored_before = list(crd.stored)
    removed = ", ".join(version for version in stored_before if version != NEW)
    step = Step(
        id="",
        title=f"Take {removed} off the stored versions of {crd.name}",
        change=merge(target_of(crd), {"status": {"storedVersions": [NEW]}}, subresource="status"),
        preconditions=(STORED, ("spec", "versions"), ("spec", "conversion", "strategy")),
        postconditions=(FieldEquals(field=STORED, value=[NEW]),),
        undo=merge(target_of(crd), {"status": {"storedVersions": stored_before}}, subresource="status"),
        undo_postconditions=(FieldEquals(field=STORED, value=stored_before),),
        risk="medium",
        manager=reverting_tool(crd.metadata),
    )
    return msgspec.structs.replace(step, note=f"{many} objects of {kind.kind} carry {labels.STORED_VERSION_DONE} then.")

"""What becomes of an inventory when objects of Kubernetes are patched, marked, made or brought to a manifest."""

from collections.abc import Iterable
from typing import Final, TypeVar

import msgspec
from msgspec.structs import replace

from migrations_app.checks.changes import (
    Body,
    ChangeTarget,
    DeliveryPause,
    DeliveryResume,
    NodeTaint,
    ObjectAnnotations,
    ObjectApply,
    ObjectLabels,
    ObjectPatch,
)
from migrations_app.inventory.inventory import Inventory
from migrations_app.inventory.objects import karpenter as o
from migrations_app.inventory.parse import LAST_APPLIED, decoder, kept_on_node, read_crd, read_one
from migrations_app.inventory.parts import Seen, UnparsableObject
from migrations_app.karpenter import kinds
from migrations_app.readiness.plan.effects.followers import put
from migrations_app.readiness.plan.effects.not_shown import NotShown
from migrations_app.readiness.plan.effects.places import KINDS, found, with_items, with_parts
from migrations_app.readiness.plan.effects.trees import (
    PatchRefused,
    left_out,
    merged,
    object_of,
    operated,
    tree_of,
)

FIXED: Final = ("name", "namespace", "uid", "creationTimestamp", "deletionTimestamp")
"""Fields of metadata that no patch changes."""
SUSPENDED: Final = "suspend"
N = TypeVar("N", bound=o.NamedObject)


def patched(inventory: Inventory, change: ObjectPatch) -> Inventory | NotShown:
    """After a patch; a field that a projection does not hold is never passed over."""
    target_object = found(inventory, change.target)
    if isinstance(target_object, NotShown):
        return target_object
    tree = tree_of(target_object)
    try:
        lost = left_out(type(target_object), change.body)
        if lost:
            return NotShown("field_not_kept", f"{change.target.kind} {lost}")
        after = merged(tree, change.body) if isinstance(change.body, dict) else operated(tree, change.body)
    except PatchRefused as refused:
        return NotShown("refused", f"{change.target.kind} {refused}")
    return _written(inventory, target_object, tree=after, kind=change.target.kind)


def _written(inventory: Inventory, named_object: N, *, tree: Body, kind: str) -> Inventory | NotShown:
    before = tree_of(named_object).get("metadata", {})
    metadata = tree.get("metadata")
    if not isinstance(metadata, dict) or any(metadata.get(name) != before.get(name) for name in FIXED):
        return NotShown("refused", f"{kind} /metadata")
    after = object_of(tree, type(named_object))
    if isinstance(after, NotShown):
        return after
    lost = _unkept(after, {**(after.metadata.labels or {}), **(after.metadata.annotations or {})})
    if lost:
        return NotShown("field_not_kept", f"{kind} {lost}")
    return put(inventory, named_object, after=after, kind=kind)


def _unkept(named_object: o.NamedObject, marks: Iterable[str]) -> str:
    """The first of these labels or annotations that an inventory leaves out; empty where it keeps them."""
    of_node = isinstance(named_object, o.Node)
    whole = isinstance(named_object, o.WholeObject)
    left = (key for key in marks if (of_node and not kept_on_node(key)) or (key == LAST_APPLIED and not whole))
    return next(left, "")


def marked(inventory: Inventory, change: ObjectLabels | ObjectAnnotations) -> Inventory | NotShown:
    """After labels or annotations were set and taken off; one that is not there is taken off all the same."""
    before = found(inventory, change.target)
    if isinstance(before, NotShown):
        return before
    lost = _unkept(before, (*change.given, *change.removed))
    if lost:
        return NotShown("field_not_kept", f"{change.target.kind} {lost}")
    labels = isinstance(change, ObjectLabels)
    former = (before.metadata.labels if labels else before.metadata.annotations) or {}
    remaining = {key: value for key, value in former.items() if key not in change.removed} | change.given
    marks = (
        remaining or None
        if former or change.given
        else (before.metadata.labels if labels else before.metadata.annotations)
    )
    metadata = replace(before.metadata, **{"labels" if labels else "annotations": marks})
    return put(inventory, before, after=replace(before, metadata=metadata), kind=change.target.kind)


def tainted(inventory: Inventory, change: NodeTaint) -> Inventory | NotShown:
    """After a taint was put on, over one of the same key and effect, or taken off; `refused` where none is there."""
    node = found(inventory, change.target)
    if isinstance(node, NotShown) or not isinstance(node, o.Node):
        return node if isinstance(node, NotShown) else NotShown("refused", change.target.kind)
    former = node.spec.taints or []
    touched = [taint for taint in former if taint.key == change.key and change.effect in ("", taint.effect)]
    left = [taint for taint in former if taint not in touched]
    if change.removed and not touched:
        return NotShown("refused", f"Node {change.target.name} has no taint {change.key}")
    if not change.removed:
        new = o.Taint(key=change.key, value=change.value or None, effect=change.effect or None)
        left = [new if taint in touched else taint for taint in former] if touched else [*former, new]
    spec = replace(node.spec, taints=left or None)
    return put(inventory, node, after=replace(node, spec=spec), kind="Node")


def switched(inventory: Inventory, change: DeliveryPause | DeliveryResume) -> Inventory | NotShown:
    """After an object of Flux or Argo CD was paused or resumed."""
    delivery = found(inventory, change.target)
    if isinstance(delivery, NotShown) or not isinstance(delivery, o.GitOpsDelivery):
        return delivery if isinstance(delivery, NotShown) else NotShown("kind_not_read", change.target.kind)
    spec = dict(delivery.spec or {})
    paused = isinstance(change, DeliveryPause)
    if change.target.kind != "Application":
        spec = merged(spec, {SUSPENDED: True if paused else None})
    else:
        own = {} if isinstance(change, DeliveryPause) else {"prune": change.prune, "selfHeal": change.self_heal}
        automated = None if paused else {key: value for key, value in own.items() if value}
        sync_policy = spec.get("syncPolicy")
        policy = {**(sync_policy if isinstance(sync_policy, dict) else {}), "automated": automated}
        spec["syncPolicy"] = {key: value for key, value in policy.items() if value is not None}
    return put(inventory, delivery, after=replace(delivery, spec=spec), kind=change.target.kind)


def applied(inventory: Inventory, change: ObjectApply) -> Inventory | NotShown:
    """After a manifest was applied: a new object is put there; one that is there keeps its status and its marks."""
    target = change.target
    if target.kind not in KINDS:
        return NotShown("kind_not_read", target.kind)
    if not _served(inventory, target, manifest=change.manifest):
        return NotShown("refused", f"{target.kind} is not served")
    installed = found(inventory, target)
    if isinstance(installed, NotShown):
        return _with_new_object(inventory, change) if installed.why == "target_gone" else installed
    tree = tree_of(installed)
    own = {key: value for key, value in change.manifest.items() if key not in ("apiVersion", "kind", "metadata")}
    marks = {key: change.manifest.get("metadata", {}).get(key) or {} for key in ("labels", "annotations")}
    over = {"metadata": {key: value for key, value in marks.items() if value}}
    lost = left_out(type(installed), {**over, **own})
    if lost:
        return NotShown("field_not_kept", f"{target.kind} {lost}")
    return _written(inventory, installed, tree={**merged(tree, over), **own}, kind=target.kind)


def _with_new_object(inventory: Inventory, change: ObjectApply) -> Inventory | NotShown:
    parts, kind = KINDS[change.target.kind]
    if len(parts) > 1 or (kind is o.CRD and not change.manifest.get("spec")):
        return NotShown("field_not_kept", change.target.kind)
    raw = msgspec.Raw(msgspec.json.encode(change.manifest))
    new_object = read_crd(raw) if kind is o.CRD else read_one(raw, kind, take=decoder(kind).decode)
    if isinstance(new_object, UnparsableObject):
        return NotShown("refused", f"{change.target.kind} {new_object.field}")
    part = inventory.part(parts[0])
    if not isinstance(part, Seen):
        return NotShown("part_not_read", parts[0])
    return with_parts(inventory, {parts[0]: with_items(part, (*part.items, new_object))})


def _served(inventory: Inventory, target: ChangeTarget, *, manifest: Body) -> bool:
    """Whether a CRD serves the version of the manifest; kinds without a CRD of Karpenter always are."""
    group, _, version = str(manifest.get("apiVersion", "")).rpartition("/")
    own = kinds.find(target.kind, group=group)
    if own is None or own.group not in kinds.KARPENTER_GROUPS or not isinstance(inventory.crds, Seen):
        return True
    return any(crd.name == own.crd_name and version in crd.served for crd in inventory.crds.items)

"""Computes the inventory after objects of Kubernetes were patched, labelled, tainted, paused or applied."""

from collections.abc import Iterable, Sequence
from typing import Final, TypeVar

import msgspec
from msgspec.structs import replace

from migrations_app.checks.changes import (
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
from migrations_app.manifests import JsonMap
from migrations_app.manifests.patches import PatchError, json_patched, merge_patched
from migrations_app.manifests.writer import Plain
from migrations_app.readiness.runbook.effects.consequences import with_consequences
from migrations_app.readiness.runbook.effects.object_lookup import KINDS, find_object, with_items, with_parts
from migrations_app.readiness.runbook.effects.trees import (
    first_left_out,
    object_of,
    tree_of,
)
from migrations_app.readiness.runbook.effects.unknown_effect import NotShown

FIXED_METADATA: Final = ("name", "namespace", "uid", "creationTimestamp", "deletionTimestamp")
"""Fields of metadata that a patch cannot change."""
SUSPENDED: Final = "suspend"
N = TypeVar("N", bound=o.NamedObject)


def with_patch(inventory: Inventory, change: ObjectPatch) -> Inventory | NotShown:
    """The inventory after a patch; NotShown `field_not_kept` if it changes a field that a projection leaves out, and
    `refused` if a field that it tests is another, unless the object is already as the patch would make it.
    """
    target_object = find_object(inventory, change.target)
    if isinstance(target_object, NotShown):
        return target_object
    tree = tree_of(target_object)
    try:
        lost = first_left_out(type(target_object), change.body)
        if lost:
            return NotShown("field_not_kept", f"{change.target.kind} {lost}")
        after = merge_patched(tree, change.body) if isinstance(change.body, dict) else json_patched(tree, change.body)
        after = _with_next_generation(tree, after)
    except PatchError as refused:
        if _is_made(tree, change.body):
            return inventory
        return NotShown("refused", f"{change.target.kind} {refused.path}")
    return _with_changed_object(inventory, target_object, tree=after, kind=change.target.kind)


def _is_made(tree: Plain, body: JsonMap | Sequence[JsonMap]) -> bool:
    """Whether the object has what the JSON patch writes, as after another remedy of the same finding."""
    writes = [] if isinstance(body, dict) else [row for row in body if row.get("op") != "test"]
    try:
        return bool(writes) and tree == json_patched(tree, writes)
    except PatchError:
        return False


def _with_next_generation(before: Plain, after: Plain) -> Plain:
    """The object after a patch, its generation counted up if its spec changed, as the API server does."""
    if not (isinstance(before, dict) and isinstance(after, dict)) or before.get("spec") == after.get("spec"):
        return after
    metadata = after.get("metadata")
    generation = metadata.get("generation") if isinstance(metadata, dict) else None
    if not isinstance(metadata, dict) or not isinstance(generation, int):
        return after
    return {**after, "metadata": {**metadata, "generation": generation + 1}}


def _with_changed_object(inventory: Inventory, named_object: N, *, tree: Plain, kind: str) -> Inventory | NotShown:
    before = tree_of(named_object).get("metadata", {})
    metadata = tree.get("metadata") if isinstance(tree, dict) else None
    if not isinstance(metadata, dict) or any(metadata.get(name) != before.get(name) for name in FIXED_METADATA):
        return NotShown("refused", f"{kind} /metadata")
    after = object_of(tree, type(named_object))
    if isinstance(after, NotShown):
        return after
    lost = _first_unkept(after, {**(after.metadata.labels or {}), **(after.metadata.annotations or {})})
    if lost:
        return NotShown("field_not_kept", f"{kind} {lost}")
    return with_consequences(inventory, named_object, after=after, kind=kind)


def _first_unkept(named_object: o.NamedObject, marks: Iterable[str]) -> str:
    """The first of these labels or annotations that an inventory leaves out; empty if it keeps all of them."""
    is_node = isinstance(named_object, o.Node)
    is_whole = isinstance(named_object, o.WholeObject)
    unkept = (key for key in marks if (is_node and not kept_on_node(key)) or (key == LAST_APPLIED and not is_whole))
    return next(unkept, "")


def with_marks(inventory: Inventory, change: ObjectLabels | ObjectAnnotations) -> Inventory | NotShown:
    """The inventory after labels or annotations were set and removed; removing a missing one changes nothing."""
    before = find_object(inventory, change.target)
    if isinstance(before, NotShown):
        return before
    lost = _first_unkept(before, (*change.given, *change.removed))
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
    return with_consequences(inventory, before, after=replace(before, metadata=metadata), kind=change.target.kind)


def with_taint(inventory: Inventory, change: NodeTaint) -> Inventory | NotShown:
    """The inventory after a taint was set, in place of one with the same key and effect, or removed; NotShown `refused`
    if the taint to remove is missing."""
    node = find_object(inventory, change.target)
    if isinstance(node, NotShown) or not isinstance(node, o.Node):
        return node if isinstance(node, NotShown) else NotShown("refused", change.target.kind)
    taints = node.spec.taints or []
    matching = [taint for taint in taints if taint.key == change.key and change.effect in ("", taint.effect)]
    remaining = [taint for taint in taints if taint not in matching]
    if change.removed and not matching:
        return NotShown("refused", f"Node {change.target.name} has no taint {change.key}")
    if not change.removed:
        new_taint = o.Taint(key=change.key, value=change.value or None, effect=change.effect or None)
        remaining = (
            [new_taint if taint in matching else taint for taint in taints] if matching else [*taints, new_taint]
        )
    spec = replace(node.spec, taints=remaining or None)
    return with_consequences(inventory, node, after=replace(node, spec=spec), kind="Node")


def with_delivery_switched(inventory: Inventory, change: DeliveryPause | DeliveryResume) -> Inventory | NotShown:
    """The inventory after an object of Flux or Argo CD was paused or resumed."""
    delivery = find_object(inventory, change.target)
    if isinstance(delivery, NotShown) or not isinstance(delivery, o.GitOpsDelivery):
        return delivery if isinstance(delivery, NotShown) else NotShown("kind_not_read", change.target.kind)
    spec = dict(delivery.spec or {})
    paused = isinstance(change, DeliveryPause)
    if change.target.kind != "Application":
        spec = merge_patched(spec, {SUSPENDED: True if paused else None})
    else:
        automation = {} if isinstance(change, DeliveryPause) else {"prune": change.prune, "selfHeal": change.self_heal}
        automated = None if paused else {key: value for key, value in automation.items() if value}
        sync_policy = spec.get("syncPolicy")
        policy = {**(sync_policy if isinstance(sync_policy, dict) else {}), "automated": automated}
        spec["syncPolicy"] = {key: value for key, value in policy.items() if value is not None}
    return with_consequences(inventory, delivery, after=replace(delivery, spec=spec), kind=change.target.kind)


def with_manifest(inventory: Inventory, change: ObjectApply) -> Inventory | NotShown:
    """The inventory after a manifest was applied: a new object is added, a present one keeps its status, labels and
    annotations."""
    target = change.target
    if target.kind not in KINDS:
        return NotShown("kind_not_read", target.kind)
    if not _served(inventory, target, manifest=change.manifest):
        return NotShown("refused", f"{target.kind} is not served")
    installed = find_object(inventory, target)
    if isinstance(installed, NotShown):
        return _with_new_object(inventory, change) if installed.why == "target_gone" else installed
    tree = tree_of(installed)
    fields = {key: value for key, value in change.manifest.items() if key not in ("apiVersion", "kind", "metadata")}
    own_marks = {key: change.manifest.get("metadata", {}).get(key) or {} for key in ("labels", "annotations")}
    metadata_patch = {"metadata": {key: value for key, value in own_marks.items() if value}}
    lost = first_left_out(type(installed), {**metadata_patch, **fields})
    if lost:
        return NotShown("field_not_kept", f"{target.kind} {lost}")
    return _with_changed_object(
        inventory, installed, tree={**merge_patched(tree, metadata_patch), **fields}, kind=target.kind
    )


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


def _served(inventory: Inventory, target: ChangeTarget, *, manifest: JsonMap) -> bool:
    """Whether a CRD serves the version of the manifest; True for kinds without a CRD of Karpenter."""
    group, _, version = str(manifest.get("apiVersion", "")).rpartition("/")
    own = kinds.find(target.kind, group=group)
    if own is None or own.group not in kinds.KARPENTER_GROUPS or not isinstance(inventory.crds, Seen):
        return True
    return any(crd.name == own.crd_name and version in crd.served for crd in inventory.crds.items)

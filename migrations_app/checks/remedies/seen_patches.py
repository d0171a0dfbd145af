"""Merge patches that know what the scan saw: their lines for kubectl, and those of their undo, are refused once the
object has something else there."""

from msgspec.structs import replace

from migrations_app.checks.changes import ChangeTarget, ChangeTime, ObjectPatch
from migrations_app.manifests import JsonMap
from migrations_app.manifests.patches import merge_patch_undo, merge_patched, under_patch


def seen_patch(
    target: ChangeTarget, body: JsonMap, *, tree: JsonMap, done: str, undo_when: ChangeTime = "before"
) -> ObjectPatch:
    """The merge patch of an object that was read, with its undo; `tree` is the object, as far as the patch changes
    it."""
    patch = ObjectPatch(target=target, body=body, done=done)
    return with_seen(patch, tree, undo_when=undo_when)


def with_seen(patch: ObjectPatch, tree: JsonMap, *, undo_when: ChangeTime | None = None) -> ObjectPatch:
    """The patch with what was seen, and with its undo; unchanged if it is a JSON patch, which has its own tests. The
    undo has the time of the patch, if none is given."""
    if not isinstance(patch.body, dict):
        return patch
    undo_body, after = merge_patch_undo(patch.body, tree), merge_patched(tree, patch.body)
    undo = replace(patch, body=undo_body, seen=under_patch(undo_body, after), done="", notes=())
    undo = replace(undo, when=undo_when or patch.when)
    return replace(patch, seen=under_patch(patch.body, tree), undo=undo)

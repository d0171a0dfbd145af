"""Writes one chart version into the object of Flux or Argo CD that names it."""

from msgspec.structs import replace

from migrations_app.checks.base import Evidence, Remedy, RemedyTool
from migrations_app.checks.changes import ChangeTarget, ObjectPatch
from migrations_app.checks.evidence import at_object
from migrations_app.checks.shell import note
from migrations_app.inventory.facts.delivery_sources import field_path
from migrations_app.inventory.objects.base import WholeObject
from migrations_app.manifests import JsonMap
from migrations_app.manifests.patches import merge_patch_at
from migrations_app.manifests.text_lines import one_line

ChartFields = tuple[str, ...]
"""The fields below spec, down to the version."""


def at_version(owner: WholeObject, fields: ChartFields, *, given: str, seen: str, wanted: str, right: str) -> Evidence:
    """Evidence at the chart version `given`; `right` is the version to write in its place."""
    row = at_object(owner, field_path(fields), seen=seen, wanted=wanted)
    return row.with_data(right=right, given=given, at="/".join(fields))


def version_remedy(row: Evidence) -> Remedy:
    """The edit in the source, and the patch of the object with its undo."""
    given, right = row.value("given"), row.value("right")
    edit = f"{note(f'{row.kind} {row.namespace}/{row.name}')}\n{one_line(row.path)}: {one_line(right)}"
    how: RemedyTool = "argocd" if row.kind == "Application" else "flux"
    target = ChangeTarget(row.kind, row.name, row.namespace)
    undo = _patch(row, given, instead=right, target=target)
    patch = _patch(row, right, instead=given, target=target)
    return Remedy(how=how, text=edit, change=replace(patch, undo=undo, done=f"{row.path} is {right}"))


def _patch(row: Evidence, version: str, *, instead: str, target: ChangeTarget) -> ObjectPatch:
    """A merge patch; within a list, a JSON patch. Either is refused if the version there has changed. Without a version
    the field is taken out.
    """
    if "[" in row.path:
        return ObjectPatch(target=target, body=_list_body(row, version, instead=instead))
    parent, _, field = row.path.rpartition(".")
    seen = merge_patch_at(parent, {field: instead} if instead else {})
    return ObjectPatch(target=target, body=merge_patch_at(row.path, version or None), seen=seen)


def _list_body(row: Evidence, version: str, *, instead: str) -> tuple[JsonMap, ...]:
    at = f"/spec/{row.value('at')}"
    as_seen: JsonMap = {"op": "test", "path": at, "value": instead or None}
    if not instead:
        return as_seen, {"op": "add", "path": at, "value": version}
    return as_seen, {"op": "replace", "path": at, "value": version} if version else {"op": "remove", "path": at}

"""Finds the edits of objects in a change that can be made in a repository's files, and names the rest of the change."""

from typing import Any, TypeAlias

from migrations_app.checks.base import Finding
from migrations_app.checks.changes import (
    Change,
    HelmChange,
    ObjectAnnotations,
    ObjectLabels,
    ObjectPatch,
    Observation,
    leaves,
)
from migrations_app.errors import InvalidInput
from migrations_app.manifests import JsonMap
from migrations_app.manifests.patches import PatchError, json_patched, merge_patched
from migrations_app.readiness.pull_requests.helm_edits import delivers, merge_notes, with_values

ObjectEdit: TypeAlias = ObjectPatch | ObjectLabels | ObjectAnnotations | HelmChange


def change_of(finding: Finding) -> Change | None:
    """Returns the first change among the remedies that edits objects; None if there is none."""
    changes = (
        remedy.change
        for remedy in finding.remedies
        if isinstance(remedy.change, Change) and object_edits(remedy.change)
    )
    return next(changes, None)


def is_delivered_by_git(finding: Finding) -> bool:
    """Returns whether Flux or Argo CD keeps the object of the fix: it then has a remedy for them."""
    return any(remedy.how in ("flux", "argocd") for remedy in finding.remedies)


def object_edits(change: Change) -> tuple[ObjectEdit, ...]:
    """Returns the edits of objects in the change, in order. A patch of a status is not one: no repository holds it.

    A change of Helm values is one if it leaves nothing to a person.
    """
    return tuple(leaf for leaf in leaves(change) if _is_edit(leaf))  # type: ignore[misc]  # `_is_edit` tells the types


def work_outside_files(change: Change) -> tuple[str, ...]:
    """Returns what else belongs to the change but is in no file, each in a few words."""
    rest = [_change_text(leaf) for leaf in leaves(change) if not _is_edit(leaf) and not isinstance(leaf, Observation)]
    when = [
        note
        for object_edit in object_edits(change)
        if isinstance(object_edit, HelmChange)
        for note in merge_notes(object_edit)
    ]
    return tuple(dict.fromkeys((*rest, *when)))


def _is_edit(change: Change) -> bool:
    if isinstance(change, ObjectPatch):
        return not change.subresource
    if isinstance(change, HelmChange):
        return change.when != "person"
    return isinstance(change, ObjectLabels | ObjectAnnotations)


def _change_text(change: Change) -> str:
    target = change.target
    return change.what or (f"{target.kind} {target.name}" if target else type(change).__name__)


def is_object(document: Any, edit: ObjectEdit) -> bool:  # noqa: ANN401 - a document of YAML
    """Returns whether the document is the object of the edit; one without a namespace gets it from the tool that
    applies it."""
    if not isinstance(document, dict) or not isinstance(document.get("metadata"), dict):
        return False
    if isinstance(edit, HelmChange):
        return delivers(document, edit)
    target, metadata = edit.target, document["metadata"]
    group = str(document.get("apiVersion")).rpartition("/")[0]
    group_of_target = target.resource.partition(".")[2]
    return (
        document.get("kind") == target.kind
        and metadata.get("name") == target.name
        and metadata.get("namespace") in (None, target.namespace)
        and (not group_of_target or group == group_of_target)
    )


def with_edit(document: JsonMap, edit: ObjectEdit) -> JsonMap:
    """Returns the object after the edit. Raises InvalidInput `edit_refused` if the file differs from the cluster, so
    that a JSON patch does not fit."""
    if isinstance(edit, ObjectPatch):
        return _patched(document, edit)
    if isinstance(edit, HelmChange):
        return with_values(document, edit)
    name = "labels" if isinstance(edit, ObjectLabels) else "annotations"
    entries: JsonMap = {**edit.given, **dict.fromkeys(edit.removed)}
    after: JsonMap = merge_patched(document, {"metadata": {name: entries}})
    if not after["metadata"].get(name) and name not in document["metadata"]:
        del after["metadata"][name]
    return after


def _patched(document: JsonMap, edit: ObjectPatch) -> JsonMap:
    try:
        after: JsonMap = (
            merge_patched(document, edit.body) if isinstance(edit.body, dict) else json_patched(document, edit.body)
        )
    except PatchError as refused:
        raise InvalidInput(
            f"the file says something else than the cluster at {refused.path}; change it by hand",
            code="edit_refused",
            where=f"{edit.target.kind} {edit.target.name}",
        ) from None
    return after

"""Computes the merge patch from the current CRD to the one that a release ships, and its undo.

It is a merge patch because servers before 1.25 refuse a server-side apply with the CEL rules of these schemas, but
drop the rules from a patch. A patch replaces whole lists, so `versions` are as shipped.
"""

from collections.abc import Iterator
from typing import Any

import msgspec

from migrations_app.actions.base import Unavailable
from migrations_app.actions.changes import ObjectTarget, creation, merge
from migrations_app.actions.conditions import Condition, Exists, Field, FieldEquals, ListContains, value_at
from migrations_app.actions.patches import between
from migrations_app.actions.plan import Step
from migrations_app.actions.undo import restorable
from migrations_app.karpenter.versions import Release
from migrations_app.manifests import JsonMap
from migrations_app.manifests.patches import merge_patch_undo

MARK = "karpdash.io/crds-of"
"""Annotation with the release, and the patched generation, so that an old mark does not prove a new patch."""
SERVICE: Field = ("spec", "conversion", "webhook", "clientConfig", "service")
STRATEGY: Field = ("spec", "conversion", "strategy")
RULES = "x-kubernetes-validations"


def creating_crd(target: ObjectTarget, crd: JsonMap, *, marks: JsonMap, release: Release) -> Step:
    """The step that creates the CRD as shipped. It has no undo: deleting a CRD deletes its objects, and keeping it
    does no harm. The annotation tells it from a CRD that others create since the preview, perhaps of another release.
    """
    body, mark = restorable(crd), f"{release} when it was created"
    metadata = body["metadata"]
    for name, entries in (*marks.items(), ("annotations", {MARK: mark})):
        metadata = metadata | {name: (metadata.get(name) or {}) | entries}
    ready = ListContains(field=("status", "conditions"), element={"type": "Established", "status": "True"})
    return Step(
        id="",
        title=f"Create {target.name} as {release} ships it",
        change=creation(target, body | {"metadata": metadata}),
        postconditions=(Exists(), FieldEquals(field=("metadata", "annotations", MARK), value=mark), ready),
        skippable=True,
        note="The undo keeps a CRD that was created: deleting it would delete its objects.",
    )


def upgrading_crd(target: ObjectTarget, before: JsonMap, *, after: JsonMap, release: Release) -> Step | None:
    """The step that patches the CRD; None if nothing differs.

    Raises Unavailable if it would remove a version in which objects may still be stored.
    """
    _refuse_dropping(target, before, after=after)
    if alike(before["spec"], after["spec"]):
        return None
    generation = value_at(before, ("metadata", "generation")) or 0
    patch: JsonMap = {
        "metadata": {"annotations": _annotations(before, after) | {MARK: f"{release} over generation {generation}"}},
        "spec": between(before["spec"], after["spec"]),
    }
    undo = _undo(patch, before, after=after)
    return Step(
        id="",
        title=f"Bring {target.name} to {release}: {_versions_text(after)}",
        change=merge(target, patch),
        preconditions=(("spec", "versions"), ("spec", "names"), STRATEGY, SERVICE, ("status", "storedVersions")),
        postconditions=_postconditions(patch, before, after=after),
        undo=merge(target, undo),
        undo_postconditions=_postconditions(undo, after, after={"spec": _versions_of(undo, before)}),
        risk="high" if _storage(before) != _storage(after) or _dropped(before, after) else "medium",
        note=_note(before, after),
    )


def alike(before: JsonMap, after: JsonMap) -> bool:
    """Whether two specs are equal except for CEL rules, which old servers drop."""
    return not between(without_rules(before), without_rules(after))


def without_rules(part: Any) -> Any:  # noqa: ANN401 - plain JSON
    """The tree without CEL rules."""
    if isinstance(part, dict):
        return {key: without_rules(value) for key, value in part.items() if key != RULES}
    return [without_rules(value) for value in part] if isinstance(part, list) else part


def _refuse_dropping(target: ObjectTarget, before: JsonMap, *, after: JsonMap) -> None:
    stored = value_at(before, ("status", "storedVersions")) or []
    lost = sorted(set(stored) - {version["name"] for version in _versions(after)})
    if lost:
        words = f"{target.name} still lists {', '.join(lost)} as stored: rewrite its objects first"
        raise Unavailable(words, code="still_stored")


def _annotations(before: JsonMap, after: JsonMap) -> JsonMap:
    existing = value_at(before, ("metadata", "annotations")) or {}
    shipped = value_at(after, ("metadata", "annotations")) or {}
    return {key: value for key, value in shipped.items() if existing.get(key) != value}


def _versions(crd: JsonMap) -> list[JsonMap]:
    versions: list[JsonMap] = value_at(crd, ("spec", "versions")) or []
    return versions


def _storage(crd: JsonMap) -> str:
    return next((str(version["name"]) for version in _versions(crd) if version.get("storage")), "")


def _dropped(before: JsonMap, after: JsonMap) -> list[str]:
    names = {version["name"] for version in _versions(after)}
    return [str(version["name"]) for version in _versions(before) if version["name"] not in names]


def _undo(patch: JsonMap, before: JsonMap, *, after: JsonMap) -> JsonMap:
    """The patch back to the previous state. A new storage version stays served, with its conversion, since objects may
    be stored in it.
    """
    undo = merge_patch_undo(patch, before)
    if not _version_to_keep(before, after):
        return undo
    new = next(version for version in _versions(after) if version.get("storage"))
    spec = {key: value for key, value in undo["spec"].items() if key != "conversion"}
    return undo | {"spec": spec | {"versions": [*_versions(before), new | {"storage": False}]}}


def _version_to_keep(before: JsonMap, after: JsonMap) -> str:
    """The version that stays served after the undo; empty if none must."""
    new = _storage(after)
    return "" if new in {version["name"] for version in _versions(before)} else new


def _versions_of(undo: JsonMap, before: JsonMap) -> JsonMap:
    spec: JsonMap = {"versions": undo["spec"].get("versions") or _versions(before)}
    return spec


def _postconditions(patch: JsonMap, before: JsonMap, *, after: JsonMap) -> tuple[Condition, ...]:
    return tuple(_conditions(patch, before, after=after))


def _conditions(patch: JsonMap, before: JsonMap, *, after: JsonMap) -> Iterator[Condition]:
    """The conditions that a read verifies. Schemas are not compared, because old servers drop CEL rules."""
    yield FieldEquals(field=("metadata", "annotations", MARK), value=patch["metadata"]["annotations"][MARK])
    for version in _versions(after):
        flags = {"name": version["name"], "served": version["served"], "storage": version["storage"]}
        yield ListContains(field=("spec", "versions"), element=flags)
    for name in _dropped(before, after):
        yield ListContains(field=("spec", "versions"), element={"name": name}, absent=True)
    strategy = value_at(patch, STRATEGY)
    if strategy is not None:
        yield FieldEquals(field=STRATEGY, value=strategy)


def _versions_text(crd: JsonMap) -> str:
    served = [str(version["name"]) for version in _versions(crd) if version.get("served")]
    return f"{', '.join(served)} served, {_storage(crd)} stored"


def _note(before: JsonMap, after: JsonMap) -> str:
    kept_version = _version_to_keep(before, after)
    if kept_version:
        return f"After the undo {kept_version} stays served: objects may be stored in it by then."
    lost_versions = _dropped(before, after)
    return (
        f"{', '.join(lost_versions)} is no longer served: whoever still reads or applies it is refused."
        if lost_versions
        else ""
    )


def with_note(step: Step, *words: str) -> Step:
    """The same step with further notes."""
    return msgspec.structs.replace(step, note=" ".join(word for word in (step.note, *words) if word))

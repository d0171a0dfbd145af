"""The merge patch from the current CRD to the one that a release ships, and its undo.

A merge patch instead of server-side apply: servers before 1.25 refuse to apply the CEL rules of these schemas, but
drop them from a patch. Lists are replaced as a whole, so `versions` are as shipped.
"""

from collections.abc import Iterator
from typing import Any

import msgspec

from migrations_app.actions.base import Unavailable
from migrations_app.actions.changes import Body, ObjectTarget, creation, merge
from migrations_app.actions.conditions import Condition, Exists, Field, FieldEquals, ListContains, Tree, value_at
from migrations_app.actions.patches import between, way_back
from migrations_app.actions.plan import Step
from migrations_app.actions.undo import restorable
from migrations_app.karpenter.versions import Release

MARK = "karpdash.io/crds-of"
"""Annotation with the release and the generation that was patched, so that an old mark is no proof for a new patch."""
SERVICE: Field = ("spec", "conversion", "webhook", "clientConfig", "service")
STRATEGY: Field = ("spec", "conversion", "strategy")
RULES = "x-kubernetes-validations"


def creating_crd(target: ObjectTarget, wanted: Body, *, marks: Tree, release: Release) -> Step:
    """The step that creates the CRD as shipped. It has no undo: deleting a CRD deletes its objects, and keeping it
    does no harm.
    """
    body = restorable(wanted)
    metadata = body["metadata"]
    for name, given in marks.items():
        metadata = metadata | {name: (metadata.get(name) or {}) | given}
    ready = ListContains(field=("status", "conditions"), element={"type": "Established", "status": "True"})
    return Step(
        id="",
        title=f"Create {target.name} as {release} ships it",
        change=creation(target, body | {"metadata": metadata}),
        postconditions=(Exists(), ready),
        skippable=True,
        note="A CRD that was made stays when this is taken back: deleting it would delete its objects.",
    )


def upgrading_crd(target: ObjectTarget, before: Tree, *, wanted: Body, release: Release) -> Step | None:
    """The step that patches the CRD; None if nothing differs.

    Raises Unavailable if it would remove a version in which objects may still be stored.
    """
    _refuse_dropping(target, before, wanted=wanted)
    if alike(before["spec"], wanted["spec"]):
        return None
    generation = value_at(before, ("metadata", "generation")) or 0
    patch: Body = {
        "metadata": {"annotations": _annotations(before, wanted) | {MARK: f"{release} over generation {generation}"}},
        "spec": between(before["spec"], wanted["spec"]),
    }
    undo = _undo(patch, before, wanted=wanted)
    return Step(
        id="",
        title=f"Bring {target.name} to {release}: {_versions_text(wanted)}",
        change=merge(target, patch),
        preconditions=(("spec", "versions"), ("spec", "names"), STRATEGY, SERVICE, ("status", "storedVersions")),
        postconditions=_postconditions(patch, before, wanted=wanted),
        undo=merge(target, undo),
        undo_postconditions=_postconditions(undo, wanted, wanted={"spec": _versions_of(undo, before)}),
        risk="high" if _storage(before) != _storage(wanted) or _dropped(before, wanted) else "medium",
        note=_note(before, wanted),
    )


def alike(before: Tree, after: Tree) -> bool:
    """Whether two specs are equal except for CEL rules, which old servers drop."""
    return not between(without_rules(before), without_rules(after))


def without_rules(part: Any) -> Any:  # noqa: ANN401 - plain JSON
    """The tree without CEL rules."""
    if isinstance(part, dict):
        return {key: without_rules(value) for key, value in part.items() if key != RULES}
    return [without_rules(value) for value in part] if isinstance(part, list) else part


def _refuse_dropping(target: ObjectTarget, before: Tree, *, wanted: Body) -> None:
    stored = value_at(before, ("status", "storedVersions")) or []
    lost = sorted(set(stored) - {version["name"] for version in _versions(wanted)})
    if lost:
        words = f"{target.name} still lists {', '.join(lost)} as stored: rewrite its objects first"
        raise Unavailable(words, code="still_stored")


def _annotations(before: Tree, wanted: Body) -> Body:
    existing = value_at(before, ("metadata", "annotations")) or {}
    shipped = value_at(wanted, ("metadata", "annotations")) or {}
    return {key: value for key, value in shipped.items() if existing.get(key) != value}


def _versions(crd: Tree) -> list[Tree]:
    found: list[Tree] = value_at(crd, ("spec", "versions")) or []
    return found


def _storage(crd: Tree) -> str:
    return next((str(version["name"]) for version in _versions(crd) if version.get("storage")), "")


def _dropped(before: Tree, after: Tree) -> list[str]:
    kept = {version["name"] for version in _versions(after)}
    return [str(version["name"]) for version in _versions(before) if version["name"] not in kept]


def _undo(patch: Body, before: Tree, *, wanted: Body) -> Body:
    """The previous state, except that a new storage version stays served, with its conversion, since objects may be
    stored in it.
    """
    undo = way_back(patch, before)
    if not _keeps(before, wanted):
        return undo
    new = next(version for version in _versions(wanted) if version.get("storage"))
    spec = {key: value for key, value in undo["spec"].items() if key != "conversion"}
    return undo | {"spec": spec | {"versions": [*_versions(before), new | {"storage": False}]}}


def _keeps(before: Tree, wanted: Body) -> str:
    """The version that stays served after the undo; empty if none must."""
    new = _storage(wanted)
    return "" if new in {version["name"] for version in _versions(before)} else new


def _versions_of(undo: Body, before: Tree) -> Tree:
    found: Tree = {"versions": undo["spec"].get("versions") or _versions(before)}
    return found


def _postconditions(patch: Body, before: Tree, *, wanted: Tree) -> tuple[Condition, ...]:
    return tuple(_conditions(patch, before, wanted=wanted))


def _conditions(patch: Body, before: Tree, *, wanted: Tree) -> Iterator[Condition]:
    """The conditions that a read verifies. Schemas are not compared, because old servers drop CEL rules."""
    yield FieldEquals(field=("metadata", "annotations", MARK), value=patch["metadata"]["annotations"][MARK])
    for version in _versions(wanted):
        flags = {"name": version["name"], "served": version["served"], "storage": version["storage"]}
        yield ListContains(field=("spec", "versions"), element=flags)
    for name in _dropped(before, wanted):
        yield ListContains(field=("spec", "versions"), element={"name": name}, absent=True)
    strategy = value_at(patch, STRATEGY)
    if strategy is not None:
        yield FieldEquals(field=STRATEGY, value=strategy)


def _versions_text(wanted: Body) -> str:
    served = [str(version["name"]) for version in _versions(wanted) if version.get("served")]
    return f"{', '.join(served)} served, {_storage(wanted)} stored"


def _note(before: Tree, wanted: Body) -> str:
    kept = _keeps(before, wanted)
    if kept:
        return f"Taken back, {kept} stays served: objects may be stored in it by then."
    gone = _dropped(before, wanted)
    return f"{', '.join(gone)} is no longer served: whoever still reads or applies it is refused." if gone else ""


def with_note(step: Step, *words: str) -> Step:
    """The same step with further notes."""
    return msgspec.structs.replace(step, note=" ".join(word for word in (step.note, *words) if word))

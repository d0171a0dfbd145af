"""What holds for every change and every inventory: nothing raises, nothing else changes, and an undo leads back."""

from collections.abc import Callable
from functools import cache
from typing import Any

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from migrations_app.checks.changes import (
    Change,
    ChangeTarget,
    HelmChange,
    HelmValue,
    NodeTaint,
    ObjectApply,
    ObjectDelete,
    ObjectPatch,
    group,
)
from migrations_app.checks.remedies.object_marks import change_annotations, change_labels
from migrations_app.inventory.inventory import PART_NAMES, Inventory
from migrations_app.inventory.objects import karpenter as o
from migrations_app.inventory.parts import Seen
from migrations_app.manifests.patches import SHARED_MAPS, merge_patch_undo
from migrations_app.readiness.runbook.effects.effect import effect
from migrations_app.readiness.runbook.effects.object_lookup import KINDS
from migrations_app.readiness.runbook.effects.unknown_effect import NotShown
from tests.acceptance.clusters import CLEAN, find, objects
from tests.acceptance.judging import as_list, collected
from tests.checks.render.changes import every_change
from tests.readiness.runbook.effects.positions import remembers_only_positions

TEXT = st.text(max_size=6) | st.sampled_from(["default", "karpenter", "karpenter.sh/a", "kubernetes.io/os", "web"])
SCALARS = st.none() | st.booleans() | st.integers(-3, 9) | TEXT
KEYS = TEXT | st.sampled_from(["spec", "metadata", "labels", "template", "taints", "replicas", "conversion", "name"])
TREES = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3), max_leaves=8
)
BODIES = st.dictionaries(KEYS, TREES, max_size=3)
POINTERS = st.lists(KEYS | st.sampled_from(["0", "-", "1"]), max_size=4).map(
    lambda steps: "".join(f"/{one}" for one in steps)
)
OPERATIONS = st.fixed_dictionaries(
    {"op": st.sampled_from(["add", "remove", "replace", "test", "move"]), "path": POINTERS | TEXT, "value": TREES}
)
CLUSTERS = st.sampled_from([clean.name for clean in CLEAN])


@cache
def seen(name: str) -> Inventory:
    clean = find(name)
    return collected(name, as_list(objects(clean), kubernetes=clean.kubernetes)).inventory


@cache
def named(name: str) -> tuple[tuple[str, o.NamedObject], ...]:
    """The objects of that cluster, each with its kind."""
    inventory = seen(name)
    every = ((kind, one) for kind, (parts, _) in KINDS.items() for part in parts for one in inventory.part(part).items)
    return tuple((kind, one) for kind, one in every if isinstance(one, o.NamedObject) and one.kind in ("", kind))


@st.composite
def targets(draw: st.DrawFn) -> tuple[Inventory, ChangeTarget, o.NamedObject]:
    """A cluster, and an object of it."""
    name = draw(CLUSTERS)
    kind, one = draw(st.sampled_from(named(name)))
    return seen(name), ChangeTarget(kind, one.name, one.namespace), one


def parts_changed(before: Inventory, after: Inventory) -> set[str]:
    return {name for name in PART_NAMES if before.part(name) != after.part(name)}


@given(targets(), st.data())
def test_no_change_raises_or_touches_another_part(
    place: tuple[Inventory, ChangeTarget, o.NamedObject], data: st.DataObject
) -> None:
    inventory, target, _ = place
    manifest = st.fixed_dictionaries(
        {
            "apiVersion": TEXT | st.sampled_from(["karpenter.sh/v1", "v1"]),
            "kind": st.just(target.kind),
            "metadata": st.fixed_dictionaries({"name": st.just(target.name), "labels": st.dictionaries(TEXT, TEXT)}),
            "spec": BODIES,
        }
    )
    changes: list[st.SearchStrategy[Change]] = [
        st.builds(ObjectPatch, target=st.just(target), body=BODIES),
        st.builds(ObjectPatch, target=st.just(target), body=st.lists(OPERATIONS, max_size=3).map(tuple)),
        st.builds(ObjectApply, manifest=manifest),
        st.builds(NodeTaint, target=st.just(target), key=TEXT, effect=TEXT, removed=st.booleans()),
    ]
    change = data.draw(st.one_of(changes))
    after = effect(inventory, change)
    if isinstance(after, NotShown):
        return
    follow = {"pods"} if target.kind in ("Deployment", "StatefulSet", "DaemonSet") else set()
    own = set(KINDS[target.kind][0])
    assert parts_changed(inventory, after) <= own | follow
    assert (after.aws, after.taken_at) == (inventory.aws, inventory.taken_at)
    assert remembers_only_positions(after)


@given(targets(), st.sampled_from(["background", "foreground", "orphan"]))
def test_a_deletion_takes_the_object_and_its_dependants_alone(
    place: tuple[Inventory, ChangeTarget, o.NamedObject], propagation: Any
) -> None:
    inventory, target, one = place
    after = effect(inventory, ObjectDelete(target=target, propagation=propagation))
    assert isinstance(after, Inventory)
    for name in KINDS[target.kind][0]:
        assert one not in after.part(name).items
    for name in PART_NAMES:
        before, left = inventory.part(name), after.part(name)
        if isinstance(before, Seen) and name != "pods":
            assert isinstance(left, Seen)
            assert len(left.items) <= len(before.items)
            assert [each for each in left.items if each not in before.items] == []


@given(CLUSTERS, st.dictionaries(TEXT, TREES, max_size=3), st.sampled_from(["karpenter", "karpenter-crd"]), TEXT)
def test_values_of_any_kind_never_raise(name: str, values: dict[str, Any], chart: str, version: str) -> None:
    given_ones = tuple(HelmValue(key, msgspec.json.encode(value).decode()) for key, value in values.items())
    change = HelmChange(chart=chart, release=chart, namespace="karpenter", values=given_ones, version=version)
    assert isinstance(effect(seen(name), change), Inventory | NotShown)


@given(CLUSTERS, TEXT)
def test_changes_of_hostile_names_never_raise(name: str, text: str) -> None:
    for change in every_change(text).values():
        assert isinstance(effect(seen(name), change), Inventory | NotShown)


MARKS = st.dictionaries(st.sampled_from(["karpenter.sh/a", "karpenter.sh/b", "eks.amazonaws.com/c"]), TEXT, max_size=2)
Marker = Callable[..., Change]


@given(targets(), MARKS, st.booleans(), st.data())
def test_the_way_back_of_marks_leads_back(
    place: tuple[Inventory, ChangeTarget, o.NamedObject], marks: dict[str, str], labels: bool, data: st.DataObject
) -> None:
    inventory, target, one = place
    had = (one.metadata.labels if labels else one.metadata.annotations) or {}
    kept = [key for key in had if key.startswith(("karpenter.", "eks."))]
    removed = data.draw(st.lists(st.sampled_from(kept), unique=True) if kept else st.just([]))
    marker: Marker = change_labels if labels else change_annotations
    change = marker(target, had, given=marks, removed=[key for key in removed if key not in marks])
    assert leads_back(inventory, change)


@given(targets(), BODIES)
def test_the_way_back_of_a_patch_leads_back(place: tuple[Inventory, ChangeTarget, o.NamedObject], body: Any) -> None:
    inventory, target, one = place
    if not isinstance(one, o.WholeObject):
        return
    patch = {"spec": {key: value for key, value in body.items() if key.isidentifier()}}
    undo = ObjectPatch(target=target, body=merge_patch_undo(patch, {"spec": one.spec or {}}))
    assert leads_back(inventory, ObjectPatch(target=target, body=patch, undo=undo))


def leads_back(inventory: Inventory, change: Change) -> bool:
    """Whether the undo brings the inventory back but for the generations, which only count up; maps of marks that
    become empty are none.
    """
    assert change.undo is not None
    after = effect(inventory, change)
    assert isinstance(after, Inventory), after
    back = effect(after, change.undo)
    assert isinstance(back, Inventory), back
    return all(plain(inventory, name) == plain(back, name) for name in PART_NAMES)


def without_empty_marks(tree: Any, parent: str = "") -> Any:
    """The tree without empty labels and annotations of a `metadata`: an undo takes only its own keys out of them."""
    if isinstance(tree, list):
        return [without_empty_marks(one) for one in tree]
    if not isinstance(tree, dict):
        return tree
    empty = {key for key in SHARED_MAPS if parent == "metadata" and tree.get(key) == {}}
    return {key: without_empty_marks(one, key) for key, one in tree.items() if key not in empty}


def plain(inventory: Inventory, name: str) -> list[object]:
    found: list[object] = []
    for one in inventory.part(name).items:
        tree = msgspec.to_builtins(one)
        if isinstance(one, o.NamedObject):
            metadata = tree.get("metadata", {})
            kept = {key: value for key, value in metadata.items() if value not in ({}, None) and key != "generation"}
            tree["metadata"] = kept
        found.append(without_empty_marks(tree))
    return found


@given(targets())
def test_a_group_that_fails_half_way_changes_nothing(place: tuple[Inventory, ChangeTarget, o.NamedObject]) -> None:
    inventory, target, one = place
    good = change_annotations(target, one.metadata.annotations, given={"karpenter.sh/a": "b"})
    bad = ObjectDelete(target=ChangeTarget("NodePool", "is not there"))
    before = [inventory.part(name) for name in PART_NAMES]
    assert effect(inventory, group(good, bad)) == NotShown("target_gone", "NodePool is not there")
    assert [inventory.part(name) for name in PART_NAMES] == before

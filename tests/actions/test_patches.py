"""A merge patch makes the one of the other, and its reverse restores what was there and nothing more."""

import copy
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from migrations_app.actions.changes import ObjectTarget
from migrations_app.actions.conditions import FieldEquals, Terminating, all_hold
from migrations_app.actions.patches import between, create_step, delete_step, leaves, patch_step, set_at
from migrations_app.manifests.patches import merge_patch_undo

TARGET = ObjectTarget("g.io", "v1", "things", "Thing", "one", uid="u")
LEAF = st.integers() | st.text(max_size=3) | st.booleans() | st.lists(st.integers(), max_size=2)
TREES = st.recursive(
    LEAF, lambda inner: st.dictionaries(st.sampled_from("abc1"), inner, min_size=1, max_size=3), max_leaves=12
)
OBJECTS = st.dictionaries(st.sampled_from(["spec", "data", "x"]), TREES, max_size=3)


def merged(tree: Any, patch: Any) -> Any:
    """RFC 7396, as the API server does it."""
    if not isinstance(patch, dict):
        return patch
    found = dict(tree) if isinstance(tree, dict) else {}
    for key, value in patch.items():
        if value is None:
            found.pop(key, None)
        else:
            found[key] = merged(found.get(key), value)
    return found


@given(OBJECTS, OBJECTS)
def test_the_patch_makes_the_one_of_the_other_and_back(before, after):
    kept = copy.deepcopy(before)
    patch = between(before, after)
    assert merged(before, patch) == after
    assert merged(after, merge_patch_undo(patch, before)) == before
    assert before == kept


@given(OBJECTS, OBJECTS)
def test_what_it_brings_holds_afterwards_and_what_its_undoing_brings_holds_then(before, after):  # A02
    patch = between(before, after)
    step = patch_step(TARGET, before, patch=patch, title="t")
    read = after | {"metadata": {"uid": "u"}}
    assert bool(patch) is all_hold(step.postconditions, read, uid="u")
    assert bool(patch) is all_hold(step.undo_postconditions, before | {"metadata": {"uid": "u"}}, uid="u")
    assert step.preconditions == tuple(one.field for one in step.postconditions)


def test_of_marks_only_our_own_are_taken_back():
    patch = {"metadata": {"annotations": {"ours": "1"}}, "spec": {"affinity": {"a": {"b": 1}}}}
    back = {"metadata": {"annotations": {"ours": None}}, "spec": {"affinity": None}}
    assert merge_patch_undo(patch, {"metadata": {}, "spec": {}}) == back


def test_leaves_name_every_field_with_dots_in_its_key():
    patch = {"metadata": {"annotations": {"a.b/c": "1"}}, "spec": {"list": [1], "empty": {}, "out": None}}
    assert list(leaves(patch)) == [
        (("metadata", "annotations", "a.b/c"), "1"),
        (("spec", "list"), [1]),
        (("spec", "empty"), {}),
        (("spec", "out"), None),
    ]


def test_set_at_copies_the_maps_on_the_way():
    tree = {"a": {"b": 1}, "c": 2}
    assert set_at(tree, ("a", "d", "e"), value=3) == {"a": {"b": 1, "d": {"e": 3}}, "c": 2}
    assert tree == {"a": {"b": 1}, "c": 2}


def test_what_was_created_is_told_by_its_fields_and_taken_back_by_deletion():
    body = {
        "apiVersion": "g.io/v1",
        "kind": "Thing",
        "metadata": {"name": "one", "labels": {"a": "b"}},
        "spec": {"x": 1},
    }
    step = create_step(TARGET, body, title="t")
    assert step.postconditions == (FieldEquals(("metadata", "labels", "a"), "b"), FieldEquals(("spec", "x"), 1))
    assert (step.undo.verb, step.undo_postconditions) == ("delete", (Terminating(),))


def test_a_deletion_is_not_taken_back():
    step = delete_step(TARGET, foreground=True, title="t")
    assert (step.change.body, step.postconditions, step.undo) == (
        {"propagationPolicy": "Foreground"},
        (Terminating(),),
        None,
    )

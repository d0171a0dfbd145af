"""Changes are values: compared by content, stored and read back, grouped."""

from typing import get_args

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from migrations_app.checks.changes import (
    Change,
    ChangeGroup,
    ChangeTarget,
    DeliveryPause,
    DeliveryResume,
    HelmChange,
    ObjectDelete,
    ObjectPatch,
    group,
    leaves,
)
from migrations_app.manifests.patches import merge_patch_undo

POOL = ChangeTarget("NodePool", "web", resource="nodepools.karpenter.sh")
UNDO = ObjectPatch(target=POOL, body={"spec": {"weight": None}})
PATCH = ObjectPatch(target=POOL, body={"spec": {"weight": 5}}, undo=UNDO, needs=("crds_served",), when="after")
DELETE = ObjectDelete(target=POOL, final="the object is gone", when="before", needs=("crds_served", "other"))
HELM = HelmChange(chart="karpenter", release="kp", namespace="ops", when="landing")
JSON = st.recursive(st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(), lambda inner: st.lists(inner))


def test_every_kind_has_a_word_of_its_own():
    tags = [one.__struct_config__.tag for one in get_args(Change)]
    assert len(set(tags)) == len(tags) == 16


@pytest.mark.parametrize(
    "change",
    [
        PATCH,
        DELETE,
        HELM,
        group(PATCH, DELETE, what="both"),
        ObjectPatch(target=POOL, body=({"op": "remove", "path": "/a"},), subresource="status"),
        DeliveryPause(target=POOL, undo=DeliveryResume(target=POOL, prune=True)),
    ],
)
def test_what_is_stored_comes_back_the_same(change):
    assert msgspec.json.decode(msgspec.json.encode(change), type=Change) == change


@given(st.dictionaries(st.text(), JSON))
def test_a_change_with_json_is_a_key(body):
    one, same = (ObjectPatch(target=POOL, body=dict(body)) for _ in range(2))
    other = ObjectPatch(target=POOL, body={**body, "another": 1})
    assert {one: 1, same: 2, other: 3} == {one: 2, other: 3}


def test_a_group_waits_for_the_last_and_needs_what_each_needs():
    found = group(PATCH, DELETE, HELM)
    assert (found.when, found.needs, found.target) == ("after", ("crds_served", "other"), POOL)
    assert group(DELETE, HELM).when == "landing"
    assert tuple(leaves(group(found, DELETE))) == (PATCH, DELETE, HELM, DELETE)


def test_one_step_is_no_group_unless_something_is_said():
    assert group(PATCH) is PATCH
    assert group(PATCH, what="x") == ChangeGroup(steps=(PATCH,), what="x", when="after", needs=("crds_served",))
    with pytest.raises(ValueError, match="changes something"):
        group()


def test_times_that_do_not_exist_are_refused():
    with pytest.raises(msgspec.ValidationError):
        msgspec.json.decode(b'{"type":"pause","target":{"kind":"a","name":"b"},"when":"later"}', type=Change)


TREES = st.recursive(
    st.integers() | st.text(max_size=2) | st.lists(st.integers(), max_size=2),
    lambda inner: st.dictionaries(st.sampled_from("abc"), inner, max_size=3),
)
TREE = st.dictionaries(st.sampled_from("abc"), TREES, max_size=3)
PATCHES = st.dictionaries(st.sampled_from("abc"), st.none() | TREES, max_size=3)


def merged(tree, patch):
    """RFC 7386."""
    found = dict(tree)
    for key, value in patch.items():
        if value is None:
            found.pop(key, None)
        elif isinstance(value, dict):
            found[key] = merged(found[key] if isinstance(found.get(key), dict) else {}, value)
        else:
            found[key] = value
    return found


@given(TREE, PATCHES)
def test_a_merge_patch_is_taken_back(tree, patch):
    assert merged(merged(tree, patch), merge_patch_undo(patch, tree)) == tree

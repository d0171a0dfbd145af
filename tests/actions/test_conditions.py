"""Conditions on an object as it was read: fields, list elements, absence, and the digest of what a plan rests on."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from migrations_app.actions.conditions import (
    Deleted,
    Exists,
    FieldEquals,
    ListContains,
    Terminating,
    all_hold,
    fields_digest,
    holds,
    value_at,
)

TAINT = {"key": "karpenter.sh/legacy", "effect": "NoSchedule"}
READ = {
    "metadata": {"uid": "u1", "annotations": {"karpdash.io/plan": "d"}, "resourceVersion": "7"},
    "spec": {"taints": [{"key": "a"}, TAINT | {"value": "true"}], "weight": 3},
}
GOING = {"metadata": {"uid": "u1", "deletionTimestamp": "2026-11-21T00:00:00Z"}}

CASES = [
    (FieldEquals(field=("spec", "weight"), value=3), READ, True),
    (FieldEquals(field=("spec", "weight"), value=4), READ, False),
    (FieldEquals(field=("spec", "missing")), READ, True),
    (FieldEquals(field=("spec", "missing")), None, False),
    (FieldEquals(field=("spec", "taints", "0", "key"), value="a"), READ, True),
    (ListContains(field=("spec", "taints"), element=TAINT), READ, True),
    (ListContains(field=("spec", "taints"), element=TAINT | {"effect": "NoExecute"}), READ, False),
    (ListContains(field=("spec", "taints"), element={"key": "b"}, absent=True), READ, True),
    (ListContains(field=("spec", "weight"), element=3), READ, False),
    (Exists(), READ, True),
    (Exists(marks={"karpdash.io/plan": "d"}), READ, True),
    (Exists(marks={"karpdash.io/plan": "e"}), READ, False),
    (Exists(), None, False),
    (Terminating(), READ, False),
    (Terminating(), GOING, True),
    (Terminating(), None, True),
    (Deleted(), GOING, False),
    (Deleted(), None, True),
]


@pytest.mark.parametrize(("condition", "read", "told"), CASES)
def test_conditions(condition, read, told):
    assert holds(condition, read, uid="u1") is told


def test_another_object_of_the_name_counts_as_gone():  # R22
    assert holds(Deleted(), READ, uid="u2")
    assert not holds(Exists(), READ, uid="u2")
    assert not holds(FieldEquals(field=("spec", "weight"), value=3), READ, uid="u2")


def test_no_condition_at_all_proves_nothing():
    assert not all_hold((), READ)
    assert all_hold((Exists(), FieldEquals(field=("spec", "weight"), value=3)), READ)
    assert not all_hold((Exists(), Deleted()), READ)


def test_a_projection_moves_with_its_fields_only():  # A02, T16
    fields = (("spec", "weight"), ("spec", "taints"))
    heartbeat = READ | {"metadata": READ["metadata"] | {"resourceVersion": "8"}}
    edited = READ | {"spec": READ["spec"] | {"weight": 4}}
    assert fields_digest(READ, fields) == fields_digest(heartbeat, fields)
    assert fields_digest(READ, fields) != fields_digest(edited, fields)
    assert fields_digest(None, fields) != fields_digest({}, fields)


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    )
)
def test_any_tree_can_be_asked(tree):
    assert value_at(tree, ("spec", "0", "x")) is None or isinstance(tree, dict)
    assert isinstance(holds(FieldEquals(field=("spec",)), tree if isinstance(tree, dict) else None), bool)

import pytest
from hypothesis import given
from hypothesis import strategies as st

from migrations_app.checks.base import Evidence, Unknown
from migrations_app.checks.evidence import (
    FLAG,
    MAP,
    MAPS,
    TEXT,
    TEXTS,
    WHOLE,
    at_field,
    kind_of,
    malformed_fields,
    split_malformed,
)
from migrations_app.inventory.objects.karpenter import EC2NodeClass, Metadata, NodePool, Provisioner

SHAPES = (FLAG, MAP, MAPS, TEXT, TEXTS, WHOLE)
TREES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("abc"), inner, max_size=3),
    max_leaves=8,
)


def pool(spec, name="web"):
    return NodePool(metadata=Metadata(name=name), spec=spec)


@pytest.mark.parametrize(
    ("value", "fitting"),
    [
        ("text", {TEXT}),
        (7, {WHOLE}),
        (1.5, set()),
        (True, {FLAG}),
        ([], {MAPS}),
        ([{}], {MAPS}),
        (["a"], set()),
        ({}, {MAP, TEXTS}),
        ({"a": "b"}, {MAP, TEXTS}),
        ({"a": 7}, {MAP}),
    ],
)
def test_what_fits_which_shape(value, fitting):
    assert {shape for shape in SHAPES if not list(malformed_fields([pool({"a": value})], {"spec.a": shape}))} == fitting


@pytest.mark.parametrize("spec", [None, {}, {"a": None}, {"a": {"b": None}}])
def test_what_is_not_there_is_not_odd(spec):
    assert list(malformed_fields([pool(spec)], {"spec.a.b": TEXT})) == []


def test_the_word_names_kind_name_and_field():
    assert list(malformed_fields([pool({"a": 7})], {"spec.a": TEXT})) == [Unknown("NodePool web: spec.a is not a text")]


@pytest.mark.parametrize(("spec", "where"), [({"a": []}, "spec.a"), ({"a": {"b": 7}}, "spec.a.b")])
def test_the_word_names_the_step_that_is_no_map(spec, where):
    assert list(malformed_fields([pool(spec)], {"spec.a.b.c": TEXT})) == [Unknown(f"NodePool web: {where} is no map")]


def test_odd_objects_are_set_apart():
    good, bad = pool({"a": "x"}), pool({"a": 7, "b": 8}, name="odd")
    words = tuple(Unknown(f"NodePool odd: spec.{name} is not a text") for name in "ab")
    assert split_malformed([good, bad], {"spec.a": TEXT, "spec.b": TEXT}) == (words, (good,))


@given(TREES, st.sampled_from(SHAPES))
def test_no_tree_crashes_it(tree, shape):
    words, sound = split_malformed([pool({"a": tree})], {"spec.a.b": shape, "spec.a": shape})
    assert bool(words) is not bool(sound)


def test_kinds_are_told_where_lists_leave_them_out():
    assert [kind_of(kind()) for kind in (NodePool, EC2NodeClass, Provisioner)] == [
        "NodePool",
        "EC2NodeClass",
        "Provisioner",
    ]
    assert kind_of(NodePool(kind="Other")) == "Other"


@pytest.mark.parametrize(
    ("seen", "told"), [("x" * 300, "x" * 200), (7, "7"), ({"b": [None, True]}, '{"b": [null, true]}')]
)
def test_a_cause_shows_the_value_as_the_api_words_it(seen, told):
    expected = Evidence(kind="NodePool", name="web", path="spec.a", seen=told, wanted="b")
    assert at_field(pool({}), "spec.a", seen=seen, wanted="b") == expected

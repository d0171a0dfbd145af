import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from migrations_app.inventory.facts.node_classes import (
    ANNOTATION,
    PATH,
    kubelet_meanings,
    kubelet_of,
    kubelet_text,
    same_meaning,
)
from migrations_app.inventory.objects.karpenter import Metadata, NodePool
from migrations_app.karpenter.labels import KUBELET_COMPATIBILITY
from tests.builders.pools import AUTO_MODE, REFERENCE, a_class, a_pool, at

MANY = {"maxPods": 58}


def pool(kubelet=None, parked=""):
    annotations = {KUBELET_COMPATIBILITY: parked} if parked else None
    return NodePool(metadata=Metadata(annotations=annotations), spec={"template": {"spec": {"kubelet": kubelet}}})


@pytest.mark.parametrize(
    ("one", "expected"),
    [
        (pool(), ("", {})),
        (pool(MANY), (PATH, MANY)),
        (pool({}), (PATH, {})),
        (pool(None, json.dumps(MANY)), (ANNOTATION, MANY)),
        (pool(MANY, "{}"), (PATH, MANY)),
        (pool([]), (PATH, None)),
        (pool({"evictionHard": ["x"]}), (PATH, None)),
        (pool(None, "{"), (ANNOTATION, None)),
        (pool(None, "[]"), (ANNOTATION, None)),
    ],
)
def test_where_the_settings_stand(one, expected):
    assert kubelet_of(one) == expected


@pytest.mark.parametrize("nothing", [None, {}, [], "x", {"systemReserved": 7}])
def test_what_means_nothing(nothing):
    assert same_meaning(nothing) == ""


def test_values_are_compared_not_spellings():
    first, second = {"kubeReserved": {"cpu": "1"}}, {"kubeReserved": {"cpu": "1000m"}}
    assert same_meaning(first) == same_meaning(second) != ""


@given(
    st.dictionaries(st.sampled_from(["kubeReserved", "maxPods", "evictionSoft"]), st.none() | st.integers() | st.text())
)
def test_no_settings_crash_it(settings):
    assert isinstance(same_meaning(settings), str)


def test_deep_annotations_are_unreadable():
    assert kubelet_of(pool(None, "[" * 100_000)) == (ANNOTATION, None)


def test_settings_are_shown_as_they_are_written_and_without_what_is_empty():
    written = {
        "systemReserved": {"cpu": "100m"},
        "maxPods": 20,
        "evictionHard": {},
        "clusterDNS": [],
        "podsPerCore": None,
    }
    assert kubelet_text(written) == '{"maxPods": 20, "systemReserved": {"cpu": "100m"}}'


def annotated(name, text, **more):
    return a_pool({"metadata.annotations": {KUBELET_COMPATIBILITY: text} if text else {}, **more}, name=name)


@pytest.mark.parametrize(
    ("second", "own", "expected"),
    [
        ('{"maxPods":58}', None, {same_meaning(MANY)}),
        ('{"maxPods":20}', None, {same_meaning(MANY), same_meaning({"maxPods": 20})}),
        ("", None, {same_meaning(MANY), ""}),
        ("", MANY, {same_meaning(MANY)}),
        ("{", None, {same_meaning(MANY), None}),
    ],
)
def test_what_the_pools_of_a_class_want(second, own, expected):
    docs = (annotated("web", '{"maxPods":58}'), annotated("api", second), a_class({"spec.kubelet": own}))
    assert kubelet_meanings(at("1.0.14", *docs).build()) == {"default": expected}


def test_pools_of_auto_mode_and_pools_without_a_class_share_nothing():
    docs = (annotated("auto", '{"maxPods":58}', **{REFERENCE: AUTO_MODE}), annotated("none", "", **{REFERENCE: {}}))
    assert kubelet_meanings(at("1.0.14", *docs).build()) == {}

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from migrations_app.inventory.facts.node_classes import ANNOTATION, PATH, kubelet_of, same_meaning
from migrations_app.inventory.objects.karpenter import Metadata, NodePool
from migrations_app.karpenter.labels import KUBELET_COMPATIBILITY

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

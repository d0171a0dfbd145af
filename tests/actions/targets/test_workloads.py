"""Retired keys in pod templates: what selects is replaced, what keeps off stands for both, all else stays as it is."""

import copy

import pytest
from hypothesis import given
from hypothesis import strategies as st

from migrations_app.actions.targets.workloads import Renaming
from migrations_app.karpenter import labels

OLD, NEW = "karpenter.sh/provisioner-name", "karpenter.sh/nodepool"
REQUIRED, PREFERRED = (
    "requiredDuringSchedulingIgnoredDuringExecution",
    "preferredDuringSchedulingIgnoredDuringExecution",
)
EVICT, DISRUPT = labels.DO_NOT_EVICT, labels.DO_NOT_DISRUPT
BESIDE = Renaming(lambda name: f"pool-{name}")
INSTEAD = Renaming(lambda name: f"pool-{name}", {OLD, labels.DO_NOT_EVICT, labels.DO_NOT_CONSOLIDATE})


def renamed(spec, renaming=BESIDE):
    return renaming.template({"spec": spec}, marks=True, placement=True)["spec"]


def rule(key, operator, *values):
    return {"key": key, "operator": operator} | ({"values": list(values)} if values else {})


def required(*rows):
    return {"affinity": {"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": [{"matchExpressions": list(rows)}]}}}}


def preferred(*rows):
    return {"affinity": {"nodeAffinity": {PREFERRED: [{"weight": 7, "preference": {"matchExpressions": list(rows)}}]}}}


def test_a_node_selector():
    assert renamed({"nodeSelector": {OLD: "web", "a": "b"}}) == {"nodeSelector": {NEW: "pool-web", "a": "b"}}
    assert renamed({"nodeSelector": {OLD: "web", NEW: "mine"}}) == {"nodeSelector": {NEW: "mine"}}


@pytest.mark.parametrize("place", [required, preferred])
@pytest.mark.parametrize(
    ("given_rule", "beside", "instead"),
    [
        (rule(OLD, "In", "a"), [rule(NEW, "In", "pool-a")], [rule(NEW, "In", "pool-a")]),
        (rule(OLD, "Exists"), [rule(NEW, "Exists")], [rule(NEW, "Exists")]),
        (
            rule(OLD, "DoesNotExist"),
            [rule(OLD, "DoesNotExist"), rule(NEW, "DoesNotExist")],
            [rule(NEW, "DoesNotExist")],
        ),
        (rule(OLD, "NotIn", "a"), [rule(OLD, "NotIn", "a"), rule(NEW, "NotIn", "a")], [rule(NEW, "NotIn", "a")]),
        (rule("zone", "In", "a"), [rule("zone", "In", "a")], [rule("zone", "In", "a")]),
    ],
)
def test_node_affinity(place, given_rule, beside, instead):  # WL-01, WL-02
    assert renamed(place(given_rule)) == place(*beside)
    assert renamed(place(given_rule), INSTEAD) == place(*instead)


def test_what_stands_for_both_already_is_not_said_twice():
    both = required(rule(OLD, "DoesNotExist"), rule(NEW, "DoesNotExist"))
    assert renamed(both) == both


def test_topology_keys():
    term, other = {"topologyKey": OLD, "labelSelector": {}}, {"topologyKey": "zone"}
    spec = {
        "affinity": {
            kind: {REQUIRED: [term, other], PREFERRED: [{"weight": 1, "podAffinityTerm": term}]}
            for kind in ("podAffinity", "podAntiAffinity")
        },
        "topologySpreadConstraints": [term, other],
    }
    found = renamed(spec)
    new = term | {"topologyKey": NEW}
    assert found["topologySpreadConstraints"] == [new, other]
    for kind in ("podAffinity", "podAntiAffinity"):
        wanted = {REQUIRED: [new, other], PREFERRED: [{"weight": 1, "podAffinityTerm": new}]}
        assert found["affinity"][kind] == wanted


@pytest.mark.parametrize(
    ("given_marks", "beside", "instead"),
    [
        ({EVICT: "true"}, {EVICT: "true", DISRUPT: "true"}, {DISRUPT: "true"}),
        ({EVICT: "false"}, {EVICT: "false", DISRUPT: "false"}, {DISRUPT: "false"}),
        (
            {labels.DO_NOT_EVICT: "false", labels.DO_NOT_CONSOLIDATE: "true"},
            {labels.DO_NOT_EVICT: "false", labels.DO_NOT_CONSOLIDATE: "true", labels.DO_NOT_DISRUPT: "true"},
            {labels.DO_NOT_DISRUPT: "true"},
        ),
        (
            {labels.DO_NOT_EVICT: "true", labels.DO_NOT_DISRUPT: "false"},
            {labels.DO_NOT_EVICT: "true", labels.DO_NOT_DISRUPT: "false"},
            {labels.DO_NOT_DISRUPT: "false"},
        ),
        ({"mine": "true"}, {"mine": "true"}, {"mine": "true"}),
    ],
)  # fmt: skip
def test_the_value_of_a_mark_is_kept(given_marks, beside, instead):  # WL-03
    assert BESIDE.metadata({"annotations": given_marks}) == {"annotations": beside}
    assert INSTEAD.metadata({"annotations": given_marks}) == {"annotations": instead}


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=3) | st.sampled_from([OLD, NEW, labels.DO_NOT_EVICT]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                ["nodeSelector", "affinity", "nodeAffinity", "podAffinity", REQUIRED, PREFERRED, "nodeSelectorTerms",
                 "matchExpressions", "key", "operator", "values", "topologyKey", "preference", "podAffinityTerm",
                 "topologySpreadConstraints", "annotations", OLD, labels.DO_NOT_EVICT]
            ),
            inner,
            max_size=3,
        )
    ),
    max_leaves=20,
)  # fmt: skip


@given(metadata=JSON, spec=JSON)
def test_nothing_odd_breaks_it_and_its_input_stays_as_it_was(metadata, spec):
    odd = {"metadata": metadata, "spec": spec}
    before = copy.deepcopy(odd)
    once = INSTEAD.template(odd, marks=True, placement=True)
    assert odd == before
    assert INSTEAD.template(once, marks=True, placement=True) == once or OLD in str(once)

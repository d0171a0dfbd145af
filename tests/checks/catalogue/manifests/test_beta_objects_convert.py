import pytest

from tests.builders.clusters import asked_hops, remedies
from tests.builders.pools import (
    AUTO_MODE,
    GONE,
    REFERENCE,
    a_class,
    a_pool,
    a_template,
    answer,
    at,
    found,
    parses,
    row,
    unseen_is_unknown,
)

CHECK = "beta_objects_convert"
GOOD = ("pass", "Every v1beta1 object can be converted")


def beta(pool=None, node_class=None):
    return at("0.37.8", a_pool(pool, version="v1beta1"), a_class(node_class, version="v1beta1"))


def test_both_can_be_converted():
    assert answer(CHECK, "1.0", beta()) == GOOD


def test_a_template_beside_the_class_that_replaced_it():
    cluster = at("0.32.10", a_template(), a_class(version="v1beta1"), a_pool(version="v1beta1"))
    assert answer(CHECK, "1.0", cluster) == GOOD


def test_no_reference():
    cause = row(
        "NodePool",
        "web",
        REFERENCE,
        seen="nodeClassRef.name is missing; name the node class of this object",
        wanted="v1 requires the node class by group, kind and name.",
    )
    assert found(CHECK, "1.0", beta({REFERENCE: GONE})) == ("fail", (cause,))


@pytest.mark.parametrize(
    ("pool", "node_class", "path"),
    [
        ({"spec.disruption": {"consolidationPolicy": "WhenEmpty"}}, None, "spec.disruption.consolidateAfter"),
        (None, {"spec.amiFamily": "Custom"}, "spec.amiSelectorTerms"),
        (None, {"spec.amiFamily": GONE}, "spec.amiFamily"),
        (None, {"spec.subnetSelectorTerms": GONE}, "spec.subnetSelectorTerms"),
        (None, {"spec.blockDeviceMappings": [{"ebs": {}}]}, "spec.blockDeviceMappings[0].ebs"),
    ],
)
def test_what_has_to_be_decided(pool, node_class, path):
    status, causes = found(CHECK, "1.0", beta(pool, node_class))
    assert (status, [one.path for one in causes]) == ("fail", [path])


def test_kubelet_settings_of_a_pool_whose_class_is_not_there():
    cluster = at("0.37.8", a_pool({"spec.template.spec.kubelet": {"maxPods": 58}}, version="v1beta1"))
    status, causes = found(CHECK, "1.0", cluster)
    assert (status, [one.path for one in causes]) == ("fail", ["spec.template.spec.kubelet"])


@pytest.mark.parametrize(
    ("changes", "field"),
    [({"spec.weight": "ten"}, "spec.weight"), ({"spec.limits": []}, "spec.limits"), ({"spec.template": 7}, "template")],
)
def test_odd_values_are_unknown_by_their_field(changes, field):
    status, summary = answer(CHECK, "1.0", beta(changes))
    assert (status, summary.startswith("NodePool web: "), field in summary) == ("unknown", True, True)


def test_pools_of_auto_mode_are_not_asked_about():
    cluster = at("1.0.14", a_pool({REFERENCE: AUTO_MODE, "spec.limits": []}))
    assert answer(CHECK, "1.1+", cluster) == ("not_applicable", "nothing is read as v1beta1")


def test_v1_objects_are_done():
    assert answer(CHECK, "1.1+", at("1.0.14", a_pool(), a_class()))[0] == "not_applicable"
    assert asked_hops(CHECK) == ("1.0", "1.1+")


def test_unseen():
    unseen_is_unknown(CHECK, "1.0", version="0.37.8")


def test_the_remedy_shows_the_conversion():
    given = remedies(CHECK, "1.0", beta({REFERENCE: GONE}))
    assert parses(given) == ["kubectl"]
    get = "kubectl get nodepools.karpenter.sh web -o yaml | karpdash convert -f -"
    assert given[0].text.splitlines()[1:] == [get]


ALIAS = {"spec.amiSelectorTerms": [{"alias": "al2023@v20240807"}]}
ROWS = "spec.template.spec.requirements"
KEY = "node.kubernetes.io/instance-type"


@pytest.mark.parametrize("odd", [7, [7], {"key": KEY}, [{"key": KEY, "operator": "In", "values": 7}]])
def test_an_odd_requirement_of_a_v1_pool_keeps_no_class_from_being_judged(odd):
    cluster = at("1.0.14", a_pool({ROWS: odd}), a_class(ALIAS), a_class(name="old", version="v1beta1"))
    assert answer(CHECK, "1.1+", cluster) == GOOD


@pytest.mark.parametrize("odd", [7, "x", {"name": "default"}])
def test_an_odd_reference_of_a_v1_pool_does_not_either(odd):
    cluster = at("1.0.14", a_pool({REFERENCE: odd}), a_class(ALIAS), a_class(name="old", version="v1beta1"))
    assert answer(CHECK, "1.1+", cluster) == GOOD


@pytest.mark.parametrize("odd", [7, ["x"], [{"alias": 7}], {"alias": "al2023@latest"}])
def test_nor_do_odd_terms_of_a_v1_class(odd):
    terms = a_class({"spec.amiSelectorTerms": odd})
    assert answer(CHECK, "1.1+", at("1.0.14", a_pool(), terms, a_class(name="old", version="v1beta1"))) == GOOD

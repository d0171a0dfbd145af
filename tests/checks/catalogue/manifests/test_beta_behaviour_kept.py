from tests.builders.clusters import asked_hops, remedies
from tests.builders.pools import a_class, a_pool, answer, at, found, parses, row, unseen_is_unknown

CHECK = "beta_behaviour_kept"
ODD_PAIR = {"spec.disruption.consolidateAfter": "5m"}
AFTER = row(
    "NodePool",
    "web",
    "spec.disruption.consolidateAfter",
    seen="5m had no effect with WhenUnderutilized and has one in v1",
    wanted="v1beta1 forbids this pair, v1 allows it, so now it takes effect.",
)


def beta(pool=None, node_class=None):
    return at("0.37.8", a_pool(pool, version="v1beta1"), a_class(node_class, version="v1beta1"))


def test_nothing_changes():
    assert answer(CHECK, "1.0", beta()) == ("pass", "Every v1beta1 setting keeps its meaning in v1")


def test_a_time_that_had_no_effect():
    assert found(CHECK, "1.0", beta(ODD_PAIR)) == ("fail", (AFTER,))


def test_a_field_that_nobody_knows():
    status, causes = found(CHECK, "1.0", beta(None, {"spec.ownField": 1}))
    assert (status, [(one.kind, one.path) for one in causes]) == ("fail", [("EC2NodeClass", "spec.ownField")])


def test_an_id_beside_other_filters():
    terms = [{"id": "ami-1", "name": "own"}, {"id": "ami-2"}]
    status, causes = found(CHECK, "1.0", beta(None, {"spec.amiSelectorTerms": terms}))
    assert (status, [one.path for one in causes]) == ("fail", ["spec.amiSelectorTerms[0]"])


def test_odd_values_are_unknown_by_their_field():
    status, summary = answer(CHECK, "1.0", beta({"spec.disruption": []}))
    assert (status, summary.startswith("NodePool web: spec.disruption")) == ("unknown", True)


def test_v1_objects_are_done():
    assert answer(CHECK, "1.0", at("0.37.8"))[0] == "not_applicable"
    assert asked_hops(CHECK) == ("1.0",)


def test_unseen():
    unseen_is_unknown(CHECK, "1.0", version="0.37.8")


def test_the_remedy_prints_the_v1_form():
    given = remedies(CHECK, "1.0", beta(ODD_PAIR))
    assert parses(given) == ["kubectl"]
    get = "kubectl get nodepools.karpenter.sh web -o yaml | karpdash convert -f -"
    assert given[0].text.splitlines()[1:] == [get]

import pytest

from tests.builders.clusters import asked_hops, finding_of, remedies
from tests.builders.pools import a_class, a_template, answer, at, found, parses, row, unseen_is_unknown

CHECK = "selector_values_hold_no_comma"
TERMS = ("spec.subnetSelectorTerms", "spec.securityGroupSelectorTerms", "spec.amiSelectorTerms")


def beta(changes=None):
    return at("0.32.10", a_class(changes, version="v1beta1"))


def test_plain_values():
    assert answer(CHECK, "0.33+", beta()) == ("pass", "No tag value of a selector is a list")


@pytest.mark.parametrize("path", TERMS)
def test_a_list_in_a_term(path):
    terms = [{"tags": {"team": "a"}}, {"tags": {"team": "a,b"}}]
    cause = row("EC2NodeClass", "default", f"{path}[1].tags[team]", seen="a,b", wanted="a term for each value")
    assert found(CHECK, "0.33+", beta({path: terms})) == ("fail", (cause,))


def test_a_list_in_a_selector_of_old():
    template = a_template({"spec.subnetSelector": {"team": "a,b", "zone": "c"}})
    cause = row("AWSNodeTemplate", "default", "spec.subnetSelector[team]", seen="a,b", wanted="a term for each value")
    assert found(CHECK, "0.32", at("0.31.5", template)) == ("fail", (cause,))
    # Once 0.32 runs the template goes with its Provisioner, which other checks see to.
    assert found(CHECK, "0.33+", at("0.32.10", template)) == ("pass", ())


@pytest.mark.parametrize(
    ("terms", "words"),
    [
        ({"tags": {}}, "spec.subnetSelectorTerms is not a list of maps"),
        (["subnet-1"], "spec.subnetSelectorTerms is not a list of maps"),
        ([{"tags": ["a,b"]}], "spec.subnetSelectorTerms[0].tags is no map"),
    ],
)
def test_odd_terms_are_unknown_by_their_field(terms, words):
    told = answer(CHECK, "0.33+", beta({"spec.subnetSelectorTerms": terms}))
    assert told == ("unknown", f"EC2NodeClass default: {words}")


def test_an_odd_selector_is_unknown_by_its_field():
    told = answer(CHECK, "0.32", at("0.31.5", a_template({"spec.subnetSelector": {"team": 7}})))
    assert told == ("unknown", "AWSNodeTemplate default: spec.subnetSelector is not a map of texts")


def test_without_classes_it_does_not_arise():
    absent = ("not_applicable", "there is no EC2NodeClass and no AWSNodeTemplate")
    assert answer(CHECK, "0.33+", at("0.32.10")) == absent


def test_it_blocks_where_lists_end():
    assert asked_hops(CHECK) == ("0.32", "0.33+")
    assert finding_of(CHECK, "0.33+", beta()).severity == "blocker"
    assert finding_of(CHECK, "0.32", at("0.31.5", a_template())).severity == "warning"


def test_unseen():
    unseen_is_unknown(CHECK, "0.33+", version="0.32.10")


def test_the_remedy():
    given = remedies(CHECK, "0.33+", beta({"spec.subnetSelectorTerms": [{"tags": {"team": "a,b"}}]}))
    assert parses(given) == ["kubectl"]
    place = "spec.subnetSelectorTerms[0].tags[team]; a term for each value"
    assert given[0].text == f"kubectl edit ec2nodeclasses.karpenter.k8s.aws default  # {place}"

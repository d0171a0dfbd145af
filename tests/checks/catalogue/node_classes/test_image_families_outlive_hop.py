import pytest

from tests.builders.clusters import a_cluster, asked_hops, remedies
from tests.builders.newest import NEWEST_MINOR
from tests.builders.pools import a_class, answer, at, found, parses, row, unseen_is_unknown

CHECK = "image_families_outlive_hop"
GOOD = ("pass", "Every image family is published for this Kubernetes")
AL2 = {"spec.amiSelectorTerms": [{"alias": "al2@latest"}]}


def ends(path: str):
    seen = "AL2, which ends before Kubernetes 1.33"
    return row("EC2NodeClass", "default", path, seen=seen, wanted="AL2023 or Bottlerocket")


def v1(changes=None, *, kubernetes: str = "1.33"):
    return at("1.8.2", a_class(changes), kubernetes=kubernetes)


def test_families_that_go_on():
    assert answer(CHECK, NEWEST_MINOR, v1()) == GOOD


@pytest.mark.parametrize("kubernetes", ["1.33", "1.34"])
def test_al2_by_alias(kubernetes):
    assert found(CHECK, NEWEST_MINOR, v1(AL2, kubernetes=kubernetes)) == (
        "fail",
        (ends("spec.amiSelectorTerms[0].alias"),),
    )


def test_al2_by_family():
    changes = {"spec.amiFamily": "AL2", "spec.amiSelectorTerms": []}
    assert found(CHECK, NEWEST_MINOR, v1(changes)) == ("fail", (ends("spec.amiFamily"),))


def test_before_its_end_al2_is_fine():
    assert answer(CHECK, NEWEST_MINOR, v1(AL2, kubernetes="1.32")) == GOOD


def test_named_images_do_not_end():
    named = {"spec.amiFamily": "AL2", "spec.amiSelectorTerms": [{"id": "ami-1"}]}
    assert answer(CHECK, NEWEST_MINOR, v1(named)) == GOOD


def test_an_unknown_kubernetes():
    cluster = a_cluster("1.8.2", kubernetes="1.33").with_docs(a_class(AL2)).with_kubernetes("strange")
    words = "EC2NodeClass default: AL2 ends with 1.33; Kubernetes is unknown"
    assert answer(CHECK, NEWEST_MINOR, cluster) == ("unknown", words)


@pytest.mark.parametrize("odd", [7, ["AL2"]])
def test_odd_values_are_unknown_by_their_field(odd):
    told = ("unknown", "EC2NodeClass default: spec.amiFamily is not a text")
    assert answer(CHECK, NEWEST_MINOR, v1({"spec.amiFamily": odd})) == told


def test_without_classes_it_does_not_arise():
    assert answer(CHECK, NEWEST_MINOR, at("1.8.2"))[0] == "not_applicable"
    assert asked_hops(CHECK)[0] == "0.33+"


def test_unseen():
    unseen_is_unknown(CHECK, NEWEST_MINOR, version="1.8.2", skip=["version"])


def test_the_remedy():
    given = remedies(CHECK, NEWEST_MINOR, v1(AL2))
    assert parses(given) == ["kubectl"]
    what = "spec.amiSelectorTerms[0].alias; AL2023 or Bottlerocket"
    edit = f"kubectl edit ec2nodeclasses.karpenter.k8s.aws default  # {what}"
    assert given[0].text.splitlines()[1:] == [edit]

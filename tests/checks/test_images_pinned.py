import pytest

from tests.builders import ask, asked_hops, remedies
from tests.builders_pools import a_class, answer, at, found, parses, row, unseen_is_unknown

CHECK = "images_pinned"
TERMS = "spec.amiSelectorTerms"
WANTED = "a pinned release, such as al2023@v20260901"
GOOD = ("pass", "Every node class pins its images")


def v1(alias: str):
    return at("1.0.14", a_class({TERMS: [{"alias": alias}]}))


@pytest.mark.parametrize("alias", ["al2023@v20260901", "bottlerocket@v1.40.0", "windows2022@latest"])
def test_a_pinned_alias(alias):
    assert answer(CHECK, "1.1+", v1(alias)) == GOOD


def test_the_newest_by_alias():
    cause = row("EC2NodeClass", "default", f"{TERMS}[0].alias", seen="al2023@latest", wanted=WANTED)
    assert found(CHECK, "1.1+", v1("al2023@latest")) == ("fail", (cause,))


def test_the_newest_by_family():
    seen = "absent: the newest image of AL2023"
    cause = row("EC2NodeClass", "default", TERMS, seen=seen, wanted=f"{WANTED}, once v1 is read")
    assert found(CHECK, "1.0", at("0.37.8", a_class(version="v1beta1"))) == ("fail", (cause,))


@pytest.mark.parametrize("changes", [{TERMS: [{"id": "ami-1"}]}, {"spec.amiFamily": "Custom"}])
def test_named_images_of_v1beta1(changes):
    assert answer(CHECK, "1.0", at("0.37.8", a_class(changes, version="v1beta1"))) == GOOD


@pytest.mark.parametrize("odd", ["al2023@latest", {"alias": "x"}, [7]])
def test_odd_values_are_unknown_by_their_field(odd):
    told = ("unknown", f"EC2NodeClass default: {TERMS} is not a list of maps")
    assert answer(CHECK, "1.1+", at("1.0.14", a_class({TERMS: odd}))) == told


def test_without_classes_it_does_not_arise():
    assert answer(CHECK, "1.0", at("0.37.8")) == ("not_applicable", "there is no EC2NodeClass yet")
    assert (asked_hops(CHECK)[0], ask(CHECK, "1.0", at("0.37.8")).severity) == ("1.0", "info")


def test_unseen():
    unseen_is_unknown(CHECK, "1.1+", version="1.0.14")


def test_the_remedy():
    given = remedies(CHECK, "1.1+", v1("al2023@latest"))
    assert parses(given) == ["kubectl"]
    assert given[0].text.splitlines() == [
        "# What is in use stands in status.amis of the class",
        f"kubectl edit ec2nodeclasses.karpenter.k8s.aws default  # {TERMS}[0].alias; {WANTED}",
    ]

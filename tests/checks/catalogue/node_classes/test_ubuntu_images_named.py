import pytest

from tests.builders.clusters import asked_hops, remedies
from tests.builders.pools import a_class, answer, at, found, parses, row, unseen_is_unknown

CHECK = "ubuntu_images_named"
GOOD = ("pass", "Node classes with Ubuntu select their images")
TERMS = {"spec.amiSelectorTerms": [{"name": "own-ubuntu-*"}]}
UBUNTU = {"spec.amiFamily": "Ubuntu"}
MARK = "compatibility.karpenter.k8s.aws/v1beta1-ubuntu"
WANTED = "amiFamily AL2 or Custom, with amiSelectorTerms that name the images"


def beta(changes=None, *, version: str = "0.37.8", kubernetes: str = "1.29"):
    return at(version, a_class(changes, version="v1beta1"), kubernetes=kubernetes)


def counted(terms: str):
    seen = f"Ubuntu with {terms} amiSelectorTerms"
    return "fail", (row("EC2NodeClass", "default", "spec.amiFamily", seen=seen, wanted=WANTED),)


@pytest.mark.parametrize("hop", ["1.0", "1.1+"])
def test_other_families(hop):
    assert answer(CHECK, hop, beta()) == GOOD


def test_named_images_get_over_1_0_and_not_over_1_1():
    assert answer(CHECK, "1.0", beta(UBUNTU | TERMS)) == GOOD
    assert found(CHECK, "1.1+", beta(UBUNTU | TERMS)) == counted("1")


@pytest.mark.parametrize("hop", ["1.0", "1.1+"])
def test_images_without_a_name(hop):
    assert found(CHECK, hop, beta(UBUNTU)) == counted("no")


@pytest.mark.parametrize(("kubernetes", "expected"), [("1.28", ("pass", ())), ("1.29", counted("no"))])
def test_from_kubernetes_1_29_on_nothing_finds_them(kubernetes, expected):
    assert found(CHECK, "0.33+", beta(UBUNTU, version="0.32.10", kubernetes=kubernetes)) == expected


def test_what_the_conversion_could_not_carry_over():
    path, mark = f"metadata.annotations[{MARK}]", "amiFamily,blockDeviceMappings,incompatible"
    cause = row("EC2NodeClass", "default", path, seen=mark, wanted=f"absent, in one edit with {WANTED}")
    cluster = at("1.0.14", a_class({"metadata.annotations": {MARK: mark}}))
    assert found(CHECK, "1.1+", cluster) == ("fail", (cause,))


@pytest.mark.parametrize(("path", "what"), [("spec.amiFamily", "a text"), ("spec.amiSelectorTerms", "a list of maps")])
def test_odd_values_are_unknown_by_their_field(path, what):
    assert answer(CHECK, "1.0", beta({path: 7})) == ("unknown", f"EC2NodeClass default: {path} is not {what}")


def test_without_classes_it_does_not_arise():
    assert answer(CHECK, "1.0", at("0.37.8")) == ("not_applicable", "there is no EC2NodeClass yet")
    assert asked_hops(CHECK) == ("0.33+", "1.0", "1.1+")


def test_unseen():
    unseen_is_unknown(CHECK, "1.0", version="0.37.8", skip=["version"])


def test_the_remedy_shows_the_images_in_use():
    given = remedies(CHECK, "1.0", beta(UBUNTU))
    assert parses(given) == ["kubectl"]
    images = "kubectl get ec2nodeclasses.karpenter.k8s.aws default -o jsonpath='{.status.amis[*].id}'"
    assert given[0].text.splitlines() == [
        f"# The images in use today: {images}",
        f"kubectl edit ec2nodeclasses.karpenter.k8s.aws default  # spec.amiFamily; {WANTED}",
    ]

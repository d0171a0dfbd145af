import pytest

from tests.builders import asked_hops, remedies
from tests.builders_pools import GONE, a_class, answer, at, found, parses, row, unseen_is_unknown

CHECK = "node_classes_have_one_identity"
GOOD = ("pass", "Every node class has exactly one identity")
ARN = "arn:aws:iam::111122223333:role/team/nodes"


def beta(changes=None):
    return at("0.37.8", a_class(changes, version="v1beta1"))


def bad(seen: str, wanted: str):
    return "fail", (row("EC2NodeClass", "default", "spec.role", seen=seen, wanted=wanted),)


@pytest.mark.parametrize("changes", [{}, {"spec.role": GONE, "spec.instanceProfile": "nodes"}])
def test_one_of_the_two(changes):
    assert answer(CHECK, "1.0", beta(changes)) == GOOD


def test_both():
    seen = "KarpenterNodeRole-test, beside the instance profile nodes"
    assert found(CHECK, "1.0", beta({"spec.instanceProfile": "nodes"})) == bad(seen, "one of the two")


@pytest.mark.parametrize("nothing", [GONE, "", None])
def test_neither(nothing):
    expected = bad("absent, and no instance profile", "role or instanceProfile")
    assert found(CHECK, "1.0", beta({"spec.role": nothing})) == expected


def test_an_arn_in_the_place_of_a_name():
    assert found(CHECK, "1.0", beta({"spec.role": ARN})) == bad(ARN, "nodes")


@pytest.mark.parametrize("odd", [7, ["nodes"], {"name": "nodes"}])
def test_odd_values_are_unknown_by_their_field(odd):
    told = ("unknown", "EC2NodeClass default: spec.role is not a text")
    assert answer(CHECK, "1.0", beta({"spec.role": odd})) == told


def test_without_classes_it_does_not_arise():
    assert answer(CHECK, "1.0", at("0.37.8")) == ("not_applicable", "there is no EC2NodeClass yet")
    assert asked_hops(CHECK)[0] == "0.33+"


def test_unseen():
    unseen_is_unknown(CHECK, "1.0", version="0.37.8")


def test_the_remedy():
    given = remedies(CHECK, "1.0", beta({"spec.role": ARN}))
    assert parses(given) == ["kubectl"]
    edit = "kubectl edit ec2nodeclasses.karpenter.k8s.aws default  # spec.role; nodes"
    assert given[0].text.splitlines()[1:] == [edit]

import pytest

from tests.builders.clusters import asked_hops, finding_of, remedies
from tests.builders.pools import GONE, a_class, a_pool, answer, at, found, parses, row, unseen_is_unknown

CHECK = "node_classes_have_one_identity"
GOOD = ("pass", "Every node class has one role or instance profile")
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


@pytest.mark.parametrize("placeholder", ["${NODE_ROLE}", "$ROLE", "KarpenterNodeRole-${CLUSTER_NAME}", "<role>"])
def test_a_placeholder_can_be_no_name(placeholder):
    used = at("0.37.8", a_class({"spec.role": placeholder}, version="v1beta1"), a_pool(version="v1beta1"))
    assert found(CHECK, "1.0", used) == bad(placeholder, "the name, in place of the placeholder")
    assert finding_of(CHECK, "1.0", used).severity == "blocker"
    profile = {"spec.role": GONE, "spec.instanceProfile": placeholder}
    _, (cause,) = found(CHECK, "1.0", beta(profile))
    assert (cause.path, cause.seen) == ("spec.instanceProfile", placeholder)


def test_a_class_with_a_placeholder_that_no_pool_uses_only_warns():
    assert finding_of(CHECK, "1.0", beta({"spec.role": "${NODE_ROLE}"})).severity == "warning"
    blind = beta({"spec.role": "${NODE_ROLE}"}).unseen("nodepools")
    assert finding_of(CHECK, "1.0", blind).severity == "blocker"


@pytest.mark.parametrize("role", ["team/nodes", "A_b+c=d,e.f@g-h"])
def test_every_character_that_iam_takes_is_a_name(role):
    assert answer(CHECK, "1.0", beta({"spec.role": role})) == GOOD


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

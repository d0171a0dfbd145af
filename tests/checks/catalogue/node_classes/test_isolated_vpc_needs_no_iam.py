import pytest

from migrations_app.samples.kubernetes_objects import config_map
from tests.builders.clusters import asked_hops, remedies
from tests.builders.pools import GONE, a_class, answer, at, found, parses, row, unseen_is_unknown

CHECK = "isolated_vpc_needs_no_iam"
VERSION = "0.32.10"
ROLE = "KarpenterNodeRole-test"


def settings(value: str = "true"):
    return config_map("karpenter-global-settings", "kube-system", data={"aws.isolatedVPC": value})


def node_class(changes=None):
    return a_class(changes, version="v1beta1")


def test_a_class_with_an_instance_profile():
    made = node_class({"spec.instanceProfile": "nodes", "spec.role": GONE})
    good = ("pass", "No node class needs IAM in an isolated VPC")
    assert answer(CHECK, "0.33+", at(VERSION, settings(), made)) == good


@pytest.mark.parametrize("value", ["true", "True", "1"])
def test_a_class_with_a_role(value):
    wanted = "instanceProfile, made beforehand"
    cause = row("EC2NodeClass", "default", "spec.role", seen=ROLE, wanted=wanted)
    assert found(CHECK, "0.33+", at(VERSION, settings(value), node_class())) == ("fail", (cause,))


def test_before_there_is_a_class_it_is_for_a_person():
    words = "the VPC is isolated: give every new EC2NodeClass instanceProfile, not role, from 0.32.2 on"
    assert answer(CHECK, "0.33+", at(VERSION, settings())) == ("manual", words)


@pytest.mark.parametrize("docs", [(), (settings("false"),)])
def test_elsewhere_it_does_not_arise(docs):
    told = answer(CHECK, "0.33+", at(VERSION, node_class(), *docs))
    assert told == ("not_applicable", "ISOLATED_VPC is not set")
    assert asked_hops(CHECK) == ("0.32", "0.33+")


@pytest.mark.parametrize("odd", [7, [], ""])
def test_an_odd_profile_is_none(odd):
    assert found(CHECK, "0.33+", at(VERSION, settings(), node_class({"spec.instanceProfile": odd})))[0] == "fail"


def test_unseen():
    unseen_is_unknown(CHECK, "0.33+", version=VERSION)


def test_the_remedy():
    given = remedies(CHECK, "0.33+", at(VERSION, settings(), node_class()))
    assert parses(given) == ["kubectl"]
    edit = "kubectl edit ec2nodeclasses.karpenter.k8s.aws default  # spec.role; instanceProfile, made beforehand"
    assert given[0].text.splitlines()[1:] == [edit]

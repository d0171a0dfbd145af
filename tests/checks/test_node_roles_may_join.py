import pytest

from migrations_app.checks.values import Evidence
from migrations_app.samples.karpenter_kinds import Launched, claim, node_class
from migrations_app.samples.kube import config_map
from tests.builders import a_cluster, asked_hops, blind, reads, remedies, told

CHECK = "node_roles_may_join"
GOOD = ("pass", "The role of every node class may join", ())
LAUNCHED = Launched(pool="web", number=1, cluster="test", kubelet="v1.28.4")
BY_HAND = "EC2NodeClass default: aws-auth does not name its role; look for an access entry in EKS"


def with_class(map_roles: str | None = None, *docs, **spec):
    cluster = a_cluster("0.32.10", kubernetes="1.28").with_docs(*docs)
    cluster.with_docs(node_class("default", cluster="test", version="v1beta1", **spec))
    data = {} if map_roles is None else {"mapRoles": map_roles}
    return cluster.with_docs(config_map("aws-auth", "kube-system", data=data))


def mapped(arn: str) -> str:
    return f"- groups:\n  - system:nodes\n  rolearn: {arn}\n  username: system:node:{{{{EC2PrivateDNSName}}}}\n"


@pytest.mark.parametrize(
    "arn",
    [
        "arn:aws:iam::111122223333:role/KarpenterNodeRole-test",
        '"arn:aws:iam::111122223333:role/KarpenterNodeRole-test"',
        "arn:aws-cn:iam::111122223333:role/teams/shop/KarpenterNodeRole-test",
    ],
)
def test_aws_auth_names_the_role(arn):
    assert told(CHECK, "0.33+", with_class(mapped(arn))) == GOOD


@pytest.mark.parametrize(
    "map_roles",
    [
        None,
        "",
        "odd",
        mapped("arn:aws:iam::111122223333:role/Other"),
        mapped("arn:aws:iam::1:user/KarpenterNodeRole-test"),
    ],
)
def test_only_a_person_can_look_for_an_access_entry(map_roles):
    assert told(CHECK, "0.33+", with_class(map_roles)) == ("manual", BY_HAND, ())


def test_an_instance_profile_is_for_a_person_too():
    assert told(CHECK, "0.33+", with_class("", role=None, instanceProfile="nodes")) == ("manual", BY_HAND, ())


def test_a_node_that_joined_is_proof():
    docs = claim(LAUNCHED, node_class="default", version="v1beta1")
    assert told(CHECK, "0.33+", with_class("", *docs)) == GOOD


def test_a_claim_that_never_registered_is_none():
    docs = claim(LAUNCHED, node_class="default", version="v1beta1", status={"Registered": "False"})
    assert told(CHECK, "0.33+", with_class("", *docs)) == ("manual", BY_HAND, ())


@pytest.mark.parametrize("role", ["${KARPENTER_ROLE}", "<your role>", "KarpenterNodeRole-{{ cluster }}", "ROLE_NAME"])
def test_a_placeholder_is_no_role(role):
    wanted = "the name of an IAM role"
    row = Evidence(kind="EC2NodeClass", name="default", path="spec.role", seen=role, wanted=wanted)
    found = told(CHECK, "0.33+", with_class("", role=role))
    assert found == ("fail", "1 node class has a role that is none", (row,))


def test_without_a_node_class_there_is_nothing_to_ask():
    found = told(CHECK, "0.33+", a_cluster("0.32.10", kubernetes="1.28"))
    assert found == ("not_applicable", "there is no EC2NodeClass yet", ())


def test_it_is_asked_where_node_classes_are_new():
    assert asked_hops(CHECK) == ("0.32", "0.33+")


@pytest.mark.parametrize("part", reads(CHECK))
def test_unseen_is_unknown(part):
    cluster = a_cluster("0.32.10", kubernetes="1.28")
    assert blind(CHECK, "0.33+", cluster, part=part) == ("unknown", f"{part} could not be read: forbidden")


def test_the_remedy_names_the_class():
    (remedy,) = remedies(CHECK, "0.33+", with_class("", role="$ROLE"))
    assert remedy.text == (
        'kubectl patch ec2nodeclasses.karpenter.k8s.aws default --type=merge -p \'{"spec":{"role":"ROLE"}}\''
    )

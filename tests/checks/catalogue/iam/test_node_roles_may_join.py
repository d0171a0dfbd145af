import json
import shlex
from dataclasses import replace

import pytest

from migrations_app.checks.base import Evidence
from migrations_app.checks.changes import Observation, leaves
from migrations_app.iam.partitions import PARTITIONS
from migrations_app.inventory.objects.aws import AccessEntry, AuthRow
from migrations_app.inventory.parts import Seen, Unseen
from migrations_app.samples.karpenter_objects import Launched, claim, node_class
from migrations_app.samples.kubernetes_objects import config_map
from tests.builders.aws import a_node_role, by_class, no_role, parse_all, unread_role
from tests.builders.clusters import a_cluster, asked_hops, reads, remedies, result_of, result_without
from tests.fakes import aws_api

CHECK = "node_roles_may_join"
GOOD = ("pass", "The role of every node class may join the cluster", ())
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
    assert result_of(CHECK, "0.33+", with_class(mapped(arn))) == GOOD


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
    assert result_of(CHECK, "0.33+", with_class(map_roles)) == ("manual", BY_HAND, ())


@pytest.mark.parametrize(
    ("spec", "command"),
    [
        ({}, "describe-access-entry {} --principal-arn arn:aws:iam::111122223333:role/KarpenterNodeRole-test"),
        ({"role": None, "instanceProfile": "nodes"}, "list-access-entries {}"),
    ],
)
def test_the_command_shows_where_to_look(spec, command):
    settings = config_map("karpenter-global-settings", "karpenter", data={"aws.clusterName": "test"})
    node = claim(LAUNCHED, node_class="default", version="v1beta1")[1]
    (look,) = remedies(CHECK, "0.33+", with_class("", node, settings, **spec))
    assert look.text.splitlines()[-1] == f"aws eks {command.format('--region eu-central-1 --cluster-name test')}"
    assert isinstance(look.change, Observation)


def test_without_the_names_there_is_no_command():
    assert remedies(CHECK, "0.33+", with_class("")) == ()


def test_an_instance_profile_is_for_a_person_too():
    assert result_of(CHECK, "0.33+", with_class("", role=None, instanceProfile="nodes")) == ("manual", BY_HAND, ())


def test_a_node_that_joined_is_proof():
    docs = claim(LAUNCHED, node_class="default", version="v1beta1")
    assert result_of(CHECK, "0.33+", with_class("", *docs)) == GOOD


def test_a_claim_that_never_registered_is_none():
    docs = claim(LAUNCHED, node_class="default", version="v1beta1", status={"Registered": "False"})
    assert result_of(CHECK, "0.33+", with_class("", *docs)) == ("manual", BY_HAND, ())


@pytest.mark.parametrize("role", ["${KARPENTER_ROLE}", "<your role>", "KarpenterNodeRole-{{ cluster }}", "ROLE_NAME"])
def test_a_placeholder_is_no_role(role):
    wanted = "the name of an IAM role"
    row = Evidence(kind="EC2NodeClass", name="default", path="spec.role", seen=role, wanted=wanted)
    found = result_of(CHECK, "0.33+", with_class("", role=role))
    assert found == ("fail", "1 fault stops nodes from joining the cluster", (row,))


def test_without_a_node_class_there_is_nothing_to_ask():
    found = result_of(CHECK, "0.33+", a_cluster("0.32.10", kubernetes="1.28"))
    assert found == ("not_applicable", "there is no EC2NodeClass yet", ())


def test_it_is_asked_where_node_classes_are_new():
    assert asked_hops(CHECK) == ("0.32", "0.33+")


@pytest.mark.parametrize("part", reads(CHECK))
def test_unseen_is_unknown(part):
    cluster = a_cluster("0.32.10", kubernetes="1.28")
    assert result_without(CHECK, "0.33+", cluster, part=part) == ("unknown", f"{part} could not be read: forbidden")


def test_the_remedy_names_the_class():
    (remedy,) = remedies(CHECK, "0.33+", with_class("", role="$ROLE"))
    task = "spec.role; the name of an IAM role"
    assert remedy.text == f"kubectl edit ec2nodeclasses.karpenter.k8s.aws default  # {task}"


ARN = "arn:aws:iam::111122223333:role/KarpenterNodeRole-test"
LINUX = Seen((AccessEntry(principal_arn=ARN, type="EC2_LINUX"),))
ROW = AuthRow(
    role_arn=ARN, username="system:node:{{EC2PrivateDNSName}}", groups=("system:nodes", "system:bootstrappers")
)
ONE = "1 fault stops nodes from joining the cluster"
ENTRY = "an access entry of type EC2_LINUX or EC2_WINDOWS"
AUTH = "an aws-auth row without path, groups system:bootstrappers and system:nodes"
ELSE = ". Else the kubelet is Unauthorized and never registers"


def shown(*roles, mode="API_AND_CONFIG_MAP", rows=(), docs=(), **parts):
    """What AWS shows of the cluster and its node roles."""
    eks = aws_api.a_cluster(name="test", authentication_mode=mode)
    return with_class(None, *docs).with_aws(**({"cluster": (eks,), "node_roles": roles, "aws_auth": rows} | parts))


def fault(about, seen, wanted):
    path = f"spec.role ({about} of KarpenterNodeRole-test)"
    return ("fail", ONE, (Evidence(kind="EC2NodeClass", name="default", path=path, seen=seen, wanted=wanted),))


def by_hand(detail):
    return ("manual", f"EC2NodeClass default: {detail}", ())


@pytest.mark.parametrize(
    "cluster",
    [
        shown(a_node_role(access_entry=LINUX)),
        shown(a_node_role(access_entry=LINUX), mode="API"),
        shown(a_node_role(), rows=(ROW,)),
        shown(a_node_role(), rows=(ROW,), mode="CONFIG_MAP"),
        shown(a_node_role(), rows=(ROW,), mode=""),
        shown(a_node_role(policies=("AdministratorAccess",), access_entry=LINUX)),
        shown(a_node_role(access_entry=LINUX, named_by=(by_class(path="spec.instanceProfile"),))),
    ],
)
def test_aws_shows_that_they_may(cluster):
    assert result_of(CHECK, "0.33+", cluster) == GOOD


@pytest.mark.parametrize(
    ("mode", "wanted"),
    [("API", ENTRY), ("CONFIG_MAP", AUTH), ("API_AND_CONFIG_MAP", f"{ENTRY} or {AUTH}")],
)
def test_the_cluster_does_not_know_the_role(mode, wanted):
    assert result_of(CHECK, "0.33+", shown(a_node_role(), mode=mode)) == fault("access", "no entry", wanted + ELSE)


def test_an_entry_of_another_type_does_not_do():
    standard = Seen((AccessEntry(principal_arn=ARN, type="STANDARD"),))
    found = result_of(CHECK, "0.33+", shown(a_node_role(access_entry=standard), mode="API"))
    assert found == fault("access", "access entry of type STANDARD", ENTRY + ELSE)


def trusting(*services, effect="Allow", name="KarpenterNodeRole-test", partition="aws"):
    statement = {"Effect": effect, "Principal": {"Service": list(services)}, "Action": "sts:AssumeRole"}
    trust = json.dumps({"Version": "2012-10-17", "Statement": [statement]})
    role = aws_api.a_role(name, trust=trust)
    return Seen((replace(role, arn=role.arn.replace("arn:aws:", f"arn:{partition}:")),))


def test_a_role_that_does_not_trust_ec2():
    """A role of pods or of Fargate in spec.role: the instance starts and has no credentials."""
    cluster = shown(a_node_role(access_entry=LINUX, role=trusting("eks-fargate-pods.amazonaws.com")))
    wanted = "sts:AssumeRole by ec2.amazonaws.com. Else instances have no credentials and never register"
    assert result_of(CHECK, "0.33+", cluster) == fault("trust", "it trusts eks-fargate-pods.amazonaws.com", wanted)
    steps = remedies(CHECK, "0.33+", cluster)[0].text.splitlines()[-1]
    words = shlex.split(steps)
    on = ["--role-name", "KarpenterNodeRole-test", "--policy-document"]
    assert words[:-1] == ["aws", "iam", "update-assume-role-policy", *on]
    assert [one["Principal"]["Service"] for one in json.loads(words[-1])["Statement"]] == [
        ["eks-fargate-pods.amazonaws.com"],
        "ec2.amazonaws.com",
    ]


@pytest.mark.parametrize(
    ("role", "status"),
    [
        (trusting("ec2.amazonaws.com", "ssm.amazonaws.com"), "pass"),
        (trusting("ec2.amazonaws.com.cn", partition="aws-cn"), "pass"),
        (trusting("ec2.amazonaws.com", partition="aws-cn"), "pass"),
        (trusting("ec2.amazonaws.com.cn"), "fail"),
        (trusting("ec2.amazonaws.com", partition="aws-us-gov"), "pass"),
        *((trusting("ec2.amazonaws.com", partition=one.name), "pass") for one in PARTITIONS),
        (trusting("ec2.c2s.ic.gov", partition="aws-iso"), "pass"),
        (trusting("ec2.sc2s.sgov.gov", partition="aws-iso-b"), "pass"),
        (trusting("ec2.c2s.ic.gov", partition="aws-iso-b"), "fail"),
        (trusting("eks-fargate-pods.amazonaws.com", partition="aws-eusc"), "fail"),
        (trusting("ec2.amazonaws.com", partition="aws-new"), "manual"),
        (Seen((aws_api.a_role("KarpenterNodeRole-test", trust="{}"),)), "manual"),
    ],
)
def test_how_a_trust_policy_may_call_ec2(role, status):
    entry = a_node_role(access_entry=LINUX, role=role)
    assert result_of(CHECK, "0.33+", shown(entry))[0] == status


STANDARD = Seen((AccessEntry(principal_arn=ARN, type="STANDARD", groups=("ops",), username="nodes"),))


def test_an_entry_of_another_type_goes_before_the_row_that_would_do():
    """Access entries take precedence over aws-auth for the same role (Amazon EKS User Guide)."""
    found = result_of(CHECK, "0.33+", shown(a_node_role(access_entry=STANDARD), rows=(ROW,)))
    row = f"aws-auth row {ARN} with groups system:nodes, system:bootstrappers"
    assert found == fault("access", f"access entry of type STANDARD; {row}", ENTRY + ELSE)
    alone = shown(a_node_role(access_entry=STANDARD), rows=(ROW,), mode="CONFIG_MAP")
    assert result_of(CHECK, "0.33+", alone) == GOOD


def test_a_row_proves_nothing_where_entries_could_not_be_read():
    unread = shown(a_node_role(access_entry=Unseen("forbidden")), rows=(ROW,))
    assert result_of(CHECK, "0.33+", unread)[0] == "manual"
    alone = shown(a_node_role(access_entry=Unseen("forbidden")), rows=(ROW,), mode="CONFIG_MAP")
    assert result_of(CHECK, "0.33+", alone) == GOOD


def test_an_entry_of_another_type_is_replaced():
    steps = remedies(CHECK, "0.33+", shown(a_node_role(access_entry=STANDARD), mode="API"))[0]
    on = f"--region eu-central-1 --cluster-name test --principal-arn {ARN}"
    assert [line for line in steps.text.splitlines() if line.startswith("aws ")] == [
        f"aws eks delete-access-entry {on}",
        f"aws eks create-access-entry {on} --type EC2_LINUX",
    ]
    undone = [step.undo.words for step in leaves(steps.change)]
    assert undone[0] == (*on.split(), "--type", "STANDARD", "--kubernetes-groups", "ops", "--username", "nodes")


def test_a_row_with_the_path_of_the_role_does_not_do():
    row = AuthRow(role_arn=ARN.replace("role/", "role/team/"), username="", groups=("system:nodes",))
    seen = "aws-auth row arn:aws:iam::111122223333:role/team/KarpenterNodeRole-test with groups system:nodes"
    assert result_of(CHECK, "0.33+", shown(a_node_role(), rows=(row,), mode="CONFIG_MAP")) == fault(
        "access", seen, AUTH + ELSE
    )


def test_rows_count_for_nothing_where_the_cluster_asks_access_entries_alone():
    assert result_of(CHECK, "0.33+", shown(a_node_role(), rows=(ROW,), mode="API")) == fault(
        "access", "no entry", ENTRY + ELSE
    )


def test_the_role_is_not_there():
    found = fault("role", "absent in IAM", "the name of an IAM role")
    assert result_of(CHECK, "0.33+", shown(no_role())) == found
    joined = claim(LAUNCHED, node_class="default", version="v1beta1")
    assert result_of(CHECK, "0.33+", shown(no_role(), docs=joined)) == found


def test_a_policy_is_missing():
    role = a_node_role(policies=("AmazonEKSWorkerNodePolicy", "AmazonEKS_CNI_Policy"), access_entry=LINUX)
    wanted = "AmazonEC2ContainerRegistryPullOnly, to pull images"
    seen = "AmazonEKSWorkerNodePolicy, AmazonEKS_CNI_Policy"
    assert result_of(CHECK, "0.33+", shown(role)) == fault("policy", seen, wanted)


@pytest.mark.parametrize("more", [{"own": ("team",)}, {"inline": Seen(("team",))}, {"inline": Unseen("forbidden")}])
def test_policies_of_its_own_may_do_as_well(more):
    role = a_node_role(policies=("AmazonEKSWorkerNodePolicy", "AmazonEKS_CNI_Policy"), access_entry=LINUX, **more)
    lacks = "KarpenterNodeRole-test lacks AmazonEC2ContainerRegistryPullOnly"
    assert result_of(CHECK, "0.33+", shown(role)) == by_hand(
        f"{lacks}: see that policies of its own let it pull images"
    )


def test_the_network_plugin_may_have_a_role_of_its_own():
    role = a_node_role(policies=("AmazonEKSWorkerNodePolicy", "AmazonEC2ContainerRegistryPullOnly"), access_entry=LINUX)
    detail = (
        "KarpenterNodeRole-test lacks AmazonEKS_CNI_Policy: "
        "see that it need not give pods addresses, unless the VPC CNI has a role of its own"
    )
    assert result_of(CHECK, "0.33+", shown(role)) == by_hand(detail)


def test_a_node_that_joined_is_proof_whatever_aws_shows():
    joined = claim(LAUNCHED, node_class="default", version="v1beta1")
    assert result_of(CHECK, "0.33+", shown(a_node_role(policies=()), docs=joined)) == GOOD


@pytest.mark.parametrize(
    ("role", "parts", "detail"),
    [
        (
            a_node_role(access_entry=Unseen("forbidden")),
            {},
            "aws-auth or the access entries could not be read whole: look for KarpenterNodeRole-test there",
        ),
        (
            a_node_role(),
            {"aws_auth": Unseen("garbled")},
            "aws-auth or the access entries could not be read whole: look for KarpenterNodeRole-test there",
        ),
    ],
)
def test_what_aws_does_not_show_is_for_a_person(role, parts, detail):
    assert result_of(CHECK, "0.33+", shown(role, **parts)) == by_hand(detail)


def test_policies_that_could_not_be_read_are_for_a_person():
    role = replace(a_node_role(access_entry=LINUX), policies=Unseen("forbidden", "refused"))
    detail = "the policies of KarpenterNodeRole-test could not be read (refused)"
    assert result_of(CHECK, "0.33+", shown(role)) == by_hand(detail)


@pytest.mark.parametrize(
    "cluster",
    [
        shown(unread_role()),
        shown(a_node_role(), cluster=Unseen("forbidden")),
        shown(a_node_role(named_by=(by_class("other"),))),
        shown(node_roles=Unseen("forbidden")),
    ],
)
def test_where_aws_was_not_read_it_is_as_without(cluster):
    assert result_of(CHECK, "0.33+", cluster) == ("manual", BY_HAND, ())


def test_remedies_mend_what_aws_shows():
    role = a_node_role(policies=("AmazonEKSWorkerNodePolicy", "AmazonEKS_CNI_Policy"))
    found = remedies(CHECK, "0.33+", shown(role, mode="API"))
    policy = "arn:aws:iam::aws:policy/AmazonEC2ContainerRegistryPullOnly"
    assert [one.text for one in found if one.how == "iam"] == [
        f"aws iam attach-role-policy --role-name KarpenterNodeRole-test --policy-arn {policy}",
        f"aws eks create-access-entry --region eu-central-1 --cluster-name test --principal-arn {ARN} --type EC2_LINUX",
    ]
    parse_all(found)


def test_remedies_for_a_role_that_is_not_there_and_for_aws_auth():
    made = remedies(CHECK, "0.33+", shown(no_role()))
    assert made[0].text.startswith("aws iam create-role --role-name KarpenterNodeRole-test ")
    parse_all(made)
    (row,) = remedies(CHECK, "0.33+", shown(a_node_role(), mode="CONFIG_MAP"))
    assert (row.how, f"# - rolearn: {ARN}" in row.text) == ("kubectl", True)


@pytest.mark.parametrize("odd", [["KarpenterNodeRole-test"], {"name": "KarpenterNodeRole-test"}, [], 7])
def test_an_odd_role_is_unknown_by_its_field(odd):
    told_of = "EC2NodeClass default: spec.role is not a text"
    assert result_of(CHECK, "0.33+", with_class(mapped(ARN), role=odd)) == ("unknown", told_of, ())


@pytest.mark.parametrize("kind", ["EC2", "HYBRID_LINUX", "FARGATE_LINUX"])
def test_an_entry_that_lets_other_nodes_in_is_not_deleted(kind):
    """EKS Auto Mode, hybrid nodes and Fargate have entries of their own types."""
    shared = Seen((AccessEntry(principal_arn=ARN, type=kind),))
    given = remedies(CHECK, "0.33+", shown(a_node_role(access_entry=shared), mode="API"))
    assert [one.text.splitlines()[0] for one in given] == [
        "# For a person: give the node class another role than KarpenterNodeRole-test"
    ]
    assert not any("delete-access-entry" in one.text for one in given)


def test_terraform_says_that_the_old_entry_is_in_the_way():
    given = remedies(CHECK, "0.33+", shown(a_node_role(access_entry=STANDARD), mode="API"))
    (code,) = (one.text for one in given if one.how == "terraform")
    assert "terraform apply fails until the entry of type STANDARD is deleted or imported" in code

import pytest

from migrations_app.inventory.objects.aws import ControllerRole
from migrations_app.inventory.parts import NOT_ASKED, Seen
from migrations_app.samples.kubernetes_objects import doc, meta
from tests.builders.clusters import a_cluster, reads, remedies, result_of, result_without
from tests.builders.newest import NEWEST, NEWEST_MINOR

CHECK = "iam_change_known"
GIVEN = ControllerRole(found_by="given", arn="", role=NOT_ASKED, policies=Seen(()), boundary=Seen(()))
PROFILES = ", ".join(
    f"iam:{call}InstanceProfile" for call in ("Get", "Create", "Tag", "AddRoleTo", "RemoveRoleFrom", "Delete")
)
BETA_TAGS = "karpenter.k8s.aws/ec2nodeclass and karpenter.sh/nodeclaim and karpenter.sh/nodepool"
V1_TAGS = "ec2:CreateTags with eks:eks-cluster-name, iam:TagInstanceProfile with eks:eks-cluster-name"


@pytest.mark.parametrize(
    ("version", "hop", "said"),
    [
        ("0.31.4", "0.32", f"0.32.10 asks for {PROFILES}, ec2:CreateTags with {BETA_TAGS}, which 0.31.4 does not"),
        ("0.32.10", "0.33+", "0.37.8 asks for ec2:CreateTags on spot-instances-request, which 0.32.10 does not"),
        ("0.37.8", "1.0", f"1.0.14 asks for {V1_TAGS}, which 0.37.8 does not"),
        (
            "1.1.10",
            NEWEST_MINOR,
            f"{NEWEST} asks for ec2:DescribeInstanceStatus, iam:ListInstanceProfiles, which 1.1.10 does not",
        ),
    ],
)
def test_a_hop_that_asks_for_more_waits_for_policies_or_a_person(version, hop, said):
    status, summary, _ = result_of(CHECK, hop, a_cluster(version))
    assert (status, summary[-len(said) :]) == ("manual", said)


def test_what_to_do_comes_before_what_is_asked_for():
    assert result_of(CHECK, "0.33+", a_cluster("0.32.10"))[1].startswith(
        "1 new IAM permission may not be granted: give karpdash the controller's policies or access to AWS"
    )
    assert result_of(CHECK, "1.0", a_cluster("0.37.8"))[1].startswith("2 new IAM permissions may not be granted: ")


@pytest.mark.parametrize(("version", "hop"), [("1.0.14", "1.1+"), ("0.30.0", "0.31")])
def test_a_hop_that_asks_for_nothing_new(version, hop):
    assert result_of(CHECK, hop, a_cluster(version))[0] == "not_applicable"


def test_with_policies_the_other_checks_judge():
    assert result_of(CHECK, "1.0", a_cluster("0.37.8").with_aws(controller_roles=(GIVEN,)))[0] == "pass"


def test_a_role_that_could_not_be_read_is_unknown():
    found = result_of(CHECK, "1.0", a_cluster("0.37.8").unseen("aws.controller_roles"))
    assert found == ("unknown", "aws.controller_roles could not be read: forbidden", ())


@pytest.mark.parametrize("part", reads(CHECK))
def test_unseen_is_unknown(part):
    assert result_without(CHECK, "1.0", a_cluster("0.37.8"), part=part) == (
        "unknown",
        f"{part} could not be read: forbidden",
    )


def test_it_says_how_to_have_it_judged():
    (remedy,) = remedies(CHECK, "1.0", a_cluster("0.37.8"))
    assert remedy.text.splitlines()[-1] == "karpdash iam --policy policy.json --to 1.0.14"


@pytest.mark.parametrize(
    ("annotations", "role"),
    [
        ({"eks.amazonaws.com/role-arn": "arn:aws:iam::111122223333:role/shop/karpenter-shop"}, "karpenter-shop"),
        ({}, "CONTROLLER_ROLE"),
    ],
)
def test_the_role_that_the_service_account_names_is_named(annotations, role):
    account = doc("v1", "ServiceAccount", metadata=meta("karpenter", "kube-system", annotations=annotations))
    (remedy,) = remedies(CHECK, "1.0", a_cluster("0.37.8").without("controller_accounts").with_docs(account))
    assert f"aws iam list-attached-role-policies --role-name {role}" in remedy.text

import pytest

from migrations_app.iam.site_from_policies import accounts_named, site_from_policies

HERE = "111122223333"


def test_names_that_a_policy_leaves_no_doubt_about(policy, allow):
    given = policy(
        allow("ec2:RunInstances", "arn:aws-cn:ec2:*:*:subnet/*"),
        allow("ec2:Describe*", "*", {"StringEquals": {"aws:RequestedRegion": "cn-north-1"}}),
        allow("ec2:Terminate*", "*", {"StringEquals": {"aws:ResourceTag/kubernetes.io/cluster/blue": "owned"}}),
        allow("iam:PassRole", f"arn:aws-cn:iam::{HERE}:role/teams/nodes"),
        allow("sqs:*", f"arn:aws-cn:sqs:cn-north-1:{HERE}:Karpenter-blue"),
    )
    assert site_from_policies([given]) == {
        "partition": "aws-cn",
        "account": HERE,
        "region": "cn-north-1",
        "cluster": "blue",
        "queue": "Karpenter-blue",
        "node_role": "teams/nodes",
    }


def test_a_cluster_named_only_where_it_is_described(policy, allow):
    assert site_from_policies([policy(allow("eks:DescribeCluster", f"arn:aws:eks:*:{HERE}:cluster/blue"))]) == {
        "partition": "aws",
        "account": HERE,
        "cluster": "blue",
    }


def test_two_values_leave_doubt(policy, allow):
    given = policy(
        allow("iam:PassRole", [f"arn:aws:iam::{HERE}:role/a", f"arn:aws:iam::{HERE}:role/b"]),
        allow("eks:*", [f"arn:aws:eks:eu-west-1:{HERE}:cluster/a", "arn:aws:eks:eu-west-2:444455556666:cluster/b"]),
    )
    assert site_from_policies([given]) == {"partition": "aws"}


def test_templates_wildcards_and_denials_name_nothing(policy, allow, deny):
    given = policy(
        allow("iam:PassRole", "${KarpenterNodeRole.Arn}"),
        allow("ec2:*", "arn:${AWS::Partition}:ec2:${AWS::Region}:*:subnet/*"),
        allow("ec2:*", "*", {"StringEquals": {"aws:RequestTag/kubernetes.io/cluster/${ClusterName}": "owned"}}),
        allow("iam:*", "arn:*:iam::*:role/*"),
        deny("sqs:*", f"arn:aws:sqs:eu-west-1:{HERE}:secret"),
    )
    assert site_from_policies([given]) == {}


def test_a_role_that_is_not_passed_is_no_node_role(policy, allow):
    assert "node_role" not in site_from_policies([policy(allow("sts:AssumeRole", f"arn:aws:iam::{HERE}:role/other"))])


def test_accounts_of_resources_and_conditions_are_named(policy, allow, deny):
    given = policy(
        allow("iam:PassRole", f"arn:aws:iam::{HERE}:role/a"),
        allow("ec2:*", ["*", "arn:aws:ec2:*:*:subnet/*", "arn:aws:ec2:eu-west-1::image/*"]),
        allow("sqs:*", "*", {"ArnLike": {"aws:SourceArn": "arn:aws:sqs:*:444455556666:*"}}),
        deny("sqs:*", "*", {"StringNotEquals": {"aws:ResourceAccount": "777788889999"}}),
    )
    assert accounts_named([given]) == {HERE, "444455556666", "777788889999"}


@pytest.mark.parametrize(
    "resource", ["arn:aws:iam::1111*:role/a", "arn:aws:iam::${aws:PrincipalAccount}:role/a", "arn:aws:iam::????:role/a"]
)
def test_accounts_given_by_a_pattern_are_not_known(policy, allow, resource):
    assert accounts_named([policy(allow("iam:PassRole", [f"arn:aws:iam::{HERE}:role/a", resource]))]) is None


@pytest.mark.parametrize(
    "resource", [f"*{HERE}*", f"*:{HERE}:role/*", f"arn:*:{HERE}:role/a", f"arn:aws:s3:::logs-{HERE}/*"]
)
def test_accounts_outside_of_the_account_field_are_not_known(policy, allow, resource):
    assert accounts_named([policy(allow("iam:PassRole", resource))]) is None
    where = {"StringLike": {"aws:PrincipalArn": resource}}
    assert accounts_named([policy(allow("iam:PassRole", "*", where))]) is None


def test_longer_and_shorter_numbers_are_no_accounts(policy, allow):
    resources = ["arn:aws:ec2:*:*:launch-template/lt-0123456789012345", "arn:aws:sqs:*:*:queue-12345"]
    assert accounts_named([policy(allow("*", resources))]) == frozenset()

import pytest

from migrations_app.iam.site import AwsSite, pricing_region, role_name


def test_names_of_the_official_template_stand_in():
    site = AwsSite(cluster="blue")
    assert site.roles == ("KarpenterNodeRole-blue",)
    assert site.queue_name == "blue"


def test_roles_and_queue_may_be_told_as_arns():
    site = AwsSite(
        node_roles=("arn:aws:iam::111122223333:role/teams/a/nodes", "/other/"),
        queue="arn:aws:sqs:eu-west-1:111122223333:q",
    )
    assert site.roles == ("teams/a/nodes", "other")
    assert site.queue_name == "q"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("${AWS::Partition}/${AWS::Region}/${AWS::AccountId}", "aws/us-west-2/000000000000"),
        ("${KarpenterNodeRole.Arn}", "arn:aws:iam::000000000000:role/KarpenterNodeRole-my-cluster"),
        ("${KarpenterInterruptionQueue.Arn}", "arn:aws:sqs:us-west-2:000000000000:my-cluster"),
        ("${var.cluster_name}-${local.region}", "my-cluster-us-west-2"),
        ("${ ClusterName }", "my-cluster"),
        ("${AWS::URLSuffix}", "amazonaws.com"),
        ("${aws:username}${*}", "${aws:username}${*}"),
        ("${!aws:username}", "${aws:username}"),
        ("${Other}", "${Other}"),
        ("${AssumeRoleArn}", "${AssumeRoleArn}"),
    ],
)
def test_placeholders(text, expected):
    assert AwsSite().fill(text) == expected


def test_a_name_is_not_filled_twice():
    assert AwsSite(cluster="${Region}").fill("${ClusterName}") == "${Region}"


def test_the_assumed_role_is_a_name_only_when_told():
    assert AwsSite(assume_role_arn="arn:aws:iam::1:role/x").fill("${AssumeRoleArn}") == "arn:aws:iam::1:role/x"


def test_iam_answers_in_one_region_of_a_partition():
    assert [AwsSite(partition=p).iam_region for p in ("aws", "aws-cn", "aws-us-gov", "aws-iso-f", "aws-eusc")] == [
        "us-east-1",
        "cn-north-1",
        "us-gov-west-1",
        "us-isof-south-1",
        "eusc-de-east-1",
    ]


def test_hosts_end_as_in_their_partition():
    names = ("aws-cn", "aws-iso", "aws-eusc")
    filled = [AwsSite(partition=name).fill("${AWS::URLSuffix}") for name in names]
    assert filled == ["amazonaws.com.cn", "c2s.ic.gov", "amazonaws.eu"]


@pytest.mark.parametrize(
    ("region", "asked"),
    [
        ("us-west-2", "us-east-1"),
        ("ap-southeast-2", "ap-south-1"),
        ("eu-north-1", "eu-central-1"),
        ("cn-north-1", "cn-northwest-1"),
        ("sa-east-1", "us-east-1"),
    ],
)
def test_where_prices_are_asked(region, asked):
    assert pricing_region(region) == asked


def test_a_role_name_keeps_its_path():
    assert role_name("arn:aws-cn:iam::1:role/a/b") == "a/b"

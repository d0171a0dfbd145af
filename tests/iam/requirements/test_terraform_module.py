import pytest

from migrations_app.errors import InvalidInput
from migrations_app.iam.requirements.gaps import find_gaps
from migrations_app.iam.requirements.terraform_module import (
    ModuleSetting,
    inline_setting,
    module_settings,
    module_version,
)
from migrations_app.iam.site import AwsSite
from tests.builders.newest import NEWEST_MINOR

EC2 = ["ec2:*", "ssm:*", "pricing:*", "eks:*", "iam:PassRole"]


def settings(policies, release, version):
    report = find_gaps(policies, release=release, site=AwsSite(cluster="blue"))
    return [(one.closes, one.variable or one.upgrade_to, one.value) for one in module_settings(report, version)]


@pytest.mark.parametrize(
    ("text", "version"), [("20.24.3", (20, 24)), ("~> 21.0", (21, 0)), (">= 19.18", (19, 18)), ("v20.1.0", (20, 1))]
)
def test_versions(text, version):
    assert module_version(text) == version


@pytest.mark.parametrize("text", ["", "20", "latest", "20.24.3.1"])
def test_what_is_no_version_is_refused(text):
    with pytest.raises(InvalidInput, match="not a version"):
        module_version(text)


def test_the_switch_for_1_0(official):
    assert settings([official("v0.37.8")], "1.0", (20, 30)) == [(("ec2:CreateTags",), "enable_v1_permissions", "true")]


def test_before_the_switch_the_module_has_to_move(official):
    assert settings([official("v0.37.8")], "1.0", (20, 8)) == [(("ec2:CreateTags",), "20.24.0", "")]


def test_the_switch_does_nothing_before_1_0(official):
    given = [official("v0.32.10")]
    assert settings(given, "0.33", (20, 30)) == [
        (("ec2:CreateTags",), "iam_policy_statements", "the statements of the closing policy")
    ]


def test_instance_profiles_in_19(policy, allow):
    given = [policy(allow([*EC2, "sqs:*"]))]
    closes = tuple(f"iam:{call}InstanceProfile" for call in ("AddRoleTo", "Create", "Delete", "Get", "RemoveRoleFrom"))
    assert settings(given, "0.32", (19, 20)) == [(closes, "enable_karpenter_instance_profile_creation", "true")]
    assert settings(given, "0.32", (19, 16)) == [(closes, "19.18.0", "")]


def test_the_queue(policy, allow):
    given = [policy(allow([*EC2, "iam:*"]))]
    closes = ("sqs:DeleteMessage", "sqs:GetQueueUrl", "sqs:ReceiveMessage")
    assert settings(given, "1.0", (21, 0)) == [(closes, "enable_spot_termination", "true")]


def test_what_no_switch_covers_goes_in_as_statements_and_names_the_version_that_has_it(official):
    report = find_gaps([official("v1.0.14")], release="1.7", site=AwsSite(cluster="blue"))
    assert module_settings(report, (21, 0)) == (
        ModuleSetting(
            closes=("iam:ListInstanceProfiles",),
            variable="iam_policy_statements",
            value="the statements of the closing policy",
            why="no switch of the module covers these; the module itself grants iam:ListInstanceProfiles from 21.2.0",
        ),
    )


def test_modules_that_take_no_statements_have_to_move(official):
    assert settings([official("v1.0.14")], "1.7", (20, 8)) == [(("iam:ListInstanceProfiles",), "20.16.0", "")]


def test_nothing_to_set_where_nothing_is_missing(policy, allow):
    assert settings([policy(allow("*"))], NEWEST_MINOR, (21, 19)) == []


def test_the_way_out_of_the_size_limit():
    assert inline_setting((21, 7)) is None
    assert inline_setting((21, 8)) == ModuleSetting(
        closes=(), variable="enable_inline_policy", value="true", why="an inline policy may have 10,240 characters"
    )

import json

import pytest

from migrations_app.errors import InvalidInput
from migrations_app.iam.policy import parse_policy
from migrations_app.iam.requirements.gaps import find_gaps
from migrations_app.iam.requirements.output import NEWEST_MODULE, remedy
from migrations_app.iam.requirements.terraform_module import (
    ModuleSetting,
    inline_setting,
    module_settings,
    module_version,
)
from migrations_app.iam.site import AwsSite
from tests.builders.newest import NEWEST_MINOR

BLUE = AwsSite(cluster="blue")
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


REPLACED = "it replaces the document for 0.33 to 0.37 by that of 1.0, which refuses every launch of those releases"
STATEMENTS = ("iam_policy_statements", "the statements of the closing policy")


def later(policies, release, version):
    report = find_gaps(policies, release=release, site=AwsSite(cluster="blue"))
    return [one for one in module_settings(report, version) if one.after_hop]


@pytest.mark.parametrize("version", [(20, 24), (20, 30), (20, 37)])
def test_the_switch_for_1_0_comes_after_the_hop(official, version):
    given = [official("v0.37.8")]
    assert settings(given, "1.0", version) == [
        (("ec2:CreateTags",), *STATEMENTS),
        (("ec2:CreateTags",), "enable_v1_permissions", "true"),
    ]
    assert later(given, "1.0", version) == [
        ModuleSetting(
            closes=("ec2:CreateTags",),
            variable="enable_v1_permissions",
            value="true",
            after_hop="no release before 1.0 runs and no rollback to one is wanted",
            why=REPLACED,
        )
    ]


@pytest.mark.parametrize("release", ["1.0", "1.14"])
def test_with_the_statements_both_releases_may_work_and_with_the_switch_alone_only_the_new(official, policy, release):
    site, old = AwsSite(cluster="blue"), official("v0.37.8")
    report = find_gaps([old], release=release, site=site)
    added = [parse_policy(json.dumps(one), name="added") for one in remedy(report, site, policies=[old]).documents()]
    assert find_gaps([old, *added], release=release, site=site).ok
    assert find_gaps([old, *added], release="0.37", site=site).ok
    refused = {gap.action for gap in find_gaps([official("v1.0.14")], release="0.37", site=site).gaps}
    assert {"ec2:CreateFleet", "ec2:CreateLaunchTemplate", "ec2:RunInstances"} <= refused


def test_before_the_switch_the_module_moves_after_the_hop(official):
    given = [official("v0.37.8")]
    now, after = settings(given, "1.0", (20, 20))
    assert (now, after) == ((("ec2:CreateTags",), *STATEMENTS), (("ec2:CreateTags",), "enable_v1_permissions", "true"))
    assert [one.upgrade_to for one in later(given, "1.0", (20, 20))] == ["20.24.0"]


@pytest.mark.parametrize(("version", "has_switch"), [((19, 0), False), ((19, 21), False), ((20, 15), True)])
def test_versions_that_take_no_statements_get_a_policy_of_its_own(official, version, has_switch):
    report = find_gaps([official("v0.37.8")], release="1.0", site=AwsSite(cluster="blue"))
    apart, *switch = module_settings(report, version)
    assert apart == ModuleSetting(
        closes=("ec2:CreateTags",),
        apart=True,
        why="versions before 20.16 take no statements, so a policy of its own goes on the module's role",
    )
    assert [bool(one.after_hop) for one in switch] == [True] * has_switch


@pytest.mark.parametrize(("version", "apart"), [((20, 37), True), ((21, 7), True), ((21, 8), False)])
def test_what_does_not_fit_beside_the_rest_is_a_policy_of_its_own_unless_the_module_can_be_inline(
    official, version, apart
):
    report = find_gaps([official("v0.37.8")], release="1.0", site=AwsSite(cluster="blue"))
    now = module_settings(report, version, crowded=True)[0]
    assert (now.apart, now.variable) == (apart, "" if apart else "iam_policy_statements")


@pytest.mark.parametrize("version", ["19.0", "19.18", "20.15", "20.16", "20.24", "20.37", "21.0", "21.19"])
@pytest.mark.parametrize("release", ["0.32", "0.33", "1.0", "1.14"])
def test_no_text_sets_what_takes_away_what_the_running_release_needs(official, policy, allow, version, release):
    site = AwsSite(cluster="blue")
    for given in ([official("v0.37.8")], [official("v0.32.10")], [policy(allow([*EC2, "sqs:*"]))], []):
        text = remedy(find_gaps(given, release=release, site=site), site, policies=given).text(
            "module", version=version
        )
        code = [line for line in text.splitlines() if not line.lstrip().startswith("#")]
        assert [line for line in code if "enable_v1" in line or "profile_creation" in line or "version =" in line] == []


def test_the_text_says_when_the_switch_may_be_set(official):
    site, given = AwsSite(cluster="blue"), [official("v0.37.8")]
    added = remedy(find_gaps(given, release="1.0", site=site), site, policies=given)
    lines = added.text("module", version="20.37").splitlines()
    assert lines[:2] == [
        "# terraform-aws-modules/eks/aws//modules/karpenter 20.37",
        "# Keep this version of the module during the hop: the document of another may refuse the running release.",
    ]
    assert lines[-2:] == [
        f"# Only after the hop, when no release before 1.0 runs and no rollback to one is wanted: {REPLACED}.",
        "#   enable_v1_permissions = true",
    ]
    moved = added.text("module", version="20.20").splitlines()
    assert moved[-2:] == ['#   version = "~> 20.24.0"', "#   enable_v1_permissions = true"]


@pytest.mark.parametrize(("version", "role"), [("19.21", "irsa_name"), ("20.8", "iam_role_name")])
def test_the_policy_of_its_own_is_attached_to_the_role_of_the_module(official, version, role):
    site, given = AwsSite(cluster="blue"), [official("v0.37.8")]
    added = remedy(find_gaps(given, release="1.0", site=site), site, policies=given)
    text = added.text("module", version=version)
    assert f"  role       = module.karpenter.{role}\n  policy_arn = aws_iam_policy.karpenter_1_0_gaps_1.arn\n" in text
    assert "variable " not in text
    body = text.split("jsonencode(")[1].split(")\n}")[0]
    assert json.loads(body) == added.documents()[0]


def test_the_switch_does_nothing_before_1_0(official):
    given = [official("v0.32.10")]
    assert settings(given, "0.33", (20, 30)) == [(("ec2:CreateTags",), *STATEMENTS)]


def test_what_capacity_of_provisioners_needs_is_among_the_statements(official):
    report = find_gaps([official("v0.32.10")], release="0.32", site=AwsSite(cluster="blue"))
    assert [gap for gap in report.gaps if gap.required == "always"] == []
    legacy = {gap.action for gap in report.legacy_gaps if gap.required == "always"}
    (only,) = module_settings(report, (20, 30))
    assert (set(only.closes), only.variable) == (legacy, "iam_policy_statements")
    assert legacy


def test_instance_profiles_in_19(policy, allow):
    given = [policy(allow([*EC2, "sqs:*"]))]
    calls = ("AddRoleTo", "Create", "Delete", "Get", "RemoveRoleFrom", "Tag")
    closes = tuple(f"iam:{call}InstanceProfile" for call in calls)
    assert settings(given, "0.32", (19, 20)) == [
        (closes, "", ""),
        (closes, "enable_karpenter_instance_profile_creation", "true"),
    ]
    assert [one.why for one in later(given, "0.32", (19, 20))] == ["it deletes the instance profile of the module"]
    assert settings(given, "0.32", (19, 16)) == [(closes, "", "")]


def test_the_queue(policy, allow):
    given = [policy(allow([*EC2, "iam:*"]))]
    closes = ("sqs:DeleteMessage", "sqs:GetQueueUrl", "sqs:ReceiveMessage")
    assert settings(given, "1.0", (21, 0)) == [(closes, "enable_spot_termination", "true")]


def test_what_is_missing_goes_in_as_statements_and_names_the_version_that_has_it(official):
    report = find_gaps([official("v1.0.14")], release="1.7", site=AwsSite(cluster="blue"))
    assert module_settings(report, (21, 0)) == (
        ModuleSetting(
            closes=("iam:ListInstanceProfiles",),
            variable="iam_policy_statements",
            value="the statements of the closing policy",
            why=(
                "they are added to the document that the module makes; the module itself grants"
                " iam:ListInstanceProfiles from 21.2.0"
            ),
        ),
    )


def test_nothing_to_set_where_nothing_is_missing(policy, allow):
    assert settings([policy(allow("*"))], NEWEST_MINOR, (21, 19)) == []


@pytest.mark.parametrize("version", ["19.21.0", "20.37.2", NEWEST_MODULE])
def test_no_setting_is_said_to_close_what_a_deny_refuses(policy, allow, deny, version):
    denied = policy(allow("*"), deny(["ec2:RunInstances", "sqs:*"]))
    report = find_gaps([denied], release=NEWEST_MINOR, site=BLUE)
    assert {gap.action for gap in report.gaps if gap.required == "always"} >= {"ec2:RunInstances", "sqs:GetQueueUrl"}
    assert module_settings(report, module_version(version)) == ()
    assert "iam_policy_statements" not in remedy(report, BLUE, policies=[denied]).text("module", version=version)


def test_statements_of_the_block_stay_beside_those_that_are_added(policy, allow):
    given = [policy({"Effect": "Allow", "NotAction": "ec2:DescribeImages", "Resource": "*"})]
    text = remedy(find_gaps(given, release=NEWEST_MINOR, site=BLUE), BLUE, policies=given).text("module")
    lines = text.splitlines()
    before = lines[lines.index("iam_policy_statements = [") - 1]
    assert before == "# If the module's block sets iam_policy_statements already, add these to its list."


def test_the_way_out_of_the_size_limit():
    assert inline_setting((21, 7)) is None
    assert inline_setting((21, 8)) == ModuleSetting(
        closes=(), variable="enable_inline_policy", value="true", why="an inline policy may have 10,240 characters"
    )

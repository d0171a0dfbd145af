import pytest

from migrations_app.errors import InvalidInput
from migrations_app.iam.evaluate import RequestVerdict
from migrations_app.iam.policy import IamPolicy
from migrations_app.iam.requirements.features import ASSUMED, MEANING, Feature
from migrations_app.iam.requirements.gaps import depends_on_settings, find_gaps
from migrations_app.iam.requirements.remedies import statements_to_add
from migrations_app.iam.site import AwsSite
from tests.builders.newest import NEWEST_MINOR

SITE = AwsSite(cluster="blue", account="111122223333", region="eu-west-1")
READS = ["ec2:Describe*", "pricing:*", "ssm:*", "sqs:*", "eks:*", "iam:PassRole"]


def gaps_of(policies, release, **more):
    return find_gaps(policies, release=release, site=more.pop("site", SITE), **more)


def short(gaps):
    return {gap.action: (gap.verdict.value, gap.required, gap.resource) for gap in gaps}


def test_no_policy_at_all_lacks_everything_once(policy):
    report = gaps_of([], "0.31")
    assert {gap.verdict for gap in report.gaps} == {RequestVerdict.MISSING}
    assert [gap.action for gap in report.gaps] == sorted({gap.action for gap in report.gaps})
    assert len(report.gaps) == 21
    assert report.legacy_gaps == ()
    assert not report.ok


def test_everything_allowed_lacks_nothing(policy, allow):
    report = gaps_of([policy(allow("*"))], NEWEST_MINOR)
    assert (report.gaps, report.legacy_gaps, report.ok) == ((), (), True)


def test_the_shape_of_the_report(policy, allow):
    report = gaps_of(
        [policy(allow("*")), policy({"Effect": "Deny", "Action": "ec2:RunInstances", "Resource": "*"})], "v1.0.14"
    )
    assert report.as_json() == {
        "schema": "karpdash/iam/v1",
        "release": "1.0.14",
        "gaps": [
            {
                "action": "ec2:RunInstances",
                "resource": [
                    "image",
                    "instance",
                    "launch-template",
                    "network-interface",
                    "security-group",
                    "snapshot",
                    "spot-instances-request",
                    "subnet",
                    "volume",
                ],
                "verdict": "denied",
                "required": "always",
                "when": "snapshot only when a node class names a snapshotID in its block device mappings",
                "needed_for": ["launch"],
                "effect": "The fleet answers with an error for each pool and no instance starts."
                " Cause: test: Statement[0] denies it.",
                "boundary": "",
            }
        ],
        "legacy_gaps": [],
        "ok": False,
    }


def test_rare_settings_are_conditional_and_do_not_spoil_ok(policy, allow):
    # all that 1.14 asks without them
    given = policy(
        allow([*READS, "ec2:*Instance*", "ec2:*LaunchTemplate", "ec2:CreateTags", "ec2:CreateFleet", "iam:*"])
    )
    refused = policy(
        {"Effect": "Deny", "Action": ["ec2:Describe*Reservations", "ec2:Describe*Groups"], "Resource": "*"}
    )
    report = gaps_of([given], "1.14")
    assert short(report.gaps) == {"arc-zonal-shift:GetManagedResource": ("missing", "conditional", ("*",))}
    assert report.ok
    assert short(gaps_of([given, refused], "1.14").gaps) == {
        "arc-zonal-shift:GetManagedResource": ("missing", "conditional", ("*",)),
        "ec2:DescribeCapacityReservations": ("denied", "conditional", ("*",)),
        "ec2:DescribePlacementGroups": ("denied", "conditional", ("*",)),
        "ec2:DescribeSecurityGroups": ("denied", "always", ("*",)),
    }


def test_a_setting_turned_on_is_needed_always(policy, allow):
    given = policy(allow(["ec2:*", "iam:*", "ssm:*", "pricing:*", "sqs:*", "eks:*"]))
    report = gaps_of([given], "1.14", assumed=ASSUMED | {Feature.ZONAL_SHIFT})
    assert short(report.gaps) == {"arc-zonal-shift:GetManagedResource": ("missing", "always", ("*",))}
    assert report.gaps[0].when == "the zonal shift option is on"
    assert depends_on_settings(report.gaps[0].when)
    assert not report.ok


def test_what_no_setting_asks_for_depends_on_none():
    assert not depends_on_settings("")
    assert all(map(depends_on_settings, MEANING.values()))


def test_a_setting_turned_off_is_conditional(policy, allow):
    given = policy(allow(["ec2:*", "iam:*", "ssm:*", "pricing:*", "eks:*"]))
    report = gaps_of([given], "1.0", assumed=ASSUMED - {Feature.QUEUE})
    assert short(report.gaps) == {
        f"sqs:{call}": ("missing", "conditional", ("queue",))
        for call in ("DeleteMessage", "GetQueueUrl", "ReceiveMessage")
    }
    assert report.ok


def test_an_entry_tells_which_of_its_resources_hang_on_a_setting(policy, allow):
    given = policy(allow("ec2:RunInstances", ["arn:aws:ec2:*:*:image/*", "arn:aws:ec2:*::image/*"]))
    entry = next(gap for gap in gaps_of([given], "1.11").gaps if gap.action == "ec2:RunInstances")
    assert entry.required == "always"
    assert entry.when == (
        "capacity-reservation only when a node class selects capacity reservations; "
        "placement-group only when a node class selects a placement group; "
        "snapshot only when a node class names a snapshotID in its block device mappings"
    )
    assert {"capacity-reservation", "placement-group"} < set(entry.resource)
    assert not depends_on_settings(entry.when)


def test_the_worst_refusal_names_the_entry(policy, allow, deny):
    tagged = {"StringEquals": {"aws:RequestTag/team": "a"}}
    mixed = policy(allow("ec2:CreateFleet", "arn:aws:ec2:*:*:fleet/*", tagged), name="mixed")
    fleet = next(gap for gap in gaps_of([mixed], "1.0").gaps if gap.action == "ec2:CreateFleet")
    assert fleet.verdict is RequestVerdict.BLOCKED_BY_CONDITION
    both = [mixed, policy(deny("ec2:CreateFleet", "arn:aws:ec2:*:*:subnet/*"))]
    assert (
        next(gap for gap in gaps_of(both, "1.0").gaps if gap.action == "ec2:CreateFleet").verdict
        is RequestVerdict.DENIED
    )


def test_a_refusal_that_applies_outranks_one_that_does_not(policy, allow, deny):
    given = policy(
        allow("*"),
        deny("ec2:RunInstances", "arn:aws:ec2:*:*:placement-group/*"),
        deny("ec2:RunInstances", "*", {"IpAddress": {"aws:SourceIp": "10.0.0.0/8"}}),
    )
    entry = next(gap for gap in gaps_of([given], "1.11").gaps if gap.action == "ec2:RunInstances")
    assert (entry.verdict, entry.required) == (RequestVerdict.UNKNOWN, "always")


def test_0_32_speaks_of_nodepools_and_provisioners_apart(policy, allow):
    old = {"StringLike": {"aws:RequestTag/karpenter.sh/provisioner-name": "*"}}
    given = policy(allow([*READS, "iam:*", "ec2:*LaunchTemplate", "ec2:CreateTags", "ec2:TerminateInstances"]),
                   allow(["ec2:CreateFleet", "ec2:RunInstances"], "*", old))  # fmt: skip
    report = gaps_of([given], "0.32")
    assert {gap.action for gap in report.gaps} == {"ec2:CreateFleet", "ec2:RunInstances"}
    # the request for a fleet or an instance carries the tag, those for subnets and the like cannot
    legacy = short(report.legacy_gaps)
    assert legacy["ec2:CreateFleet"] == ("blocked_by_condition", "always", ("image", "launch-template", "subnet"))


def test_before_0_32_provisioners_are_what_there_is(policy, allow):
    report = gaps_of([policy(allow(READS))], "0.31")
    assert [gap.action.removeprefix("ec2:") for gap in report.gaps] == [
        "CreateFleet",
        "CreateLaunchTemplate",
        "CreateTags",
        "DeleteLaunchTemplate",
        "RunInstances",
        "TerminateInstances",
    ]
    assert report.legacy_gaps == ()


def test_the_role_to_assume_is_asked_for_only_when_it_is_named(policy, allow):
    given = policy(allow(["ec2:*", "iam:*", "ssm:*", "pricing:*", "sqs:*", "eks:*"]))
    assert gaps_of([given], "0.33").gaps == ()
    site = AwsSite(assume_role_arn="arn:aws:iam::444455556666:role/other")
    report = gaps_of([given], "0.33", site=site, assumed=ASSUMED | {Feature.ASSUME_ROLE})
    assert short(report.gaps) == {"sts:AssumeRole": ("missing", "always", ("assumed role",))}


def test_an_unknown_need_stands_in_the_way(policy, allow):
    given = policy(allow("*", "*", {"IpAddress": {"aws:SourceIp": "10.0.0.0/8"}}))
    report = gaps_of([given], "1.0")
    assert {gap.verdict for gap in report.gaps} == {RequestVerdict.UNKNOWN}
    assert not report.ok


def test_listing_profiles_on_their_arn_cannot_be_told(policy, allow, official):
    given = [official("v1.0.14"), policy(allow("iam:ListInstanceProfiles", "arn:aws:iam::*:instance-profile/*"))]
    assert short(gaps_of(given, "1.7").gaps)["iam:ListInstanceProfiles"] == ("unknown", "always", ("*",))


WITHOUT_PROFILES = {
    "Effect": "Allow",
    "NotAction": ["iam:CreateInstanceProfile", "iam:AddRoleToInstanceProfile"],
    "Resource": "*",
}


def test_a_boundary_is_asked_also_where_the_policy_lacks_the_action(policy):
    """Both have to allow it: a patch of the policy alone would leave it denied."""
    given = policy({"Effect": "Allow", "NotAction": ["iam:CreateInstanceProfile", "iam:TagI*"], "Resource": "*"})
    report = gaps_of([given], "1.0", boundary=[policy(WITHOUT_PROFILES, name="edge")])
    assert {gap.action: (gap.verdict.value, gap.boundary) for gap in report.gaps} == {
        "iam:AddRoleToInstanceProfile": ("denied", "refused"),
        "iam:CreateInstanceProfile": ("missing", "refused"),
        "iam:TagInstanceProfile": ("missing", ""),
    }
    added = statements_to_add(report, SITE)
    assert [one.probe.action for one in added.not_closed] == ["iam:AddRoleToInstanceProfile"]
    assert {one.probe.action for one in added.bounded} == set(WITHOUT_PROFILES["NotAction"])
    assert {action for one in added.statements for action in one.actions} == {
        "iam:CreateInstanceProfile",
        "iam:TagInstanceProfile",
    }


def test_a_boundary_that_may_refuse_is_told_apart(policy, allow):
    here = {"IpAddress": {"aws:SourceIp": "10.0.0.0/8"}}
    report = gaps_of([], "1.0", boundary=[policy(allow("*", "*", here))])
    assert {(gap.verdict.value, gap.boundary) for gap in report.gaps} == {("missing", "unknown")}
    mixed = gaps_of([], "1.0", boundary=[policy(allow("ec2:*", "arn:aws:ec2:*:*:subnet/*"), allow("ssm:*", "*", here))])
    found = {gap.action: gap.boundary for gap in mixed.gaps}
    assert (found["ec2:RunInstances"], found["ssm:GetParameter"]) == ("refused", "unknown")


# AWS authorises the tags of CreateInstanceProfile as iam:TagInstanceProfile, and refuses the creation without it.
TAGGING = "iam:TagInstanceProfile"
NO_TAGGING = {"Effect": "Allow", "NotAction": TAGGING, "Resource": "*"}


@pytest.mark.parametrize("release", ["0.32", "0.37", "1.0", "1.1", "1.6", "1.7", NEWEST_MINOR])
def test_a_profile_is_created_with_tags_and_that_has_to_be_allowed(policy, release):
    report = gaps_of([policy(NO_TAGGING)], release)
    assert short(report.gaps) == {TAGGING: ("missing", "always", ("instance-profile",))}
    assert [(gap.severity, gap.needed_for) for gap in report.gaps] == [("blocker", ("instance-profile",))]
    assert "never gets a profile" in report.gaps[0].effect


def test_before_profiles_are_created_none_is_tagged(policy):
    assert gaps_of([policy(NO_TAGGING)], "0.31").gaps == ()


def test_without_a_role_in_a_node_class_no_profile_is_tagged(policy):
    report = gaps_of([policy(NO_TAGGING)], "1.7", assumed=ASSUMED - {Feature.SPEC_ROLE})
    assert short(report.gaps) == {TAGGING: ("missing", "conditional", ("instance-profile",))}


@pytest.mark.parametrize(
    ("resource", "release", "verdict"),
    [
        ("instance-profile/blue_*", "1.6", None),
        ("instance-profile/blue_*", "1.7", "blocked_by_resource"),
        ("instance-profile/karpenter/*", "1.7", None),
        ("instance-profile/karpenter/*", "1.6", "blocked_by_resource"),
        ("instance-profile/karpenter/eu-west-1/other/*", "1.7", "blocked_by_resource"),
    ],
)
def test_a_profile_is_tagged_where_it_is_created(policy, allow, resource, release, verdict):
    given = policy(NO_TAGGING, allow(TAGGING, f"arn:aws:iam::111122223333:{resource}"))
    report = gaps_of([given], release)
    assert {gap.action: gap.verdict.value for gap in report.gaps} == ({TAGGING: verdict} if verdict else {})


def test_a_condition_that_cannot_be_told_leaves_the_tags_open(policy, allow):
    given = policy(NO_TAGGING, allow(TAGGING, "*", {"IpAddress": {"aws:SourceIp": "10.0.0.0/8"}}))
    assert short(gaps_of([given], "1.7").gaps) == {TAGGING: ("unknown", "always", ("instance-profile",))}


@pytest.mark.parametrize("release", ["0.32", "1.6", "1.14"])
def test_what_closes_the_gap_lets_profiles_be_tagged(policy, release):
    report = gaps_of([policy(NO_TAGGING)], release)
    (statement,) = statements_to_add(report, SITE).statements
    assert statement.actions == (TAGGING,)
    assert gaps_of([policy(NO_TAGGING), IamPolicy(name="", statements=(statement,))], release).gaps == ()


def test_a_boundary_is_told_as_a_denial(policy, allow):
    report = gaps_of(
        [policy(allow("*"))], "1.0", boundary=[policy(allow(["ec2:*", "sqs:*", "ssm:*", "pricing:*", "eks:*"]))]
    )
    assert {gap.action: gap.verdict.value for gap in report.gaps} == {
        **dict.fromkeys(
            [
                "iam:AddRoleToInstanceProfile",
                "iam:CreateInstanceProfile",
                "iam:DeleteInstanceProfile",
                "iam:GetInstanceProfile",
                "iam:PassRole",
                "iam:RemoveRoleFromInstanceProfile",
                "iam:TagInstanceProfile",
            ],
            "denied",
        )
    }


def test_tags_of_node_classes_may_meet_a_condition(policy, allow):
    """As the Terraform module up to 19 asks: the instance must carry a tag that only spec.tags can give it."""
    own = {"StringEquals": {"ec2:ResourceTag/karpenter.sh/discovery": "blue"}}
    given = policy(allow("ec2:TerminateInstances", "*", own))
    site = AwsSite(cluster="blue", extra_tags={"karpenter.sh/discovery": "blue"})
    with_tags, without = gaps_of([given], "0.31", site=site), gaps_of([given], "0.31")
    assert short(without.gaps)["ec2:TerminateInstances"][0] == "blocked_by_condition"
    assert "ec2:TerminateInstances" not in short(with_tags.gaps)


def test_the_controller_of_0_33_to_1_3_needs_the_queue_most(policy):
    severity = {
        release: next(gap.severity for gap in gaps_of([], release).gaps if gap.action == "sqs:GetQueueUrl")
        for release in ("0.32", "0.33", "1.3", "1.4")
    }
    assert severity == {"0.32": "degraded", "0.33": "blocker", "1.3": "blocker", "1.4": "degraded"}


def test_a_gap_carries_what_the_controller_logs(policy, allow):
    gap = next(gap for gap in gaps_of([], "1.7").gaps if gap.action == "iam:ListInstanceProfiles")
    assert gap.logs == ("listing instance profiles ... AccessDenied ... iam:ListInstanceProfiles",)


def test_a_release_nobody_knows_is_refused():
    with pytest.raises(InvalidInput):
        gaps_of([], "1.99")


IMAGES = "arn:aws:ssm:*:*:parameter/aws/service/eks/optimized-ami/*"
AL2023 = "/aws/service/eks/optimized-ami/1.30/amazon-linux-2023/x86_64/standard/recommended/image_id"


def of_parameters(policy, *resources, parameters=()):
    rest = {"Effect": "Allow", "NotAction": "ssm:*", "Resource": "*"}
    read = {"Effect": "Allow", "Action": "ssm:GetParameter", "Resource": list(resources)}
    site = AwsSite(cluster="blue", account="111122223333", region="eu-west-1", parameters=parameters)
    return {gap.verdict.value for gap in gaps_of([policy(rest, read)], NEWEST_MINOR, site=site).gaps}


@pytest.mark.parametrize(
    ("resource", "parameters", "verdicts"),
    [
        (IMAGES, (), set()),
        (f"{IMAGES}/amazon-linux-2/*", (), {"unknown"}),
        (f"{IMAGES}/amazon-linux-2023/*", (), {"unknown"}),
        ("arn:aws:ssm:*:*:parameter/aws/service/bottlerocket/*", (), {"blocked_by_resource"}),
        (f"{IMAGES}/amazon-linux-2/*", (AL2023,), {"blocked_by_resource"}),
        (f"{IMAGES}/amazon-linux-2023/*", (AL2023,), set()),
        ("arn:aws:ssm:*:*:parameter/aws/service/*", (AL2023, "/team/node"), {"blocked_by_resource"}),
        ("arn:aws:ssm:*:*:parameter/*", (AL2023, "/team/node", "node"), set()),
        ("arn:aws:ssm:eu-west-1:111122223333:parameter/node", ("node",), set()),
        ("arn:aws:ssm:eu-west-1:444455556666:parameter/a", ("arn:aws:ssm:eu-west-1:444455556666:parameter/a",), set()),
    ],
)
def test_the_parameters_of_the_images_in_use_decide(policy, resource, parameters, verdicts):
    assert of_parameters(policy, resource, parameters=parameters) == verdicts

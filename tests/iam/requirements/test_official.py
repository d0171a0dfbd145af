"""The published documents, where they are at hand: each satisfies its releases and lacks what the next one brings."""

import pytest

from migrations_app.iam.policy import filled
from migrations_app.iam.requirements.gaps import find_gaps
from migrations_app.iam.site import AwsSite

SITE = AwsSite(cluster="blue", account="111122223333", region="eu-west-1")

OWN = {
    "v0.30.0": ["0.28", "0.29", "0.30"],
    "v0.31.4": ["0.31"],
    "v0.32.10": ["0.32"],
    "v0.37.8": ["0.33", "0.34", "0.35", "0.36", "0.37"],
    "v1.0.14": ["1.0", "1.1", "1.2"],
    "v1.14.1": [f"1.{n}" for n in range(15)],
}
CAPACITY = {
    "ec2:CreateFleet": ("blocked_by_condition", "always"),
    "ec2:CreateLaunchTemplate": ("blocked_by_condition", "always"),
    "ec2:CreateTags": ("blocked_by_condition", "always"),
    "ec2:DeleteLaunchTemplate": ("blocked_by_condition", "always"),
    "ec2:RunInstances": ("blocked_by_condition", "always"),
    "ec2:TerminateInstances": ("blocked_by_condition", "always"),
}
PROFILES = {
    f"iam:{call}InstanceProfile": ("missing", "always")
    for call in ("AddRoleTo", "Create", "Delete", "Get", "RemoveRoleFrom", "Tag")
}
RESERVATIONS = {
    "ec2:DescribeCapacityReservations": ("missing", "conditional"),
    "ec2:RunInstances": ("blocked_by_resource", "conditional"),
}
PLACEMENT = {
    "ec2:CreateFleet": ("blocked_by_resource", "conditional"),
    "ec2:DescribePlacementGroups": ("missing", "conditional"),
}
LISTING = {"iam:ListInstanceProfiles": ("missing", "always")}
STATUS = {"ec2:DescribeInstanceStatus": ("missing", "always")}
ZONAL = {"arc-zonal-shift:GetManagedResource": ("missing", "conditional")}
TAGGING = {"ec2:CreateTags": ("blocked_by_condition", "always")}


def short(gaps):
    return {gap.action: (gap.verdict.value, gap.required) for gap in gaps}


@pytest.mark.parametrize(("tag", "release"), [(tag, release) for tag, releases in OWN.items() for release in releases])
def test_a_document_satisfies_its_own_releases(official, tag, release):
    report = find_gaps([official(tag)], release=release, site=SITE)
    assert (short(report.gaps), report.ok) == ({}, True)
    assert short(report.legacy_gaps) == (CAPACITY if release == "0.32" else {})


@pytest.mark.parametrize(
    ("tag", "release", "expected"),
    [
        ("v0.30.0", "0.31", {}),
        ("v0.30.0", "0.32", CAPACITY | PROFILES),
        ("v0.31.4", "0.32", CAPACITY | PROFILES),
        ("v0.32.10", "0.33", {"ec2:CreateTags": ("blocked_by_resource", "always")}),
        ("v0.37.8", "1.0", TAGGING),
        ("v0.37.8", "1.1", TAGGING),
        ("v0.37.8", "1.7", TAGGING | LISTING | RESERVATIONS),
        ("v1.0.14", "1.3", RESERVATIONS),
        ("v1.0.14", "1.6", RESERVATIONS),
        ("v1.0.14", "1.7", RESERVATIONS | LISTING),
        ("v1.0.14", "1.10", RESERVATIONS | LISTING),
        ("v1.0.14", "1.11", RESERVATIONS | LISTING | PLACEMENT),
        ("v1.0.14", "1.12", RESERVATIONS | LISTING | PLACEMENT | STATUS | ZONAL),
        ("v1.0.14", "1.14", RESERVATIONS | LISTING | PLACEMENT | STATUS | ZONAL),
    ],
)
def test_an_older_document_lacks_what_changed_since(official, tag, release, expected):
    assert short(find_gaps([official(tag)], release=release, site=SITE).gaps) == expected


def test_0_33_tags_the_spot_request_and_nothing_else_is_refused(official):
    gap = find_gaps([official("v0.32.10")], release="0.33", site=SITE).gaps[0]
    assert gap.resource == ("spot-instances-request",)
    assert gap.when == "spot capacity is allowed"


def test_1_0_is_refused_by_the_list_of_tag_keys_alone(official):
    gap = find_gaps([official("v0.37.8")], release="1.0", site=SITE).gaps[0]
    assert gap.resource == ("instance",)
    assert gap.causes == (
        (
            "v0.37.8: Statement[4] (AllowScopedResourceTagging): ForAllValues:StringEquals aws:TagKeys wants "
            "karpenter.sh/nodeclaim or Name, sent: eks:eks-cluster-name"
        ),
    )


@pytest.mark.parametrize("release", ["0.33", "0.37"])
def test_a_rollback_from_1_0_is_refused_every_launch(official, release):
    report = find_gaps([official("v1.0.14")], release=release, site=SITE)
    assert {gap.action for gap in report.gaps if gap.required == "always"} == {
        "ec2:CreateFleet",
        "ec2:CreateLaunchTemplate",
        "ec2:CreateTags",
        "ec2:RunInstances",
        "iam:CreateInstanceProfile",
        "iam:TagInstanceProfile",
    }


@pytest.mark.parametrize(
    ("older", "newer", "releases"),
    [("v0.31.4", "v0.32.10", ["0.31", "0.32"]), ("v0.37.8", "v1.0.14", ["0.33", "0.37", "1.0", "1.1"])],
)
def test_both_documents_side_by_side_carry_a_hop_both_ways(official, older, newer, releases):
    for release in releases:
        report = find_gaps([official(older), official(newer)], release=release, site=SITE)
        assert (report.gaps, report.legacy_gaps) == ((), ())


def test_the_split_documents_of_1_14_are_needed_together(official):
    names = [
        "node-lifecycle",
        "iam-integration",
        "eks-integration",
        "interruption",
        "zonal-shift",
        "resource-discovery",
    ]
    documents = [official("v1.14.1", f"{name}-policy.json") for name in names]
    assert find_gaps(documents, release="1.14", site=SITE).gaps == ()
    lacking = find_gaps(documents[:1], release="1.14", site=SITE)
    assert {gap.action.partition(":")[0] for gap in lacking.gaps} == {
        "arc-zonal-shift", "ec2", "eks", "iam", "pricing", "sqs", "ssm",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("site", "actions"),
    [
        (AwsSite(cluster="blue", queue="other"), {"sqs:DeleteMessage", "sqs:GetQueueUrl", "sqs:ReceiveMessage"}),
        (AwsSite(cluster="blue", node_roles=("KarpenterNodeRole-blue", "other")), {"iam:PassRole"}),
    ],
)
def test_a_document_filled_for_other_names_is_refused(official, site, actions):
    document = filled(official("v1.0.14"), AwsSite(cluster="blue"))
    report = find_gaps([document], release="1.0", site=site)
    assert short(report.gaps) == dict.fromkeys(sorted(actions), ("blocked_by_resource", "always"))

"""In China the role is passed to another service, and in GovCloud no price list is asked from 1.7 on."""

import pytest

from migrations_app.iam.policy import IamPolicy
from migrations_app.iam.requirements.evaluation import EvaluationRequest, evaluate_request
from migrations_app.iam.requirements.features import ASSUMED, Feature
from migrations_app.iam.requirements.gaps import find_gaps
from migrations_app.iam.requirements.remedies import statements_to_add
from migrations_app.iam.site import AwsSite
from tests.builders.newest import NEWEST_MINOR

CHINA = AwsSite(cluster="blue", account="111122223333", region="cn-north-1", partition="aws-cn")
GOVCLOUD = AwsSite(cluster="blue", account="111122223333", region="us-gov-west-1", partition="aws-us-gov")
ELSEWHERE = AwsSite(cluster="blue", account="111122223333", region="eu-west-1")
GLOBAL, CHINESE = "ec2.amazonaws.com", "ec2.amazonaws.com.cn"
PASSED = "iam:PassedToService"
LAUNCH, PROFILE = ("pass-role", CHINESE), ("instance-profile", GLOBAL)
PRICES = "pricing:GetProducts"


@pytest.fixture
def passing(policy, allow):
    """passing(service, ...) -> a policy that allows all, and passing roles to these services alone."""

    def build(*services):
        rest = {"Effect": "Allow", "NotAction": "iam:PassRole", "Resource": "*"}
        return policy(rest, allow("iam:PassRole", "*", {"StringEquals": {PASSED: list(services)}}))

    return build


def refused(given, release, site, **more):
    """What each refused request is for, and the service it passes a role to."""
    gaps = find_gaps([given], release=release, site=site, **more).gaps
    return {
        (one.probe.capability, *one.request.lookup(PASSED))
        for gap in gaps
        for one in gap.refusals
        if gap.action == "iam:PassRole" and gap.required == "always" and one.applies
    }


# Launches: karpenter-provider-aws#6843, terraform-aws-eks#3057; instance profiles: karpenter-provider-aws#6839.
@pytest.mark.parametrize(
    ("services", "release", "expected"),
    [
        ((GLOBAL,), "0.31", {LAUNCH}),
        ((GLOBAL,), "0.37", {LAUNCH}),
        ((GLOBAL,), NEWEST_MINOR, {LAUNCH}),
        ((CHINESE,), "0.31", set()),
        ((CHINESE,), "0.32", {PROFILE}),
        ((CHINESE,), NEWEST_MINOR, {PROFILE}),
        ((GLOBAL, CHINESE), "0.31", set()),
        ((GLOBAL, CHINESE), NEWEST_MINOR, set()),
        (("ecs.amazonaws.com",), "1.0", {LAUNCH, PROFILE}),
    ],
)
def test_in_china_a_launch_and_a_profile_pass_the_role_to_two_services(passing, services, release, expected):
    assert refused(passing(*services), release, CHINA) == expected


@pytest.mark.parametrize("site", [GOVCLOUD, ELSEWHERE])
def test_elsewhere_both_pass_it_to_the_one(passing, site):
    assert refused(passing(GLOBAL), NEWEST_MINOR, site) == set()
    assert refused(passing(CHINESE), NEWEST_MINOR, site) == {("pass-role", GLOBAL)}


def test_with_profiles_of_their_own_node_classes_pass_none_to_the_other(passing):
    own = ASSUMED - {Feature.SPEC_ROLE}
    assert refused(passing(CHINESE), "1.0", CHINA, assumed=own) == set()
    assert refused(passing(GLOBAL), "1.0", CHINA, assumed=own) == {LAUNCH}


@pytest.mark.parametrize(
    ("service", "effect"),
    [
        (GLOBAL, "Launches are refused: in China they pass the role to ec2.amazonaws.com.cn."),
        (
            CHINESE,
            "The role cannot be put into an instance profile: in China, too, that passes it to ec2.amazonaws.com.",
        ),
    ],
)
def test_the_entry_says_which_of_both_is_refused(passing, service, effect):
    (gap,) = find_gaps([passing(service)], release="1.0", site=CHINA).gaps
    assert (gap.action, gap.effect, gap.severity) == ("iam:PassRole", effect, "blocker")


def test_a_condition_that_cannot_be_told_leaves_it_open(policy, allow):
    rest = {"Effect": "Allow", "NotAction": "iam:PassRole", "Resource": "*"}
    given = policy(rest, allow("iam:PassRole", "*", {"IpAddress": {"aws:SourceIp": "10.0.0.0/8"}}))
    (gap,) = find_gaps([given], release="1.0", site=CHINA).gaps
    assert (gap.action, gap.verdict.value, gap.required) == ("iam:PassRole", "unknown", "always")


@pytest.mark.parametrize("service", [GLOBAL, CHINESE])
def test_what_closes_the_gap_passes_the_role_to_both(passing, service):
    report = find_gaps([passing(service)], release="1.0", site=CHINA)
    added = IamPolicy(name="", statements=statements_to_add(report, CHINA).statements)
    assert find_gaps([passing(service), added], release="1.0", site=CHINA).gaps == ()


def test_the_documents_of_both_partitions_hold_in_china(official):
    """1.1.0 was the first whose template names both services."""
    assert refused(official("v0.37.8"), "0.37", CHINA) == {LAUNCH}
    assert refused(official("v1.0.14"), "1.0", CHINA) == {LAUNCH}
    assert find_gaps([official("v1.14.1")], release="1.14", site=CHINA).gaps == ()


@pytest.mark.parametrize(
    ("site", "release", "needed"),
    [
        (GOVCLOUD, "0.28", True),
        (GOVCLOUD, "1.6", True),
        (GOVCLOUD, "1.7", False),
        (GOVCLOUD, NEWEST_MINOR, False),
        (ELSEWHERE, "1.7", True),
        (CHINA, NEWEST_MINOR, True),
    ],
)
def test_prices_are_asked_in_govcloud_up_to_1_6(policy, site, release, needed):
    given = policy({"Effect": "Allow", "NotAction": PRICES, "Resource": "*"})
    gaps = find_gaps([given], release=release, site=site).gaps
    assert [(gap.action, gap.required) for gap in gaps] == ([(PRICES, "always")] if needed else [])


def test_the_region_tells_the_partition(policy):
    given = policy({"Effect": "Allow", "NotAction": PRICES, "Resource": "*"})

    def found(region):
        request = EvaluationRequest(release=NEWEST_MINOR, policies=(given,), region=region)
        return [gap.action for gap in evaluate_request(request).report.gaps]

    assert {region: found(region) for region in ("us-gov-west-1", "us-gov-east-1", "us-west-2", "")} == {
        "us-gov-west-1": [],
        "us-gov-east-1": [],
        "us-west-2": [PRICES],
        "": [PRICES],
    }

"""From 1.7 on, profiles are made in a path, and read by their name alone as well."""

import pytest

from migrations_app.iam.policy import IamPolicy
from migrations_app.iam.requirements.gaps import find_gaps
from migrations_app.iam.requirements.remedies import statements_to_add
from migrations_app.iam.site import AwsSite
from tests.builders.newest import NEWEST_MINOR

SITE = AwsSite(cluster="blue", account="111122223333", region="eu-west-1")
PROFILES = "arn:aws:iam::111122223333:instance-profile/"
REST = {"Effect": "Allow", "NotAction": "iam:GetInstanceProfile", "Resource": "*"}


def report_of(policy, release, *resources):
    read = {"Effect": "Allow", "Action": "iam:GetInstanceProfile", "Resource": [PROFILES + name for name in resources]}
    return find_gaps([policy(REST, read)], release=release, site=SITE)


def refused(report):
    return {refusal.request.resource.removeprefix(PROFILES) for gap in report.gaps for refusal in gap.refusals}


@pytest.mark.parametrize("release", ["1.7", "1.8", NEWEST_MINOR])
def test_reading_in_the_path_alone_is_not_enough(policy, release):
    report = report_of(policy, release, "karpenter/*")
    assert [(gap.action, gap.verdict.value, gap.required, gap.severity) for gap in report.gaps] == [
        ("iam:GetInstanceProfile", "blocked_by_resource", "always", "blocker")
    ]
    assert refused(report) == {"blue_1234567890"}
    added = statements_to_add(report, SITE).statements
    assert [statement.resources for statement in added] == [(f"{PROFILES}*",)]
    assert find_gaps([policy(REST), IamPolicy(name="", statements=added)], release=release, site=SITE).ok


@pytest.mark.parametrize("release", ["1.7", NEWEST_MINOR])
def test_reading_by_name_alone_is_not_enough(policy, release):
    path = "karpenter/eu-west-1/blue/0f0e0d0c-0000-4000-8000-000000000000/blue_1234567890"
    assert refused(report_of(policy, release, "blue_*")) == {path}


@pytest.mark.parametrize("release", ["1.7", NEWEST_MINOR])
def test_both_are_enough(policy, release):
    assert report_of(policy, release, "blue_*", "karpenter/*").ok


@pytest.mark.parametrize("release", ["0.32", "1.6"])
def test_older_releases_know_no_path(policy, release):
    assert report_of(policy, release, "blue_*").ok

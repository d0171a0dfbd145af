"""A launch is authorised for a snapshot only if a node class names it (terraform-aws-eks#2648)."""

import pytest

from migrations_app.iam.policy import IamPolicy
from migrations_app.iam.requirements.features import ASSUMED, Feature
from migrations_app.iam.requirements.gaps import find_gaps
from migrations_app.iam.requirements.remedies import statements_to_add
from migrations_app.iam.site import AwsSite
from tests.builders.newest import NEWEST_MINOR

SITE = AwsSite(cluster="blue", account="111122223333", region="eu-west-1")
NAMED = ASSUMED | {Feature.SNAPSHOTS}
SNAPSHOTS = "arn:aws:ec2:eu-west-1::snapshot/*"
RELEASES = ("0.28", "0.31", "0.32", "0.37", "1.0", NEWEST_MINOR)


@pytest.fixture
def without_snapshots(policy):
    """All but launches from snapshots, as documents of the Terraform module up to 19.15 are."""
    rest = {"Effect": "Allow", "NotAction": "ec2:RunInstances", "Resource": "*"}
    return policy(rest, {"Effect": "Allow", "Action": "ec2:RunInstances", "NotResource": "arn:aws:ec2:*::snapshot/*"})


def short(report):
    return {gap.action: (gap.verdict.value, gap.required, gap.resource) for gap in report.gaps}


@pytest.mark.parametrize("release", RELEASES)
def test_without_one_that_is_named_nothing_is_missing(without_snapshots, release):
    report = find_gaps([without_snapshots], release=release, site=SITE)
    assert short(report) == {"ec2:RunInstances": ("blocked_by_resource", "conditional", ("snapshot",))}
    assert report.gaps[0].when == "a node class names a snapshotID in its block device mappings"
    assert report.ok
    assert statements_to_add(report, SITE).statements == ()


@pytest.mark.parametrize("release", RELEASES)
def test_one_that_is_named_has_to_be_allowed(without_snapshots, release):
    report = find_gaps([without_snapshots], release=release, site=SITE, assumed=NAMED)
    assert short(report) == {"ec2:RunInstances": ("blocked_by_resource", "always", ("snapshot",))}
    assert [gap.severity for gap in report.gaps] == ["blocker"]
    added = statements_to_add(report, SITE)
    assert {statement.resources for statement in added.statements} == {(SNAPSHOTS,)}
    assert find_gaps(
        [without_snapshots, IamPolicy(name="", statements=added.statements)], release=release, site=SITE, assumed=NAMED
    ).ok


def test_a_patch_for_launches_allows_snapshots_as_upstream_does():
    added = statements_to_add(find_gaps([], release="1.0", site=SITE), SITE)
    granted = [statement for statement in added.statements if SNAPSHOTS in statement.resources]
    assert [statement.sid for statement in granted] == ["LaunchFrom"]

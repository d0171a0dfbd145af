"""From 1.3 on, node classes are validated by a rehearsal whose tag of the NodePool is empty."""

import pytest

from migrations_app.iam.policy import IamPolicy
from migrations_app.iam.requirements.features import ASSUMED, Feature
from migrations_app.iam.requirements.gaps import find_gaps
from migrations_app.iam.requirements.remedies import statements_to_add
from migrations_app.iam.site import AwsSite
from tests.builders.newest import NEWEST_MINOR

SITE = AwsSite(cluster="blue", account="111122223333", region="eu-west-1")
CREATED = {
    "ec2:CreateFleet": {"fleet", "instance", "volume"},
    "ec2:CreateLaunchTemplate": {"launch-template"},
    "ec2:RunInstances": {"instance", "network-interface", "volume"},
    "ec2:CreateTags": {"fleet", "instance", "launch-template", "network-interface", "volume"},
}


@pytest.fixture
def named_pools(policy):
    """Creations with the tag of a NodePool that has a name; all else is allowed."""
    named = {"StringLike": {"aws:RequestTag/karpenter.sh/nodepool": "?*"}}
    carried = {"Null": {"aws:RequestTag/karpenter.sh/nodepool": "true"}}
    return policy(
        {"Effect": "Allow", "NotAction": list(CREATED), "Resource": "*"},
        {"Effect": "Allow", "Action": list(CREATED), "Resource": "*", "Condition": named},
        {"Effect": "Allow", "Action": list(CREATED), "Resource": "*", "Condition": carried},
    )


@pytest.mark.parametrize("release", ["1.3", "1.6", NEWEST_MINOR])
def test_every_creation_of_the_rehearsal_is_asked_for(named_pools, release):
    report = find_gaps([named_pools], release=release, site=SITE)
    refused = {gap.action: {refusal.probe.kind for refusal in gap.refusals} for gap in report.gaps}
    assert refused == CREATED
    assert {(gap.needed_for, gap.severity, gap.required) for gap in report.gaps} == {
        (("validation",), "blocker", "always")
    }


@pytest.mark.parametrize("release", ["1.3", NEWEST_MINOR])
def test_the_patch_lets_the_whole_rehearsal_through(named_pools, release):
    added = statements_to_add(find_gaps([named_pools], release=release, site=SITE), SITE).statements
    assert find_gaps([named_pools, IamPolicy(name="", statements=added)], release=release, site=SITE).gaps == ()


def test_without_a_rehearsal_names_may_be_asked_for(named_pools):
    assert find_gaps([named_pools], release="1.2", site=SITE).gaps == ()
    off = ASSUMED - {Feature.DRY_RUN}
    assert find_gaps([named_pools], release=NEWEST_MINOR, site=SITE, assumed=off).ok

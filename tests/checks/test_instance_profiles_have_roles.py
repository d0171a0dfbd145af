from dataclasses import replace

import pytest

from migrations_app.checks.registry import all_checks
from migrations_app.checks.runner import run
from migrations_app.inventory.objects.aws import AwsSeen, InstanceProfile
from migrations_app.inventory.objects.cluster_arn import AwsPlace
from migrations_app.inventory.parts import Seen
from tests.builders import asked_hops, case_at
from tests.builders_pools import GONE, a_provisioner, a_template, answer, at, parses, row, unseen_is_unknown

CHECK = "instance_profiles_have_roles"
VERSION = "0.32.10"
PATH = "spec.instanceProfile"
NAMED = a_template({PATH: "nodes"})
LOOK_UP = "look up the role of the profile {} (aws iam get-instance-profile) for spec.role"


def with_aws(*profiles, template=NAMED):
    """The finding where IAM was read and has these profiles."""
    case = case_at("0.33+", at(VERSION, template))
    aws = AwsSeen(place=AwsPlace(region="eu-west-1", cluster="test"), instance_profiles=Seen(profiles))
    case = replace(case, inventory=replace(case.inventory, aws=aws))
    return run([next(one for one in all_checks() if one.id == CHECK)], case)[0]


def profile(*roles: str, exists: bool = True) -> InstanceProfile:
    return InstanceProfile(name="nodes", exists=exists, role_arns=roles)


def test_a_profile_with_one_role():
    finding = with_aws(profile("arn:aws:iam::111122223333:role/nodes"))
    assert (finding.status, finding.summary) == ("pass", "The role behind every instance profile is known")


@pytest.mark.parametrize(
    ("found", "seen"),
    [
        (profile(exists=False), "nodes: no such profile"),
        (profile(), "nodes: 0 roles"),
        (profile("arn:aws:iam::111122223333:role/a", "arn:aws:iam::111122223333:role/b"), "nodes: 2 roles"),
    ],
)
def test_a_profile_without_a_single_role(found, seen):
    finding = with_aws(found)
    cause = row("AWSNodeTemplate", "default", PATH, seen=seen, wanted="a profile with one role")
    assert (finding.status, finding.evidence) == ("fail", (cause,))
    assert parses(finding.remedies) == ["iam"]
    look = "aws iam get-instance-profile --instance-profile-name nodes"
    assert finding.remedies[0].text.splitlines()[0] == look


def test_a_profile_that_was_not_looked_up():
    finding = with_aws()
    words = "AWSNodeTemplate default: the profile nodes was not looked up in IAM"
    assert (finding.status, finding.summary) == ("unknown", words)


def test_without_aws_a_person_looks():
    told = answer(CHECK, "0.33+", at(VERSION, NAMED))
    assert told == ("manual", f"AWSNodeTemplate default: {LOOK_UP.format('nodes')}")


def test_the_default_profile_is_gone():
    default = "of aws.defaultInstanceProfile, which v1beta1 ignores"
    told = answer(CHECK, "0.33+", at(VERSION, a_template()))
    assert told == ("manual", f"AWSNodeTemplate default: {LOOK_UP.format(default)}")


def test_an_inline_provider_names_one_too():
    inline = a_provisioner({"spec.provider": {"instanceProfile": "own"}, "spec.providerRef": GONE})
    assert answer(CHECK, "0.33+", at(VERSION, inline)) == ("manual", f"Provisioner web: {LOOK_UP.format('own')}")


@pytest.mark.parametrize("odd", [7, ["nodes"], {}])
def test_odd_values_are_unknown_by_their_field(odd):
    told = answer(CHECK, "0.33+", at(VERSION, a_template({PATH: odd})))
    assert told == ("unknown", f"AWSNodeTemplate default: {PATH} is not a text")


def test_where_nothing_names_a_profile():
    assert answer(CHECK, "0.33+", at(VERSION, a_provisioner()))[0] == "not_applicable"
    assert asked_hops(CHECK) == ("0.32", "0.33+")


def test_unseen():
    unseen_is_unknown(CHECK, "0.33+", version=VERSION)

from dataclasses import replace

import pytest

from migrations_app.checks.changes import PersonTask, leaves
from migrations_app.checks.registry import all_checks
from migrations_app.checks.runner import run
from migrations_app.inventory.objects.aws import AwsSeen, InstanceProfile
from migrations_app.inventory.objects.cluster_arn import AwsPlace
from migrations_app.inventory.parts import Seen
from migrations_app.samples.kubernetes_objects import config_map
from tests.builders.clusters import asked_hops, case_at
from tests.builders.iam import a_node_role
from tests.builders.pools import GONE, a_provisioner, a_template, answer, at, parses, row, unseen_is_unknown

CHECK = "instance_profiles_have_roles"
VERSION = "0.32.10"
PATH = "spec.instanceProfile"
NAMED = a_template({PATH: "nodes"})
LOOK_UP = "look up the role of the profile {} (aws iam get-instance-profile) for spec.role"


def with_aws(*profiles, template=NAMED, **parts):
    """The finding where IAM was read and has these profiles."""
    case = case_at("0.33+", at(VERSION, *(template if isinstance(template, tuple) else (template,))))
    aws = AwsSeen(place=AwsPlace(region="eu-west-1", cluster="test"), instance_profiles=Seen(profiles), **parts)
    case = replace(case, inventory=replace(case.inventory, aws=aws))
    return run([next(one for one in all_checks() if one.id == CHECK)], case)[0]


def profile(*roles: str, exists: bool = True) -> InstanceProfile:
    return InstanceProfile(name="nodes", exists=exists, role_arns=roles)


def test_a_profile_with_one_role():
    finding = with_aws(profile("arn:aws:iam::111122223333:role/nodes"))
    assert (finding.status, finding.summary) == ("pass", "Every instance profile has a known role")


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


ROLE = "KarpenterNodeRole-test"
ADDED = f"aws iam add-role-to-instance-profile --instance-profile-name nodes --role-name {ROLE}"


@pytest.mark.parametrize(
    ("found", "lines"),
    [
        (profile(exists=False), ["aws iam create-instance-profile --instance-profile-name nodes", ADDED]),
        (profile(), [ADDED]),
    ],
)
def test_a_profile_gets_the_role_of_the_other_nodes(found, lines):
    code, steps = sorted(
        with_aws(found, node_roles=Seen((a_node_role(),))).remedies, key=lambda one: one.how != "terraform"
    )
    assert steps.text.splitlines() == lines
    assert f'role = "{ROLE}"' in code.text
    assert [step.undo is not None for step in leaves(steps.change)] == [True] * len(lines)


def test_a_profile_with_two_roles_is_for_a_person():
    two = profile("arn:aws:iam::111122223333:role/a", "arn:aws:iam::111122223333:role/b")
    (steps,) = with_aws(two, node_roles=Seen((a_node_role(),))).remedies
    assert [type(step) for step in leaves(steps.change)] == [PersonTask]


def test_a_profile_that_was_not_looked_up():
    finding = with_aws()
    words = "AWSNodeTemplate default: the profile nodes was not looked up in IAM"
    assert (finding.status, finding.summary) == ("unknown", words)


def test_without_aws_a_person_looks():
    told = answer(CHECK, "0.33+", at(VERSION, NAMED))
    assert told == ("manual", f"AWSNodeTemplate default: {LOOK_UP.format('nodes')}")
    (look,) = finding_at(NAMED).remedies
    assert look.text == f"{GET} nodes --query 'InstanceProfile.Roles[].RoleName' --output text"


GET = "aws iam get-instance-profile --instance-profile-name"


def finding_at(*docs):
    return run([next(one for one in all_checks() if one.id == CHECK)], case_at("0.33+", at(VERSION, *docs)))[0]


def test_the_default_profile_is_gone():
    default = "of aws.defaultInstanceProfile, which v1beta1 ignores"
    told = answer(CHECK, "0.33+", at(VERSION, a_template()))
    assert told == ("manual", f"AWSNodeTemplate default: {LOOK_UP.format(default)}")
    assert finding_at(a_template()).remedies == ()


SETTINGS = config_map("karpenter-global-settings", "karpenter", data={"aws.defaultInstanceProfile": "nodes"})


def test_the_default_profile_is_looked_up_by_its_name():
    (look,) = finding_at(a_template(), SETTINGS).remedies
    assert look.text.startswith(f"{GET} nodes ")


@pytest.mark.parametrize(
    ("found", "status"), [(profile("arn:aws:iam::111122223333:role/nodes"), "pass"), (profile(exists=False), "fail")]
)
def test_where_iam_was_read_the_default_profile_is_judged(found, status):
    assert with_aws(found, template=(a_template(), SETTINGS)).status == status


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

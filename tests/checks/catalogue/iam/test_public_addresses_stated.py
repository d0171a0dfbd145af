from dataclasses import replace

import pytest

from migrations_app.checks.registry import all_checks
from migrations_app.checks.runner import run
from migrations_app.inventory.objects.aws import AwsSeen, ControllerRole, PolicyDocument
from migrations_app.inventory.objects.cluster_arn import AwsPlace
from migrations_app.inventory.parts import Seen
from tests.builders.clusters import asked_hops, case_at
from tests.builders.patches import patch_words
from tests.builders.pools import a_class, answer, at, parses, row, unseen_is_unknown

CHECK = "public_addresses_stated"
PATH = "spec.associatePublicIPAddress"
LOOK = "EC2NodeClass default: look for ec2:AssociatePublicIpAddress in policies of the organisation"


def beta(value=None):
    return at("0.37.8", a_class({PATH: value}, version="v1beta1"))


def with_policy(text: str):
    """The finding where the controller's role has a policy of that text."""
    document = PolicyDocument(name="own", kind="inline", text=text, size=len(text))
    role = ControllerRole(
        found_by="irsa",
        arn="arn:aws:iam::111122223333:role/k",
        role=Seen(),
        policies=Seen((document,)),
        boundary=Seen(),
    )
    aws = AwsSeen(place=AwsPlace(region="eu-west-1", cluster="test"), controller_roles=Seen((role,)))
    case = case_at("1.0", beta())
    case = replace(case, inventory=replace(case.inventory, aws=aws))
    return run([next(one for one in all_checks() if one.id == CHECK)], case)[0]


@pytest.mark.parametrize("value", [True, False])
def test_it_is_stated(value):
    good = ("pass", "Node classes set the public address where a policy requires it")
    assert answer(CHECK, "1.0", beta(value)) == good


def test_policies_of_the_organisation_are_for_a_person():
    assert answer(CHECK, "1.0", beta()) == ("manual", LOOK)
    assert (with_policy('{"Statement": []}').status, with_policy("{}").summary) == ("manual", LOOK)


def test_a_policy_that_asks_for_it():
    finding = with_policy('{"Condition": {"Bool": {"ec2:AssociatePublicIPAddress": "false"}}}')
    seen = "absent, and own requires ec2:AssociatePublicIpAddress"
    cause = row("EC2NodeClass", "default", PATH, seen=seen, wanted="false in private subnets")
    assert (finding.status, finding.evidence) == ("fail", (cause,))
    assert parses(finding.remedies) == ["kubectl"]
    patch = patch_words(("/spec/associatePublicIPAddress", None, False))
    line = f"kubectl patch ec2nodeclasses.karpenter.k8s.aws default {patch}"
    assert finding.remedies[0].text.splitlines()[1:] == [line]


@pytest.mark.parametrize("odd", ["false", 0, []])
def test_odd_values_are_unknown_by_their_field(odd):
    assert answer(CHECK, "1.0", beta(odd)) == ("unknown", f"EC2NodeClass default: {PATH} is not true or false")


def test_without_classes_it_does_not_arise():
    assert answer(CHECK, "1.0", at("0.37.8")) == ("not_applicable", "there is no EC2NodeClass yet")
    assert asked_hops(CHECK) == ("1.0",)


def test_unseen():
    unseen_is_unknown(CHECK, "1.0", version="0.37.8")

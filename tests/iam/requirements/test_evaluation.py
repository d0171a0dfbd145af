"""What is told by name and setting becomes a site, settings and a remedy, the same for whoever asks."""

import json

import pytest

from migrations_app.errors import InvalidInput
from migrations_app.iam.policy import parse_policy
from migrations_app.iam.requirements.evaluation import CHOSEN, EvaluationRequest, evaluate_request, site_of
from migrations_app.iam.requirements.features import ASSUMED, Feature
from migrations_app.iam.requirements.gaps import find_gaps
from migrations_app.iam.requirements.output import REMEDY_FORMS, remedy, removal_lines, stand_ins
from migrations_app.iam.requirements.remedies import removable
from migrations_app.iam.site import AwsSite

ARN = "arn:aws:iam::444455556666:role/nodes/Karpenter"


def asked(policy, *statements, **more):
    more.setdefault("release", "1.0")
    return EvaluationRequest(policies=(policy(*statements),), **more)


def test_names_that_are_told_win_over_those_that_are_read(policy, allow):
    pass_role = allow("iam:PassRole", ARN)
    site, read = site_of(asked(policy, pass_role, account="111122223333"))
    assert read == {"node_role": "nodes/Karpenter", "partition": "aws"}
    assert site == AwsSite(account="111122223333", node_roles=("nodes/Karpenter",))
    site, read = site_of(asked(policy, pass_role, node_role=("One", "Two")))
    assert (site.roles, read) == (("One", "Two"), {"account": "444455556666", "partition": "aws"})


@pytest.mark.parametrize(
    ("region", "partition"),
    [
        ("cn-north-1", "aws-cn"),
        ("us-gov-west-1", "aws-us-gov"),
        ("eu-west-1", "aws"),
        ("us-iso-east-1", "aws-iso"),
        ("us-isob-east-1", "aws-iso-b"),
        ("eu-isoe-west-1", "aws-iso-e"),
        ("us-isof-south-1", "aws-iso-f"),
        ("eusc-de-east-1", "aws-eusc"),
        ("", "aws"),
        ("zz-north-1", "aws"),
    ],
)
def test_a_region_tells_its_partition(policy, region, partition):
    assert site_of(asked(policy, region=region))[0].partition == partition
    assert site_of(asked(policy, region=region, partition="aws-iso"))[0].partition == "aws-iso"


@pytest.mark.parametrize(
    ("arn", "region", "partition"),
    [
        ("arn:aws-new:ec2:*:*:subnet/*", "zz-north-1", "aws-new"),  # a partition of tomorrow: the documents tell it
        ("arn:aws-cn:ec2:*:*:subnet/*", "eu-west-1", "aws"),  # the region is known: other ARNs grant nothing there
        ("arn:aws:ec2:*:*:subnet/*", "eusc-de-east-1", "aws-eusc"),
        ("arn:*:ec2:eusc-de-east-1:*:subnet/*", "", "aws-eusc"),  # the region is read from the documents
        ("arn:aws-cn:ec2:*:*:subnet/*", "", "aws-cn"),
    ],
)
def test_the_documents_tell_the_partition_only_where_no_region_does(policy, allow, arn, region, partition):
    assert site_of(asked(policy, allow("ec2:*", arn), region=region))[0].partition == partition


@pytest.mark.parametrize(
    ("region", "partition"),
    [("eusc-de-east-1", "aws-eusc"), ("us-iso-east-1", "aws-iso"), ("us-isob-east-1", "aws-iso-b")],
)
def test_a_policy_of_another_partition_is_enough_there_and_its_patch_belongs_there(policy, region, partition):
    names = {"cluster_name": "shop", "account": "111122223333", "region": region}
    site = AwsSite(cluster="shop", account="111122223333", region=region, partition=partition)
    whole = remedy(find_gaps([], release="1.14", site=site), site, policies=()).documents()
    given = tuple(parse_policy(json.dumps(one), name="whole") for one in whole)
    answer = evaluate_request(EvaluationRequest(policies=given, release="1.14", **names))
    assert answer.report.ok
    empty = evaluate_request(EvaluationRequest(policies=(policy(),), release="1.14", **names))
    text = remedy(empty.report, empty.site, policies=()).text("json")
    assert f"arn:{partition}:ec2:{region}:" in text
    assert "arn:aws:" not in text


def test_tags_may_hold_the_sign_between_key_and_value(policy):
    assert site_of(asked(policy, tag=("a=b=c", "d=")))[0].extra_tags == {"a": "b=c", "d": ""}


def test_settings_change_what_is_assumed(policy):
    assert asked(policy).assumed() == ASSUMED
    off, on = frozenset({Feature.QUEUE}), frozenset({Feature.ZONAL_SHIFT})
    assert asked(policy, turned_on=on, turned_off=off).assumed() == (ASSUMED | on) - off
    assert asked(policy, assume_role_arn=ARN).assumed() == ASSUMED | {Feature.ASSUME_ROLE}
    assert set(Feature) - set(CHOSEN) == {Feature.ASSUME_ROLE}


def test_wrong_names_are_told_with_their_fields(policy):
    odd = asked(policy, account="1", node_role=("ok", "a b"), tag=("x",), cluster_name="${a}", queue="q\n")
    assert list(odd.wrong()) == [
        ("cluster_name", "${a}"), ("account", "1"), ("queue", "q\n"), ("node_role", "a b"), ("tag", "x"),
    ]  # fmt: skip
    assert list(asked(policy, account="444455556666", node_role=(ARN,), tag=("a=",)).wrong()) == []


def test_what_decides_nothing_is_told_of_the_boundary_too(policy, allow):
    odd = policy(allow("*", condition={"Sometimes": {"aws:a": "b"}}), name="limit")
    answer = evaluate_request(asked(policy, allow("*"), boundary=(odd,)))
    assert answer.odd == ("limit: Statement[0]: Sometimes is no operator of IAM",)
    assert {gap.verdict.value for gap in answer.report.gaps} == {"unknown"}


def test_a_release_nobody_knows(policy):
    with pytest.raises(InvalidInput, match="permissions are known for"):
        evaluate_request(asked(policy, release="7.0"))


def test_a_remedy_in_each_form(policy, allow):
    answer = evaluate_request(
        asked(policy, allow("ec2:*"), account="444455556666", region="eu-west-1", cluster_name="shop")
    )
    made = remedy(answer.report, answer.site, policies=answer.policies)
    texts = {form: made.text(form) for form in REMEDY_FORMS}
    assert json.loads(texts["json"]) == made.documents()[0]
    assert json.loads(texts["merged"]) == made.documents("merged")[0]
    assert "ec2:*" in texts["merged"]
    assert "ec2:*" not in texts["json"]
    assert "Resources" in json.loads(texts["cloudformation"])
    assert texts["terraform"].startswith("variable ")
    assert texts["module"].startswith("# terraform-aws-modules/eks/aws//modules/karpenter 21.19\n")
    assert made.remarks() == ()
    with pytest.raises(InvalidInput):
        made.text("module", version="x")


def test_stand_ins_and_nothing_to_add(policy, allow):
    answer = evaluate_request(asked(policy, allow("*"), region="eu-west-1"))
    assert stand_ins(answer.site) == (
        "cluster name not told: my-cluster stands in for it",
        "account not told: 000000000000 stands in for it",
    )
    made = remedy(answer.report, answer.site, policies=answer.policies)
    assert made.remarks() == (*stand_ins(answer.site), "no statement has to be added")


def test_removals_in_words(policy, allow):
    both = policy(allow("*"), allow(["sqs:ReceiveMessage", "iam:GetRole"]), name="p")
    found = removable([both], release="1.0", site=AwsSite())
    assert removal_lines(found) == ("p: Statement[1]: whole statement",)
    idle = removable([policy(allow(["sqs:ReceiveMessage", "iam:GetRole"]), name="p")], release="1.0", site=AwsSite())
    assert removal_lines(idle) == ("p: Statement[0]: iam:GetRole",)
    assert removal_lines(()) == ("nothing",)


def test_the_same_document_read_back_is_judged_alike(policy, allow):
    answer = evaluate_request(asked(policy, allow("ec2:*")))
    made = remedy(answer.report, answer.site, policies=answer.policies)
    added = [parse_policy(json.dumps(one)) for one in made.documents()]
    again = evaluate_request(EvaluationRequest(release="1.0", policies=(*answer.policies, *added)))
    assert again.report.ok

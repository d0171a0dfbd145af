"""Questions to SimulatePrincipalPolicy, and what its answers say about our own."""

import json

import pytest

from migrations_app.iam.evaluate import IamRequest, RequestVerdict
from migrations_app.iam.policy import parse_policy
from migrations_app.iam.requirements.features import every_minor, minor_text
from migrations_app.iam.site import AwsSite
from migrations_app.inventory.aws_facts.simulation import (
    LEFT_OUT,
    MAX_QUESTIONS,
    Question,
    Reply,
    SimulatedRequest,
    compared,
    context_of,
    questions,
    requests_to_simulate,
)
from migrations_app.inventory.objects.aws import CrossCheck

SITE = AwsSite(cluster="shop")
STATEMENT = {"Effect": "Allow", "Action": "*", "Resource": "*"}
ALL = parse_policy(json.dumps({"Version": "2012-10-17", "Statement": STATEMENT}))
TAGGING = IamRequest(
    action="ec2:CreateTags",
    resource="arn:x",
    request_tags={"b": "2", "a": "1"},
    resource_tags={"o": "p"},
    context={"ec2:CreateAction": (), "aws:RequestedRegion": ("us-west-2",)},
)


def one(ours=RequestVerdict.ALLOWED, request=TAGGING):
    return SimulatedRequest(request=request, probes=("p",), ours=ours)


def outcome(ours, **reply):
    row = one(ours)
    (question,) = questions([row])
    reply = Reply(action=reply.pop("action", "ec2:CreateTags"), **reply)
    (found,) = compared([row], {question: (reply,)}, release="1.0", role_arn="arn:r")
    return found


def test_tags_go_along_as_context_keys():
    assert context_of(TAGGING) == (
        ("aws:RequestTag/a", ("1",)),
        ("aws:RequestTag/b", ("2",)),
        ("aws:RequestedRegion", ("us-west-2",)),
        ("aws:ResourceTag/o", ("p",)),
        ("aws:TagKeys", ("a", "b")),
        ("ec2:ResourceTag/o", ("p",)),
    )


def test_requests_alike_but_for_the_action_share_a_question():
    reads = [
        one(request=IamRequest(action=f"ec2:{call}", resource="*")) for call in ("DescribeImages", "DescribeSubnets")
    ]
    assert questions([*reads, reads[0]]) == (
        Question(actions=("ec2:DescribeImages", "ec2:DescribeSubnets"), resource="*", context=()),
    )


@pytest.mark.parametrize("minor", every_minor(), ids=minor_text)
def test_every_release_fits_in_the_questions(minor):
    rows = requests_to_simulate([ALL], release=minor_text(minor), site=SITE)
    put = {(action, question.resource) for question in questions(rows) for action in question.actions}
    assert put == {(row.request.action, row.request.resource) for row in rows}
    assert len(questions(rows)) < MAX_QUESTIONS
    assert not LEFT_OUT & {action for action, _ in put}
    assert {row.ours for row in rows} == {RequestVerdict.ALLOWED}


def test_a_request_behind_several_probes_is_asked_once():
    rows = requests_to_simulate([ALL], release="1.7", site=SITE)
    assert len({repr(row.request) for row in rows}) == len(rows)


def test_the_boundary_counts_in_ours():
    nothing = parse_policy('{"Statement": []}')
    rows = requests_to_simulate([ALL], release="1.0", site=SITE, boundary=[nothing])
    assert {row.ours for row in rows} == {RequestVerdict.DENIED}


@pytest.mark.parametrize(
    ("ours", "reply", "agreement", "because"),
    [
        (RequestVerdict.ALLOWED, {"decision": "allowed"}, "agree", ""),
        (RequestVerdict.ALLOWED, {"decision": "allowed", "missing": ("aws:x",)}, "agree", ""),
        (RequestVerdict.MISSING, {"decision": "implicitDeny"}, "agree", "no statement allows it"),
        (RequestVerdict.BLOCKED_BY_CONDITION, {"decision": "explicitDeny"}, "agree", "a statement denies it"),
        (RequestVerdict.MISSING, {"decision": "allowed"}, "disagree", ""),
        (RequestVerdict.ALLOWED, {"decision": "explicitDeny"}, "disagree", "a statement denies it"),
        (
            RequestVerdict.ALLOWED,
            {"decision": "implicitDeny", "missing": ("aws:x",)},
            "cannot_tell",
            "AWS was not told aws:x",
        ),
        (RequestVerdict.UNKNOWN, {"decision": "allowed"}, "cannot_tell", ""),
        (
            RequestVerdict.ALLOWED,
            {"decision": "implicitDeny", "by_boundary": True},
            "disagree",
            "the permissions boundary does not let it through",
        ),
        (
            RequestVerdict.ALLOWED,
            {"decision": "explicitDeny", "by_organization": True},
            "disagree",
            "a policy of the organisation does not let it through; no document of the role shows that",
        ),
    ],
)
def test_answers_side_by_side(ours, reply, agreement, because):
    assert outcome(ours, **reply) == CrossCheck(
        release="1.0",
        role_arn="arn:r",
        action="ec2:CreateTags",
        resource="arn:x",
        ours=ours.value,
        theirs=reply["decision"],
        agreement=agreement,
        because=because,
        probes=("p",),
    )


def test_actions_are_compared_without_their_case():
    assert outcome(RequestVerdict.ALLOWED, action="EC2:createtags", decision="allowed").agreement == "agree"


def test_what_aws_did_not_answer_has_no_row():
    assert compared([one()], {}, release="1.0", role_arn="arn:r") == ()

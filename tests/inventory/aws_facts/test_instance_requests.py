"""Requests on real instances under the official policies of each release: who can still reach what."""

import json

import pytest

from migrations_app.iam.evaluate import RequestVerdict
from migrations_app.inventory.aws_facts.instances import OnInstance, answers_at_hop, instance_answers, statements_for
from migrations_app.inventory.aws_facts.permissions import permissions
from tests import upstream
from tests.builders.aws import a_controller_role, alpha, beta, instances, v1, with_roles
from tests.builders.clusters import a_cluster

EVERYTHING = {"Effect": "Allow", "Action": "*", "Resource": "*"}
TERMINATE, TAG = "ec2:TerminateInstances", "ec2:CreateTags"


def seen(*statements):
    found = permissions(a_cluster().with_aws(**with_roles(*statements)).build())
    assert found.roles
    return found


def official(*tags):
    statements = []
    for tag in tags:
        text = upstream.policy(tag)
        for placeholder, value in (("${AWS::Partition}", "aws"), ("${AWS::Region}", "eu-central-1")):
            text = text.replace(placeholder, value)
        statements += json.loads(text)["Statement"]
    return seen(*statements)


def refused(found, *groups, minor):
    judged = instance_answers(found, groups, minors=[minor])
    return [
        (one.request.action, one.answer.verdict.value)
        for one in judged
        if one.answer.verdict is not RequestVerdict.ALLOWED
    ]


@pytest.mark.parametrize(
    ("tags", "minor", "groups", "expected"),
    [
        (("v0.31.4",), (0, 31), (alpha(),), []),
        (("v0.31.4",), (0, 32), (alpha(), beta()), [(TERMINATE, "blocked_by_condition")]),
        (("v0.32.10",), (0, 32), (alpha(),), [(TERMINATE, "blocked_by_condition")]),
        (("v0.31.4", "v0.32.10"), (0, 32), (alpha(), beta()), []),
        (("v0.37.8",), (0, 37), (beta(),), []),
        (("v0.37.8",), (1, 0), (beta(),), [(TAG, "blocked_by_condition")]),
        (("v1.0.14",), (1, 0), (beta(), v1()), []),
        (("v0.37.8", "v1.0.14"), (1, 0), (beta(), v1()), []),
        (("v1.14.1",), (1, 14), (v1(), beta()), []),
    ],
)
def test_official_policies_reach_what_they_are_made_for(tags, minor, groups, expected):
    assert refused(official(*tags), *groups, minor=minor) == expected


def requests(*groups, **hop):
    return [(one.request.action, one.minor, one.sent) for one in answers_at_hop(seen(EVERYTHING), groups, **hop)]


@pytest.mark.parametrize(
    ("group", "hop", "found"),
    [
        (alpha(), ((0, 31), (0, 31), (0, 32)), [(TERMINATE, (0, 31), ())]),
        (alpha(), ((0, 32), (0, 32), (0, 37)), [(TERMINATE, (0, 32), ())]),
        (alpha(), ((0, 30), (0, 31), (0, 32)), []),
        (alpha(), ((0, 37), (0, 37), (1, 0)), []),
        (beta(), ((0, 37), (0, 37), (1, 0)), [(TERMINATE, (0, 37), ()), (TAG, (1, 0), ("eks:eks-cluster-name",))]),
        (beta(), ((0, 32), (0, 37), (1, 0)), [(TAG, (1, 0), ("eks:eks-cluster-name",))]),
        (beta(), ((0, 32), (1, 0), (1, 1)), []),
        (v1(), ((1, 0), (1, 0), (1, 1)), [(TERMINATE, (1, 0), ())]),
        (v1(), (None, (1, 0), (1, 1)), [(TERMINATE, (1, 0), ())]),
        (v1(), ((1, 14), (1, 14), (1, 99)), [(TERMINATE, (1, 14), ())]),
        (v1(), ((1, 99), (1, 99), (2, 0)), []),
    ],
)
def test_requests_of_a_hop(group, hop, found):
    running, start, end = hop
    assert requests(group, running=running, start=start, end=end) == found


def test_requests_name_an_instance_that_exists():
    (one,) = instance_answers(seen(EVERYTHING), [v1()], minors=[(1, 1)])
    assert one.request.resource == "arn:aws:ec2:eu-central-1:111122223333:instance/i-1"
    (one,) = instance_answers(
        seen(EVERYTHING),
        [instances({"karpenter.sh/nodepool": "a", "eks:eks-cluster-name": "test"}, ids=())],
        minors=[(1, 1)],
    )
    assert one.request.resource.startswith("arn:aws:ec2:eu-central-1:111122223333:instance/i-")


def test_each_role_is_judged_by_itself():
    roles = (a_controller_role(EVERYTHING), a_controller_role(arn="arn:aws:iam::111122223333:role/other"))
    found = permissions(a_cluster().with_aws(controller_roles=roles).build())
    judged = instance_answers(found, [v1()], minors=[(1, 1)])
    assert [one.answer.verdict for one in judged] == [RequestVerdict.ALLOWED, RequestVerdict.MISSING]


@pytest.mark.parametrize(
    ("key", "values"),
    [
        ("aws:ResourceTag/karpenter.sh/nodepool", ("web",)),
        ("ec2:ResourceTag/Karpenter.sh/NodePool", ("web",)),
        ("aws:ResourceTag/karpenter.sh/provisioner-name", ()),
        ("aws:ResourceTag/Name", None),
        ("aws:ResourceTag/karpenter.sh/nodeclaim", None),
        ("iam:ResourceTag/karpenter.sh/nodepool", ()),
        ("aws:SourceIp", None),
    ],
)
def test_what_is_known_of_an_instance(key, values):
    request = OnInstance(action=TERMINATE, resource="*", carried={"karpenter.sh/nodepool": "web"})
    assert request.lookup(key) == values


def test_the_smallest_statements_close_what_is_open():
    found = seen()
    judged = instance_answers(found, [alpha(), alpha("batch"), beta()], minors=[(0, 32)])
    added = statements_for(judged, found.site)
    assert [one.actions for one in added] == [(TERMINATE,), (TERMINATE,)]
    assert refused(seen(*(one.as_json() for one in added)), alpha(), alpha("batch"), beta(), minor=(0, 32)) == []

"""The policies for karpdash itself: reads only, narrow, and held against the evaluator."""

import json
import re
from pathlib import Path

import pytest

from migrations_app.clients.aws.permissions import RIGHTS, minimal_policy, trust_policy
from migrations_app.iam.evaluate import IamRequest, RequestVerdict, evaluate
from migrations_app.iam.policy import parse_policy
from migrations_app.iam.requirements.remedies import MANAGED_LIMIT, size_of
from migrations_app.inventory.objects.cluster_arn import AwsPlace

ROOT = Path(__file__).resolve().parents[3]
PLACE = AwsPlace(region="cn-north-1", cluster="shop", account="111122223333")


def judged(action, resource):
    policy = parse_policy(json.dumps(minimal_policy(PLACE)))
    return evaluate(IamRequest(action=action, resource=resource), [policy]).verdict


def filled(right):
    gaps = {"partition": "aws-cn", "account": PLACE.account, "region": PLACE.region, "cluster": PLACE.cluster}
    return right.resource.format_map(gaps).replace(":*:", ":aws:").replace("*", "x")


@pytest.mark.parametrize("right", [one for one in RIGHTS if not one.free], ids=lambda right: right.action)
def test_each_call_is_allowed(right):
    assert judged(right.action, filled(right)) is RequestVerdict.ALLOWED


@pytest.mark.parametrize(
    ("action", "resource"),
    [
        ("iam:GetRole", "arn:aws-cn:iam::999900001111:role/x"),
        ("eks:DescribeCluster", "arn:aws-cn:eks:cn-north-1:111122223333:cluster/other"),
        ("sqs:GetQueueAttributes", "arn:aws-cn:sqs:cn-northwest-1:111122223333:x"),
        ("sqs:ReceiveMessage", "arn:aws-cn:sqs:cn-north-1:111122223333:x"),
        ("iam:PassRole", "arn:aws-cn:iam::111122223333:role/x"),
        ("sts:AssumeRole", "arn:aws-cn:iam::111122223333:role/x"),
        ("ec2:TerminateInstances", "*"),
    ],
)
def test_nothing_else_is(action, resource):
    assert judged(action, resource) is not RequestVerdict.ALLOWED


def test_every_call_is_a_read_and_stands_once():
    operations = [right.operation for right in RIGHTS]
    assert len(set(operations)) == len(operations)
    assert [name for name in operations if not re.match(r"Get|List|Describe|Simulate", name)] == []


def test_rights_of_one_statement_share_their_resource():
    by_sid = {}
    for right in RIGHTS:
        by_sid.setdefault(right.sid, set()).add(right.resource)
    assert {sid: len(resources) for sid, resources in by_sid.items()} == dict.fromkeys(by_sid, 1)


def test_without_an_account_the_policy_is_of_any():
    text = json.dumps(minimal_policy(AwsPlace(region="eu-west-1", cluster="shop")))
    assert "arn:aws:iam::*:role/*" in text
    assert re.search(r"\{[a-z]+\}", text) is None


def test_it_fits_in_one_managed_policy_with_the_longest_names():
    assert (
        size_of(minimal_policy(AwsPlace(region="us-gov-west-1", cluster="c" * 100, account="1" * 12))) < MANAGED_LIMIT
    )


def test_the_policy_in_the_docs_is_this_one():
    text = (ROOT / "docs" / "aws.md").read_text()
    _, _, rest = text.partition("<!-- policy: begin -->")
    assert json.loads(rest.partition("<!-- policy: end -->")[0]) == minimal_policy()


def test_the_trust_policy_in_the_docs_is_the_one_that_is_printed():
    text = (ROOT / "docs" / "aws.md").read_text()
    _, _, rest = text.partition("<!-- trust: begin -->")
    wanted = trust_policy(principal_arn="arn:aws:iam::444455556666:user/karpdash", external_id="karpdash-...")
    assert json.loads(rest.partition("<!-- trust: end -->")[0]) == wanted


def test_the_role_trusts_us_with_the_external_id_only():
    own = "arn:aws:iam::444455556666:role/karpdash"
    (statement,) = trust_policy(principal_arn=own, external_id="karpdash-1")["Statement"]
    assert statement == {
        "Effect": "Allow",
        "Principal": {"AWS": own},
        "Action": "sts:AssumeRole",
        "Condition": {"StringEquals": {"sts:ExternalId": "karpdash-1"}},
    }

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from migrations_app.errors import InvalidPolicy
from migrations_app.iam.evaluate import RequestVerdict
from migrations_app.iam.queue_policy import SENDERS, for_service, may_send, statements_of, with_sender

ARN = "arn:aws:sqs:eu-west-1:111122223333:shop"
EVENTS, SQS = SENDERS


def text(*statements, version="2012-10-17"):
    return json.dumps({"Version": version, "Id": "EC2InterruptionPolicy", "Statement": list(statements)})


def statement(principal, effect="Allow", **more):
    return {"Effect": effect, "Principal": principal, "Action": "sqs:SendMessage", "Resource": ARN, **more}


def verdict(document, service=EVENTS):
    return may_send(document, service=service, queue_arn=ARN, account="111122223333").verdict


@pytest.mark.parametrize(
    "principal",
    [
        {"Service": EVENTS},
        {"Service": [EVENTS, SQS]},
        "*",
        {"AWS": "*"},
        {"AWS": ["111122223333", "*"]},
        {"Service": "*"},
    ],
)
def test_principals_that_stand_for_the_service(principal):
    assert verdict(text(statement(principal))) is RequestVerdict.ALLOWED


@pytest.mark.parametrize(
    "principal", [{"Service": SQS}, {"AWS": "111122223333"}, EVENTS, ["*"], {}, {"Federated": "*"}]
)
def test_principals_that_do_not(principal):
    assert verdict(text(statement(principal))) is RequestVerdict.MISSING


def test_a_principal_left_out_is_turned_round():
    item = statement("*") | {"NotPrincipal": {"Service": SQS}}
    del item["Principal"]
    assert [verdict(text(item), service) for service in SENDERS] == [RequestVerdict.ALLOWED, RequestVerdict.MISSING]


@pytest.mark.parametrize(
    ("condition", "found"),
    [
        ({"Bool": {"aws:SecureTransport": "true"}}, RequestVerdict.ALLOWED),
        ({"StringEquals": {"aws:SourceAccount": "111122223333"}}, RequestVerdict.ALLOWED),
        ({"StringEquals": {"aws:SourceAccount": "999999999999"}}, RequestVerdict.BLOCKED_BY_CONDITION),
        ({"StringEquals": {"aws:PrincipalOrgID": "o-1"}}, RequestVerdict.BLOCKED_BY_CONDITION),
        ({"ArnLike": {"aws:SourceArn": "arn:aws:events:*:*:rule/x"}}, RequestVerdict.UNKNOWN),
    ],
)
def test_conditions(condition, found):
    assert verdict(text(statement({"Service": EVENTS}, Condition=condition))) is found


def test_a_denial_decides_unless_its_condition_is_not_met():
    allow = statement({"Service": EVENTS})
    plain = statement("*", "Deny", Condition={"Bool": {"aws:SecureTransport": "false"}})
    outside = statement("*", "Deny", Condition={"StringNotEquals": {"aws:PrincipalOrgID": "o-1"}})
    exempt = statement("*", "Deny", Condition={"Bool": {"aws:PrincipalIsAWSService": "false"}})
    denials = (plain, outside, exempt)
    assert [verdict(text(allow, one)) for one in denials] == [
        RequestVerdict.ALLOWED,
        RequestVerdict.DENIED,
        RequestVerdict.ALLOWED,
    ]


def test_another_queue_is_no_help():
    assert (
        verdict(text(statement({"Service": EVENTS}) | {"Resource": f"{ARN}-2"})) is RequestVerdict.BLOCKED_BY_RESOURCE
    )


@pytest.mark.parametrize("document", ["", "  ", text()])
def test_without_statements_nobody_may_send(document):
    assert verdict(document) is RequestVerdict.MISSING


def test_a_single_statement_needs_no_list():
    assert verdict(json.dumps({"Statement": statement({"Service": EVENTS})})) is RequestVerdict.ALLOWED


@pytest.mark.parametrize(
    "document",
    [
        "{",
        "[]",
        "3",
        '{"Statement": 3}',
        '{"Statement": [3]}',
        text({"Effect": "Allow", "Action": "*", "Resource": "*"}),
        text(statement("*") | {"Effect": "Maybe"}),
        text(version="2020-01-01"),
        "[" * 100_000,
        '{"a":"' + "x" * 100_001 + '"}',
    ],
)
def test_what_is_no_policy_of_a_queue(document):
    with pytest.raises(InvalidPolicy):
        for_service(document, EVENTS)


def test_statements_keep_their_place():
    found = for_service(text(statement({"Service": SQS}), statement({"Service": EVENTS})), EVENTS)
    assert [one.where for one in found.statements] == ["queue policy: Statement[1]"]


statements = st.lists(
    st.builds(
        statement,
        st.sampled_from(["*", {"Service": EVENTS}, {"Service": SQS}, {"AWS": "111122223333"}]),
        st.sampled_from(["Allow", "Deny"]),
    ),
    max_size=5,
)


@given(statements)
def test_one_statement_more_lets_them_in_unless_something_denies_it(given_ones):
    before = text(*given_ones)
    after = with_sender(before, services=SENDERS, queue_arn=ARN)
    assert statements_of(json.dumps(after))[:-1] == given_ones
    for service in SENDERS:
        denied = verdict(before, service) is RequestVerdict.DENIED
        assert verdict(json.dumps(after), service) is (RequestVerdict.DENIED if denied else RequestVerdict.ALLOWED)


@given(st.text(min_size=1, max_size=60).filter(str.strip))
def test_a_text_that_is_no_json_object_is_refused(document):
    with pytest.raises(InvalidPolicy):
        verdict(document)

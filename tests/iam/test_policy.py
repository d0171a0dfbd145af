import json
from urllib.parse import quote

import pytest

from migrations_app.errors import InvalidInput, InvalidPolicy
from migrations_app.iam.policy import (
    MAX_BYTES,
    PolicyCondition,
    PolicyStatement,
    filled,
    parse_policy,
    refuse_repeated_keys,
)
from migrations_app.iam.site import AwsSite
from migrations_app.manifests.nesting import parse_json
from tests.growth import LINEAR, growth

ONE = {"Effect": "Allow", "Action": "ec2:RunInstances", "Resource": "*"}
DOCUMENT = {"Version": "2012-10-17", "Statement": [ONE]}
READ = PolicyStatement(where="p: Statement[0]", actions=("ec2:RunInstances",))


def parsed(document, name="p"):
    return parse_policy(json.dumps(document), name=name)


@pytest.mark.parametrize(
    "document",
    [
        DOCUMENT,
        DOCUMENT | {"Statement": ONE},
        DOCUMENT | {"Id": "any"},
        {"PolicyVersion": {"Document": DOCUMENT, "VersionId": "v3"}},
        {"PolicyVersion": {"Document": quote(json.dumps(DOCUMENT))}},
        {"RoleName": "r", "PolicyDocument": DOCUMENT},
        {"Document": DOCUMENT},
        {"PolicyDocument": "\n" + json.dumps(DOCUMENT)},
        {"PolicyDocument": {"Fn::Sub": json.dumps(DOCUMENT)}},
        json.dumps(DOCUMENT),
    ],
)
def test_a_document_in_each_form_is_read_the_same(document):
    assert parsed(document).statements == (READ,)


@pytest.mark.parametrize("before", ["", "\n  "])
def test_a_url_encoded_document_is_read(before):
    assert parse_policy(quote(before + json.dumps(DOCUMENT)), name="p").statements == (READ,)


def test_signs_of_an_encoding_inside_a_plain_document_stay():
    wrapped = {"PolicyDocument": json.dumps(DOCUMENT | {"Statement": ONE | {"Resource": "arn:aws:s3:::a%2Ab"}})}
    assert parsed(wrapped).statements[0].resources == ("arn:aws:s3:::a%2Ab",)


def test_bytes_with_a_byte_order_mark_are_read():
    assert parse_policy(b"\xef\xbb\xbf" + json.dumps(DOCUMENT).encode(), name="p").statements == (READ,)


def test_every_element_of_a_statement_is_read():
    statement = {
        "Sid": "S1",
        "Effect": "Deny",
        "NotAction": ["iam:*", "sts:*"],
        "NotResource": "arn:aws:s3:::b",
        "Condition": {"Bool": {"aws:SecureTransport": False}, "NumericLessThan": {"x:y": [1, 2.5]}},
    }
    assert parsed({"Version": "2012-10-17", "Statement": [statement]}).statements == (
        PolicyStatement(
            where="p: Statement[0] (S1)",
            sid="S1",
            allow=False,
            actions=("iam:*", "sts:*"),
            not_action=True,
            resources=("arn:aws:s3:::b",),
            not_resource=True,
            conditions=(
                PolicyCondition(operator="Bool", key="aws:SecureTransport", values=("false",)),
                PolicyCondition(operator="NumericLessThan", key="x:y", values=("1", "2.5")),
            ),
        ),
    )


def test_a_statement_is_written_as_it_was_read():
    statement = {
        "Sid": "S1",
        "Effect": "Deny",
        "NotAction": ["iam:*", "sts:*"],
        "NotResource": "arn:aws:s3:::b",
        "Condition": {"StringLike": {"a:b": ["c", "d"], "a:e": "f"}, "Null": {"a:g": "true"}},
    }
    assert parsed(DOCUMENT | {"Statement": [statement, ONE]}).statements[0].as_json() == statement
    assert parsed(DOCUMENT).statements[0].as_json() == ONE


def test_without_a_version_there_are_no_variables():
    assert parsed({"Statement": [ONE]}).statements[0].variables is False
    assert parsed({"Statement": [ONE], "Version": "2008-10-17"}).statements[0].variables is False
    assert parsed(DOCUMENT).statements[0].variables is True


def test_functions_of_cloudformation_become_placeholders():
    statement = ONE | {
        "Resource": [{"Fn::Sub": "arn:${AWS::Partition}:x"}, {"Fn::GetAtt": ["Role", "Arn"]}, {"Ref": "Queue"}]
    }
    assert parsed(DOCUMENT | {"Statement": statement}).statements[0].resources == (
        "arn:${AWS::Partition}:x",
        "${Role.Arn}",
        "${Queue}",
    )


def test_an_empty_list_of_values_is_readable():
    statement = ONE | {"Condition": {"StringEquals": {"a:b": []}}}
    assert parsed(DOCUMENT | {"Statement": statement}).statements[0].conditions[0].values == ()


def test_placeholders_are_filled_everywhere():
    statement = {
        "Effect": "Allow",
        "Action": "${Service}:Get",
        "Resource": "arn:${AWS::Partition}:eks:${AWS_REGION}:${AWS::AccountId}:cluster/${ClusterName}",
        "Condition": {"StringEquals": {"aws:RequestTag/kubernetes.io/cluster/${CLUSTER_NAME}": "${!aws:username}"}},
    }
    site = AwsSite(cluster="blue", account="000011112222", region="cn-north-1", partition="aws-cn")
    assert filled(parsed(DOCUMENT | {"Statement": statement}), site).statements[0].as_json() == {
        "Effect": "Allow",
        "Action": "${Service}:Get",
        "Resource": "arn:aws-cn:eks:cn-north-1:000011112222:cluster/blue",
        "Condition": {"StringEquals": {"aws:RequestTag/kubernetes.io/cluster/blue": "${aws:username}"}},
    }


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "line 1: not JSON"),
        ("{", "line 1: not JSON"),
        ('{"Version":\n"2012-10-17",,}', "line 2: not JSON"),
        ("# Statement: []", "not JSON"),
        ("[]", "no JSON object"),
        ("null", "no JSON object"),
        ('"Statement"', "no JSON object"),
        ("{}", "no Statement"),
        ('{"Version": "2012-10-17"}', "no Statement"),
        ('{"Statement": "Allow"}', "neither an object nor a list"),
        ('{"Statement": [1]}', r"Statement\[0\]: is no object"),
        ('{"Statement": [], "Version": "2020-01-01"}', "IAM knows 2012-10-17"),
        ('{"Statement": [], "Version": 2012}', "IAM knows 2012-10-17"),
        ('{"Statement": [], "Statement": []}', "'Statement' is repeated"),
        ("[" * 50_000 + "]" * 50_000, "nested too deep"),
        ('{"Statement": ' + "9" * 5000 + "}", "not a policy"),
    ],
)
def test_an_unreadable_document_is_refused_with_the_reason(text, reason):
    with pytest.raises(InvalidPolicy, match=reason):
        parse_policy(text, name="file.json")


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"Effect": "allow"}, "Effect is 'allow', not Allow or Deny"),
        ({"Effect": None}, "Effect is missing"),
        ({"Principal": "*"}, "trust or resource policy"),
        ({"NotAction": "x:y"}, "either Action or NotAction"),
        ({"NotResource": "*"}, "either Resource or NotResource"),
        ({"Action": []}, r"Statement\[0\]\.Action: is empty"),
        ({"Action": [1, {"a": 2}]}, r"Action: is \{'a': 2\}, not text"),
        ({"Resource": None}, r"Resource: is missing, not text"),
        ({"Condition": []}, r"Condition: is no object"),
        ({"Condition": {"StringEquals": "x"}}, r"Condition\.StringEquals: is no object"),
        ({"Condition": {"StringEquals": {"a:b": {"c": "d"}}}}, r"StringEquals\.a:b: is"),
        ({"Conditions": {}}, "unknown element 'Conditions'"),
    ],
)
def test_an_unreadable_statement_is_refused_with_its_place(change, reason):
    with pytest.raises(InvalidPolicy, match=reason) as caught:
        parsed(DOCUMENT | {"Statement": [ONE | change]}, name="file.json")
    assert caught.value.where.startswith("file.json: Statement[0]")


def test_a_document_far_beyond_any_policy_is_refused():
    big = json.dumps(DOCUMENT | {"Statement": [ONE] * 4000})
    assert len(big) > 200_000
    with pytest.raises(InvalidPolicy, match=f"more than {MAX_BYTES:,} bytes"):
        parse_policy(big, name="big.json")


def test_bytes_that_are_no_text_are_refused():
    with pytest.raises(InvalidPolicy, match="not UTF-8"):
        parse_policy(b"\xff\xfe{\x00", name="p")


def test_the_error_counts_as_bad_input():
    assert issubclass(InvalidPolicy, InvalidInput)
    assert InvalidPolicy("x").code == "bad_policy"


def test_a_repeated_element_among_many_takes_no_longer_than_the_text() -> None:
    def parse(size: int) -> None:
        names = [f'"{n:x}":0' for n in range(size)]
        with pytest.raises(ValueError, match=f"the element '{size - 1:x}' is repeated"):
            parse_json("{" + ",".join([*names, names[-1]]) + "}", pairs=refuse_repeated_keys)

    assert growth(parse, small=2_000, large=40_000) < LINEAR

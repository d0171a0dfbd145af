"""Trust policies, judged for a pod by its token, a pod by its association, and a role that goes on."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from migrations_app.errors import InvalidPolicy
from migrations_app.iam.evaluate import RequestVerdict
from migrations_app.iam.trust import admits, by_pod_identity, by_role, by_token, statements_of, subject_of

ISSUER = "oidc.eks.eu-west-1.amazonaws.com/id/AAAA"
PROVIDER = f"arn:aws:iam::111122223333:oidc-provider/{ISSUER}"
OTHER = "arn:aws:iam::111122223333:oidc-provider/oidc.eks.eu-west-1.amazonaws.com/id/BBBB"
TOKEN = by_token(PROVIDER, subject_of("kube-system", "karpenter"))
POD = by_pod_identity(cluster="shop", namespace="kube-system", service_account="karpenter")
FIRST = "arn:aws:iam::111122223333:role/First"
ROLE = by_role(FIRST, tagged=False)
WEB = "sts:AssumeRoleWithWebIdentity"
BOTH = ["sts:AssumeRole", "sts:TagSession"]
SERVICE = {"Service": "pods.eks.amazonaws.com"}


def trust(*statements):
    return json.dumps({"Version": "2012-10-17", "Statement": list(statements)})


def row(principal, action, effect="Allow", **conditions):
    body = {"Effect": effect, "Principal": principal, "Action": action}
    return body | ({"Condition": conditions} if conditions else {})


def federated(
    sub="system:serviceaccount:kube-system:karpenter", aud="sts.amazonaws.com", provider=PROVIDER, test="StringEquals"
):
    issuer = provider.partition(":oidc-provider/")[2]
    return row({"Federated": provider}, WEB, **{test: {f"{issuer}:sub": sub, f"{issuer}:aud": aud}})


def verdict(entry, *statements):
    return admits(trust(*statements), entry, name="trust").verdict


@pytest.mark.parametrize(
    "statement",
    [
        federated(),
        federated(sub=["system:serviceaccount:karpenter:karpenter", "system:serviceaccount:kube-system:karpenter"]),
        federated(sub="system:serviceaccount:*:karpenter", test="StringLike"),
        row({"Federated": [OTHER, PROVIDER]}, "sts:*"),
        row({"Federated": PROVIDER}, WEB.lower()),
    ],
)
def test_a_token_is_let_in(statement):
    assert verdict(TOKEN, statement) is RequestVerdict.ALLOWED


@pytest.mark.parametrize(
    ("statement", "because"),
    [
        (
            federated(sub="system:serviceaccount:karpenter:karpenter"),
            (
                f"{WEB}: trust: Statement[0]: StringEquals {ISSUER}:sub wants "
                "system:serviceaccount:karpenter:karpenter, sent: system:serviceaccount:kube-system:karpenter"
            ),
        ),
        (
            federated(aud="other"),
            f"{WEB}: trust: Statement[0]: StringEquals {ISSUER}:aud wants other, sent: sts.amazonaws.com",
        ),
        (federated(provider=OTHER), f"it trusts {OTHER}"),
        (row(SERVICE, BOTH), "it trusts pods.eks.amazonaws.com"),
        (row({"Federated": PROVIDER}, "sts:AssumeRole"), f"{WEB}: no statement allows the action"),
    ],
)
def test_a_token_is_refused_with_the_reason(statement, because):
    answer = admits(trust(statement), TOKEN, name="trust")
    assert (answer.verdict.decision, answer.because) == ("denied", because)


def test_the_key_of_another_issuer_is_not_sent():
    foreign = row({"Federated": PROVIDER}, WEB, StringEquals={"oidc.eks.eu-west-1.amazonaws.com/id/BBBB:sub": "x"})
    assert verdict(TOKEN, foreign) is RequestVerdict.BLOCKED_BY_CONDITION


def test_a_deny_wins():
    assert verdict(TOKEN, federated(), row("*", "sts:*", effect="Deny")) is RequestVerdict.UNKNOWN
    assert verdict(TOKEN, federated(), row({"Federated": PROVIDER}, "sts:*", effect="Deny")) is RequestVerdict.DENIED


@pytest.mark.parametrize(
    "statement",
    [
        row({"Federated": "*"}, WEB),
        row({"Federated": "arn:aws:iam::${AWS::AccountId}:oidc-provider/x"}, WEB),
        {"Effect": "Allow", "NotPrincipal": {"AWS": "arn:aws:iam::1:root"}, "Action": WEB},
        row({"Federated": PROVIDER}, WEB, IpAddress={"aws:SourceIp": "10.0.0.0/8"}),
        row({"Federated": PROVIDER}, WEB, NoSuchOperator={f"{ISSUER}:sub": "x"}),
    ],
)
def test_what_nobody_can_judge_is_no_answer(statement):
    assert verdict(TOKEN, statement) is RequestVerdict.UNKNOWN


@pytest.mark.parametrize(
    ("statement", "expected"),
    [
        (row(SERVICE, BOTH), RequestVerdict.ALLOWED),
        (
            row(SERVICE, BOTH, StringEquals={"aws:RequestTag/kubernetes-namespace": "kube-system"}),
            RequestVerdict.ALLOWED,
        ),
        (
            row(SERVICE, BOTH, StringEquals={"aws:RequestTag/kubernetes-namespace": "karpenter"}),
            RequestVerdict.BLOCKED_BY_CONDITION,
        ),
        (row(SERVICE, BOTH, StringEquals={"aws:SourceAccount": "111122223333"}), RequestVerdict.UNKNOWN),
        (row(SERVICE, "sts:AssumeRole"), RequestVerdict.MISSING),
        (row({"Service": "ec2.amazonaws.com"}, BOTH), RequestVerdict.MISSING),
        (federated(), RequestVerdict.MISSING),
    ],
)
def test_an_association_needs_both_calls(statement, expected):
    assert verdict(POD, statement) is expected


@pytest.mark.parametrize(
    ("principal", "expected"),
    [
        ({"AWS": FIRST}, RequestVerdict.ALLOWED),
        ({"AWS": ["111122223333"]}, RequestVerdict.ALLOWED),
        ({"AWS": "arn:aws:iam::111122223333:root"}, RequestVerdict.ALLOWED),
        ("*", RequestVerdict.ALLOWED),
        ({"AWS": "*"}, RequestVerdict.ALLOWED),
        ({"AWS": "arn:aws:iam::999988887777:root"}, RequestVerdict.MISSING),
        ({"AWS": "arn:aws:iam::111122223333:role/Second"}, RequestVerdict.MISSING),
        (SERVICE, RequestVerdict.MISSING),
    ],
)
def test_a_role_that_goes_on(principal, expected):
    assert verdict(ROLE, row(principal, "sts:AssumeRole")) is expected


def test_an_external_id_is_not_known_to_be_sent():
    assert (
        verdict(ROLE, row({"AWS": FIRST}, "sts:AssumeRole", StringEquals={"sts:ExternalId": "x"}))
        is RequestVerdict.UNKNOWN
    )


def test_a_tagged_session_needs_the_second_call():
    answer = admits(trust(row({"AWS": FIRST}, "sts:AssumeRole")), by_role(FIRST, tagged=True), name="trust")
    assert (answer.verdict, answer.because) == (
        RequestVerdict.MISSING,
        "sts:TagSession: no statement allows the action",
    )


def test_the_statement_of_an_entry_admits_it():
    for entry in (TOKEN, POD, ROLE):
        assert admits(trust(entry.statement()), entry, name="trust").verdict is RequestVerdict.ALLOWED


@pytest.mark.parametrize(
    "text",
    [
        "", "nonsense", "[]", "{}", '{"Statement": "x"}', '{"Statement": [1]}',
        '{"Statement": {"Effect": "Allow", "Action": "sts:AssumeRole"}}',
        '{"Statement": {"Effect": "Allow", "Action": "sts:AssumeRole", "Principal": {"AWS": 1}}}',
        '{"Statement": {"Effect": "Perhaps", "Action": "sts:AssumeRole", "Principal": "*"}}',
        '{"Version": "2020", "Statement": []}',
        '{"Statement": [], "Statement": []}',
        "[" * 5000,
    ],
)  # fmt: skip
def test_what_is_no_trust_policy_is_bad_input(text):
    with pytest.raises(InvalidPolicy):
        admits(text, TOKEN, name="trust")


def test_a_policy_without_statements_trusts_nobody():
    answer = admits(trust(), TOKEN, name="trust")
    assert (answer.verdict, answer.because) == (RequestVerdict.MISSING, "it trusts nobody")


def test_one_statement_may_stand_alone():
    assert statements_of(json.dumps({"Statement": federated()}), name="trust") == [federated()]


ROWS = st.builds(
    row,
    st.sampled_from(
        ["*", {"Federated": PROVIDER}, {"Federated": [OTHER]}, {"Federated": "*"}, SERVICE, {"AWS": FIRST}]
    ),
    st.sampled_from([WEB, "sts:*", "sts:AssumeRole", BOTH]),
    effect=st.sampled_from(["Allow", "Deny"]),
    StringEquals=st.sampled_from(
        [{}, {f"{ISSUER}:aud": "sts.amazonaws.com"}, {f"{ISSUER}:sub": "x"}, {"aws:SourceIp": "x"}]
    ),
)
RANK = ("denied", "cannot tell", "allowed")


@given(st.lists(ROWS, max_size=4), ROWS, st.sampled_from([TOKEN, POD, ROLE]))
def test_an_allow_never_shuts_out_and_a_deny_never_lets_in(rows, added, entry):
    before = RANK.index(verdict(entry, *rows).decision)
    after = RANK.index(verdict(entry, *rows, added).decision)
    assert after >= before if added["Effect"] == "Allow" else after <= before


@given(st.lists(ROWS, max_size=4), st.randoms(use_true_random=False))
def test_the_order_of_statements_does_not_matter(rows, random):
    mixed = random.sample(rows, len(rows))
    assert verdict(TOKEN, *mixed).decision == verdict(TOKEN, *rows).decision

"""What must hold for any set of policies: more rights never open a gap, denials never close one, order is nothing."""

from dataclasses import replace

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from migrations_app.iam.evaluate import RequestVerdict, evaluate
from migrations_app.iam.policy import IamPolicy, PolicyCondition, PolicyStatement
from migrations_app.iam.requirements.gaps import find_gaps
from migrations_app.iam.requirements.requests import PROBES
from migrations_app.iam.site import AwsSite
from tests.builders.newest import NEWEST_MINOR

SITE = AwsSite(cluster="blue")
RELEASES = ("0.31", "0.32", "0.33", "1.0", NEWEST_MINOR)

ACTIONS = st.sampled_from(
    [
        "*",
        "ec2:*",
        "ec2:Create*",
        "EC2:runinstances",
        "ec2:CreateTags",
        "iam:*Profile*",
        "iam:PassRole",
        "sqs:*",
        "s3:*",
    ]
)
RESOURCES = st.sampled_from(
    [
        "*",
        "arn:aws:ec2:*:*:instance/*",
        "arn:aws:ec2:*:*:spot-instances-request/*",
        "arn:${AWS::Partition}:ec2:*:*:*/*",
        "arn:aws:iam::*:role/*",
        "arn:aws:ec2:${Nowhere}:*:*",
        "arn:aws:sqs:*:*:${aws:PrincipalTag/queue}",
    ]
)
CONDITIONS = st.builds(
    PolicyCondition,
    operator=st.builds(
        "".join,
        st.tuples(
            st.sampled_from(["", "ForAllValues:", "ForAnyValue:"]),
            st.sampled_from(["StringEquals", "StringLike", "StringNotLike", "Bool", "Null", "NoSuchOperator"]),
            st.sampled_from(["", "IfExists"]),
        ),
    ),
    key=st.sampled_from(
        [
            "aws:RequestTag/karpenter.sh/nodepool",
            "aws:ResourceTag/kubernetes.io/cluster/${ClusterName}",
            "aws:TagKeys",
            "aws:SourceIp",
            "ec2:CreateAction",
            "aws:SecureTransport",
        ]
    ),
    values=st.lists(st.sampled_from(["*", "owned", "true", "false", "Name", "RunInstances"]), max_size=2).map(tuple),
)
STATEMENTS = st.builds(
    PolicyStatement,
    where=st.sampled_from(["one", "two", "three"]),
    allow=st.booleans(),
    actions=st.lists(ACTIONS, min_size=1, max_size=2).map(tuple),
    not_action=st.booleans(),
    resources=st.lists(RESOURCES, min_size=1, max_size=2).map(tuple),
    not_resource=st.booleans(),
    conditions=st.lists(CONDITIONS, max_size=2).map(tuple),
)
SETS = st.lists(STATEMENTS, max_size=4)
ONCE = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])


def refused(statements, release, boundary=None):
    """Every request that is not clearly allowed, by probe and resource."""
    limit = None if boundary is None else [IamPolicy(name="edge", statements=tuple(boundary))]
    policies = [IamPolicy(name="set", statements=tuple(statements))]
    report = find_gaps(policies, release=release, site=SITE, boundary=limit)
    return {(one.probe.id, one.request.resource) for gap in (*report.gaps, *report.legacy_gaps) for one in gap.refusals}


def entries(policies, release):
    report = find_gaps(policies, release=release, site=SITE)
    return [
        [(gap.action, gap.verdict, gap.required, gap.resource, gap.when, gap.effect) for gap in gaps]
        for gaps in (report.gaps, report.legacy_gaps)
    ]


@ONCE
@given(SETS, STATEMENTS, st.sampled_from(RELEASES), st.one_of(st.none(), SETS))
def test_an_allow_never_adds_a_gap(statements, added, release, boundary):
    more = [*statements, replace(added, allow=True)]
    assert refused(more, release, boundary) <= refused(statements, release, boundary)


@ONCE
@given(SETS, STATEMENTS, st.sampled_from(RELEASES), st.one_of(st.none(), SETS))
def test_a_deny_never_removes_one(statements, added, release, boundary):
    more = [*statements, replace(added, allow=False)]
    assert refused(more, release, boundary) >= refused(statements, release, boundary)


@ONCE
@given(SETS, SETS, st.sampled_from(RELEASES))
def test_a_boundary_never_removes_one(statements, boundary, release):
    assert refused(statements, release, boundary) >= refused(statements, release)


@ONCE
@given(st.lists(SETS, max_size=3), st.sampled_from(RELEASES), st.randoms(use_true_random=False))
def test_order_of_statements_and_documents_does_not_matter(sets, release, random):
    policies = [IamPolicy(name=str(n), statements=tuple(statements)) for n, statements in enumerate(sets)]
    mixed = [replace(one, statements=tuple(random.sample(one.statements, len(one.statements)))) for one in policies]
    random.shuffle(mixed)
    assert entries(mixed, release) == entries(policies, release)


@ONCE
@given(SETS, st.sampled_from(RELEASES))
def test_one_document_or_several_is_the_same(statements, release):
    together = [IamPolicy(name="all", statements=tuple(statements))]
    apart = [IamPolicy(name=str(n), statements=(one,)) for n, one in enumerate(statements)]
    assert entries(apart, release) == entries(together, release)


@ONCE
@given(
    STATEMENTS, st.sampled_from(PROBES), st.sampled_from(["aws:SourceIp", "aws:PrincipalOrgID", "aws:PrincipalTag/x"])
)
def test_a_key_that_is_not_stated_never_becomes_an_allow(statement, probe, key):
    """Whatever the operator: a statement that also asks for such a key never allows."""
    for line in (*statement.conditions, PolicyCondition(operator="StringNotEqualsIfExists", key=key, values=("x",))):
        asks = replace(statement, allow=True, conditions=(replace(line, key=key),))
        for request in probe.requests(SITE, probe.span.since):
            verdict = evaluate(request, [IamPolicy(name="set", statements=(asks,))]).verdict
            assert verdict is not RequestVerdict.ALLOWED


@ONCE
@given(st.sampled_from(PROBES), SETS)
def test_every_answer_names_its_reason(probe, statements):
    for request in probe.requests(SITE, probe.span.since):
        answer = evaluate(request, [IamPolicy(name="set", statements=tuple(statements))])
        assert answer.because
        assert (answer.statement is None) == (answer.verdict is RequestVerdict.MISSING)

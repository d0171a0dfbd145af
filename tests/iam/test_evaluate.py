import pytest

from migrations_app.iam.evaluate import RequestVerdict, evaluate, oddities

SUBNET = "arn:aws:ec2:eu-west-1:111122223333:subnet/subnet-1"
TAGGED = {"StringEquals": {"aws:ResourceTag/owner": "me"}}


def test_nothing_is_allowed_by_nothing(request_of):
    answer = evaluate(request_of(), [])
    assert (answer.verdict, answer.because, answer.statement) == (
        RequestVerdict.MISSING,
        "no statement allows the action",
        None,
    )


def test_an_allow_allows_and_is_named(request_of, policy, allow):
    given = policy(allow("s3:*"), allow("ec2:Run*"))
    answer = evaluate(request_of(), [given])
    assert (answer.verdict, answer.statement) == (RequestVerdict.ALLOWED, given.statements[1])
    assert answer.because == "test: Statement[1] allows it"


def test_a_deny_wins_wherever_it_stands(request_of, policy, allow, deny):
    for documents in ([policy(allow("*")), policy(deny("ec2:*"))], [policy(deny("ec2:*"), allow("*"))]):
        assert evaluate(request_of(), documents).verdict is RequestVerdict.DENIED


def test_a_deny_for_something_else_does_not_matter(request_of, policy, allow, deny):
    given = policy(allow("*"), deny("iam:*"), deny("ec2:RunInstances", "arn:aws:ec2:*:*:volume/*"))
    assert evaluate(request_of(resource=SUBNET), [given]).verdict is RequestVerdict.ALLOWED


def test_the_wrong_resource(request_of, policy, allow):
    answer = evaluate(request_of(resource=SUBNET), [policy(allow("ec2:*", "arn:aws:ec2:*:*:volume/*"))])
    assert answer.verdict is RequestVerdict.BLOCKED_BY_RESOURCE
    assert answer.because == f"test: Statement[0] does not name {SUBNET}"


def test_an_unmet_condition_tells_what_was_wanted_and_sent(request_of, policy, allow):
    given = policy(allow("ec2:*", "*", TAGGED))
    answer = evaluate(request_of(resource_tags={"owner": "you"}), [given])
    assert answer.verdict is RequestVerdict.BLOCKED_BY_CONDITION
    assert answer.because == "test: Statement[0]: StringEquals aws:ResourceTag/owner wants me, sent: you"
    assert evaluate(request_of(resource_tags={}), [given]).because.endswith("sent: nothing")
    assert evaluate(request_of(resource_tags={"owner": ""}), [given]).because.endswith("sent: (empty)")


def test_the_nearest_statement_is_named(request_of, policy, allow):
    far = {"StringEquals": {"aws:ResourceTag/owner": "me", "aws:ResourceTag/stage": "prod"}}
    given = policy(allow("ec2:*", "*", far), allow("ec2:*", "*", TAGGED))
    answer = evaluate(request_of(resource_tags={}), [given])
    assert answer.statement == given.statements[1]


def test_what_nobody_stated_is_not_an_allow(request_of, policy, allow):
    answer = evaluate(request_of(), [policy(allow("ec2:*", "*", TAGGED))])
    assert (answer.verdict, answer.verdict.decision) == (RequestVerdict.UNKNOWN, "cannot tell")
    assert answer.because.endswith("StringEquals aws:ResourceTag/owner wants me, sent: unknown")


def test_what_nobody_stated_may_be_a_deny(request_of, policy, allow, deny):
    given = policy(allow("*"), deny("*", "*", {"StringNotEquals": {"aws:SourceVpc": "vpc-1"}}))
    answer = evaluate(request_of(), [given])
    assert (answer.verdict, answer.statement) == (RequestVerdict.UNKNOWN, given.statements[1])
    assert "denies it or not" in answer.because


def test_a_doubtful_deny_does_not_hide_that_nothing_allows(request_of, policy, deny):
    given = policy(deny("*", "*", {"StringNotEquals": {"aws:SourceVpc": "vpc-1"}}))
    assert evaluate(request_of(), [given]).verdict is RequestVerdict.MISSING


@pytest.mark.parametrize(
    ("not_action", "verdict"),
    [
        (["iam:*", "sts:*"], RequestVerdict.ALLOWED),
        (["EC2:Run*"], RequestVerdict.MISSING),
        (["*"], RequestVerdict.MISSING),
    ],
)
def test_not_action(request_of, policy, not_action, verdict):
    given = policy({"Effect": "Allow", "NotAction": not_action, "Resource": "*"})
    assert evaluate(request_of(), [given]).verdict is verdict


@pytest.mark.parametrize(
    ("not_resource", "verdict"),
    [
        ("arn:aws:ec2:*:*:volume/*", RequestVerdict.ALLOWED),
        ("arn:aws:ec2:*:*:subnet/*", RequestVerdict.BLOCKED_BY_RESOURCE),
    ],
)
def test_not_resource(request_of, policy, not_resource, verdict):
    given = policy({"Effect": "Allow", "Action": "ec2:*", "NotResource": not_resource})
    assert evaluate(request_of(resource=SUBNET), [given]).verdict is verdict


def test_deny_of_all_but_some(request_of, policy, allow):
    fence = {"Effect": "Deny", "NotAction": ["ec2:Describe*"], "NotResource": "arn:aws:ec2:eu-west-1:*:*"}
    given = policy(allow("*"), fence)
    assert evaluate(request_of(resource=SUBNET), [given]).verdict is RequestVerdict.ALLOWED
    assert (
        evaluate(request_of(resource=SUBNET.replace("eu-west-1", "eu-west-2")), [given]).verdict
        is RequestVerdict.DENIED
    )


@pytest.mark.parametrize(
    ("boundary", "verdict"),
    [
        ("ec2:*", RequestVerdict.ALLOWED),
        ("iam:*", RequestVerdict.DENIED),
    ],
)
def test_a_boundary_cuts(request_of, policy, allow, boundary, verdict):
    answer = evaluate(request_of(), [policy(allow("*"))], boundary=[policy(allow(boundary), name="edge")])
    assert answer.verdict is verdict


def test_a_boundary_gives_nothing(request_of, policy, allow):
    answer = evaluate(request_of(), [policy(allow("iam:*"))], boundary=[policy(allow("*"))])
    assert answer.verdict is RequestVerdict.MISSING


DENY_RUN = {"Effect": "Deny", "Action": "ec2:RunInstances", "Resource": "*"}


def test_a_boundary_is_asked_where_the_policies_refuse_and_their_verdict_stays(request_of, policy, allow):
    elsewhere, edge = policy(allow("*", SUBNET)), policy(allow("iam:*"), name="edge")
    for given, verdict in (
        (policy(allow("iam:*")), RequestVerdict.MISSING),
        (policy(allow("*", SUBNET)), RequestVerdict.BLOCKED_BY_RESOURCE),
        (policy(allow("*"), DENY_RUN), RequestVerdict.DENIED),
    ):
        answer = evaluate(request_of(resource="arn:aws:ec2:x:1:vpc/v"), [given], boundary=[edge])
        assert (answer.verdict, answer.boundary) == (verdict, RequestVerdict.MISSING)
        assert answer.because.endswith(
            "; the permissions boundary does not let it through either: no statement allows the action"
        )
    inner = evaluate(request_of(), [policy(allow("iam:*"))], boundary=[policy(allow("*"), DENY_RUN, name="edge")])
    assert (inner.verdict, inner.boundary) == (RequestVerdict.MISSING, RequestVerdict.DENIED)
    assert evaluate(request_of(resource=SUBNET), [elsewhere], boundary=[edge]).boundary is RequestVerdict.MISSING


def test_what_a_boundary_lets_through_or_no_boundary_is_not_told(request_of, policy, allow):
    for boundary in (None, [policy(allow("*"))]):
        answer = evaluate(request_of(), [policy(allow("iam:*"))], boundary=boundary)
        assert (answer.verdict, answer.boundary) == (RequestVerdict.MISSING, None)
        assert answer.because == "no statement allows the action"


def test_a_boundary_that_may_refuse_leaves_a_refusal_of_the_policies_as_it_is(request_of, policy, allow):
    edge = policy(allow("*", "*", {"IpAddress": {"aws:SourceIp": "10.0.0.0/8"}}))
    answer = evaluate(request_of(), [policy(allow("iam:*"))], boundary=[edge])
    assert (answer.verdict, answer.boundary) == (RequestVerdict.MISSING, RequestVerdict.UNKNOWN)
    assert "; the permissions boundary may not let it through either: " in answer.because


def test_an_empty_boundary_lets_nothing_through(request_of, policy, allow):
    answer = evaluate(request_of(), [policy(allow("*"))], boundary=[])
    assert answer.verdict is RequestVerdict.DENIED
    assert answer.because.startswith("the permissions boundary does not let it through")


def test_a_doubtful_boundary_leaves_doubt(request_of, policy, allow):
    edge = policy(allow("*", "*", {"IpAddress": {"aws:SourceIp": "10.0.0.0/8"}}))
    assert evaluate(request_of(), [policy(allow("*"))], boundary=[edge]).verdict is RequestVerdict.UNKNOWN


@pytest.mark.parametrize(
    ("key", "values"),
    [
        ("aws:RequestTag/a", ("1",)),
        ("AWS:requesttag/A", ("1",)),
        ("aws:RequestTag/b", ()),
        ("aws:TagKeys", ("a",)),
        ("aws:ResourceTag/c", ("2",)),
        ("ec2:ResourceTag/c", ("2",)),
        ("iam:ResourceTag/c", ()),
        ("aws:SourceIp", None),
        ("ec2:InstanceType", None),
        ("s3:prefix", ()),
        ("ec2:CreateAction", ()),
        ("iam:PassedToService", ()),
        ("aws:RequestedRegion", ("eu-west-1",)),
    ],
)
def test_what_a_request_says_of_a_key(request_of, key, values):
    asked = request_of(
        request_tags={"a": "1"}, resource_tags={"c": "2"}, context={"aws:RequestedRegion": ["eu-west-1"]}
    )
    assert asked.lookup(key) == values


def test_tags_that_nobody_stated_are_unknown(request_of):
    assert [request_of().lookup(key) for key in ("aws:RequestTag/a", "aws:TagKeys", "ec2:ResourceTag/a")] == [None] * 3


def test_a_condition_that_decides_nothing_is_told(request_of, policy, allow):
    given = policy(
        allow("ec2:*", "*", {"StringEqual": {"a:b": "c"}}),
        allow("ec2:*", "*", {"StringEquals": {"aws:PrincipalArn": []}}),
        allow("ec2:*", "*", {"StringEquals": {"aws:RequestTag/${Team}": "c"}}),
        allow("ec2:*", "arn:${Where}:ec2:*:*:*"),
        allow("ec2:*", "*", {"StringEquals": {"aws:SourceVpc": "${aws:PrincipalTag/vpc}"}}),
    )
    assert oddities(given) == (
        "test: Statement[0]: StringEqual is no operator of IAM",
        "test: Statement[1]: StringEquals aws:PrincipalArn lists no values",
        "test: Statement[2]: the key aws:RequestTag/${Team} holds a placeholder without a value",
        "test: Statement[3]: arn:${Where}:ec2:*:*:* holds a placeholder without a value",
    )
    assert evaluate(request_of(), [given]).verdict is RequestVerdict.UNKNOWN


def test_a_placeholder_in_the_resource_leaves_doubt_and_is_named(request_of, policy, allow):
    answer = evaluate(request_of(resource=SUBNET), [policy(allow("ec2:*", "arn:aws:ec2:${Region2}:*:subnet/*"))])
    assert answer.verdict is RequestVerdict.UNKNOWN
    assert answer.because.endswith("its resource holds a placeholder or variable without a value")


@pytest.mark.parametrize("verdict", list(RequestVerdict))
def test_each_verdict_is_one_of_three_decisions(verdict):
    expected = {"allowed": "allowed", "unknown": "cannot tell"}.get(verdict.value, "denied")
    assert verdict.decision == expected


@pytest.mark.parametrize("effect", ["Allow", "Deny"])
@pytest.mark.parametrize(
    "operator", ["StringEquals", "StringEqualsIfExists", "StringNotEquals", "ForAllValues:StringEquals"]
)
@pytest.mark.parametrize("keys", [{"Fn::GetAtt": ["Owned", "Value"]}, {"Fn::If": ["A", {}, {}]}, "${Owned.Value}"])
def test_keys_that_only_the_stack_knows_leave_doubt(request_of, policy, allow, effect, operator, keys):
    doubtful = {"Effect": effect, "Action": "ec2:*", "Resource": "*", "Condition": {operator: keys}}
    others = [policy(allow("*"))] if effect == "Deny" else []
    answer = evaluate(request_of(request_tags={"a": "b"}), [policy(doubtful), *others])
    assert answer.verdict is RequestVerdict.UNKNOWN
    assert "holds a placeholder without a value" in answer.because
    assert len(oddities(policy(doubtful))) == 2

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from migrations_app.errors import InvalidPolicy
from migrations_app.iam.evaluate import RequestVerdict
from migrations_app.iam.policy import MAX_BYTES, parse_policy
from migrations_app.iam.requirements.gaps import find_gaps
from migrations_app.iam.site import AwsSite
from migrations_app.iam.templates import MAX_TEMPLATE_BYTES, policy_texts

ALLOW = {"Effect": "Allow", "Action": "ec2:RunInstances", "Resource": "*"}
DOCUMENT = {"Version": "2012-10-17", "Statement": [ALLOW]}
IN_YAML = """\
Parameters: {ClusterName: {Type: String}}
Resources:
  NodeRole:
    Type: AWS::IAM::Role
    Properties:
      RoleName: !Sub "KarpenterNodeRole-${ClusterName}"
  Queue:
    Type: AWS::SQS::QueuePolicy
    Properties:
      PolicyDocument: {Version: "2012-10-17", Statement: []}
  ControllerPolicy:
    Type: AWS::IAM::ManagedPolicy
    Properties:
      PolicyDocument: !Sub |
        {"Version": "2012-10-17",
         "Statement": [{"Effect": "Allow", "Action": "sqs:*", "Resource": "${Queue.Arn}"}]}
  Second:
    Type: AWS::IAM::Policy
    Properties:
      PolicyDocument:
        Version: 2012-10-17
        Statement:
          - Effect: Allow
            Action: [eks:DescribeCluster]
            Resource: !Join [":", [arn, !Ref AWS::Partition, eks, "*", !Ref AWS::AccountId, cluster/a]]
          - Effect: Allow
            Action: iam:PassRole
            Resource: [!GetAtt NodeRole.Arn, !ImportValue other]
"""


OF_NODES = "arn:${AWS::Partition}:iam::${AWS::AccountId}:role/KarpenterNodeRole-${ClusterName}"


def read(data):
    given = data if isinstance(data, bytes) else (data if isinstance(data, str) else json.dumps(data)).encode()
    return policy_texts(given, name="f")


def resources(**given):
    return {"Resources": {name: {"Type": f"AWS::IAM::{kind}", "Properties": of} for name, (kind, of) in given.items()}}


def statements(texts):
    return {name: [one.as_json() for one in parse_policy(text, name=name).statements] for name, text in texts.items()}


def test_a_file_that_is_no_template_is_one_document():
    text = json.dumps(DOCUMENT | {"Id": "Resources of AWS::IAM::Role"})
    assert read(text) == {"f": text}
    assert read("not json") == {"f": "not json"}


def test_every_policy_of_a_template_is_read_and_nothing_else():
    assert statements(read(IN_YAML)) == {
        "f: ControllerPolicy": [{"Effect": "Allow", "Action": "sqs:*", "Resource": "${Queue.Arn}"}],
        "f: Second": [
            {
                "Effect": "Allow",
                "Action": "eks:DescribeCluster",
                "Resource": "arn:${AWS::Partition}:eks:*:${AWS::AccountId}:cluster/a",
            },
            {"Effect": "Allow", "Action": "iam:PassRole", "Resource": [OF_NODES, "${Fn::ImportValue}"]},
        ],
    }


PASSING = {"Effect": "Allow", "Action": "iam:PassRole", "Resource": {"Fn::GetAtt": ["KarpenterNodeRole", "Arn"]}}
PLACE = "arn:${AWS::Partition}:iam::${AWS::AccountId}:role"


@pytest.mark.parametrize(
    ("properties", "arn"),
    [
        ({"RoleName": "nodes"}, f"{PLACE}/nodes"),
        ({"RoleName": {"Fn::Sub": "K-${ClusterName}"}, "Path": "/team/"}, f"{PLACE}/team/K-${{ClusterName}}"),
        ({}, f"{PLACE}/${{KarpenterNodeRole: name that the stack gives}}"),
    ],
)
@pytest.mark.parametrize("as_text", [False, True])
def test_a_role_of_the_template_is_the_one_that_it_names(properties, arn, as_text):
    statement = PASSING | ({"Resource": "${KarpenterNodeRole.Arn}"} if as_text else {})
    document = DOCUMENT | {"Statement": [statement]}
    whole = {"Fn::Sub": json.dumps(document)} if as_text else document
    found = read(resources(P=("ManagedPolicy", {"PolicyDocument": whole}), KarpenterNodeRole=("Role", properties)))
    assert statements(found) == {"f: P": [PASSING | {"Resource": arn}]}


@pytest.mark.parametrize(
    ("role", "verdict"), [("KarpenterNodeRole-dev", None), ("other", RequestVerdict.BLOCKED_BY_RESOURCE)]
)
def test_passing_is_judged_for_the_role_of_the_template(role, verdict):
    named = ("Role", {"RoleName": {"Fn::Sub": "KarpenterNodeRole-${ClusterName}"}})
    document = DOCUMENT | {"Statement": [PASSING]}
    texts = read(resources(P=("ManagedPolicy", {"PolicyDocument": document}), KarpenterNodeRole=named))
    policies = [parse_policy(text, name=name) for name, text in texts.items()]
    site = AwsSite(cluster="dev", account="111122223333", region="eu-west-1", node_roles=(role,))
    found = {gap.action: gap.verdict for gap in find_gaps(policies, release="1.0.14", site=site).gaps}
    assert found.get("iam:PassRole") == verdict


def test_conditions_that_the_stack_makes_are_read_and_leave_doubt():
    """The CDK puts keys with a name of the stack into a resource of their own (CfnJson)."""
    owned = {"StringEquals": {"Fn::GetAtt": ["Owned", "Value"]}, "StringLike": {"ec2:ResourceTag/a": "*"}}
    document = DOCUMENT | {
        "Statement": [{"Effect": "Allow", "Action": "ec2:TerminateInstances", "Resource": "*", "Condition": owned}]
    }
    texts = read(resources(P=("Policy", {"PolicyDocument": document, "Roles": ["Karpenter"]})))
    policies = [parse_policy(text, name=name) for name, text in texts.items()]
    site = AwsSite(cluster="dev", account="111122223333", region="eu-west-1", extra_tags={"a": "b"})
    found = {gap.action: gap.verdict for gap in find_gaps(policies, release="1.0.14", site=site).gaps}
    assert found["ec2:TerminateInstances"] is RequestVerdict.UNKNOWN


def test_without_the_role_in_the_template_its_placeholder_is_filled_as_ever():
    document = DOCUMENT | {"Statement": [PASSING]}
    found = read(resources(P=("ManagedPolicy", {"PolicyDocument": document})))
    assert statements(found) == {"f: P": [PASSING | {"Resource": "${KarpenterNodeRole.Arn}"}]}


def test_a_template_in_json_says_the_same_in_long_forms():
    document = {"Fn::Sub": json.dumps(DOCUMENT)}
    assert statements(read(resources(P=("ManagedPolicy", {"PolicyDocument": document})))) == {"f: P": [ALLOW]}


def test_inline_and_attached_policies_of_one_role_belong_together():
    inline = [{"PolicyName": {"Fn::Sub": "own-${C}"}, "PolicyDocument": DOCUMENT}]
    attached = [{"Ref": "A"}, "arn:aws:iam::aws:policy/X"]
    template = resources(
        Controller=("Role", {"Policies": inline, "ManagedPolicyArns": attached}),
        A=("ManagedPolicy", {"PolicyDocument": DOCUMENT}),
        B=("Policy", {"PolicyDocument": DOCUMENT, "Roles": [{"Ref": "Controller"}]}),
        C=("RolePolicy", {"PolicyDocument": DOCUMENT, "RoleName": {"Ref": "Controller"}}),
    )
    assert statements(read(template)) == {
        "f: Controller.own-${C}": [ALLOW],
        "f: A": [ALLOW],
        "f: B": [ALLOW],
        "f: C": [ALLOW],
    }


@pytest.mark.parametrize(
    ("other", "told"),
    [
        ({"Roles": ["other"]}, "Controller, other"),
        ({}, "no role, Controller"),
    ],
)
def test_what_another_role_may_do_never_counts(other, told):
    template = resources(
        A=("ManagedPolicy", {"PolicyDocument": DOCUMENT, "Roles": [{"Ref": "Controller"}]}),
        B=("ManagedPolicy", {"PolicyDocument": DOCUMENT} | other),
    )
    with pytest.raises(InvalidPolicy, match=f"f: the template gives policies to {told}: give those of the controller"):
        read(template)


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        ('Resources: {A: {Type: "AWS::IAM::OIDCProvider"}}', "f: the template holds no IAM policy"),
        ('Resources: {A: 1, B: {Type: "AWS::IAM::Role"}}', "f: the template holds no IAM policy"),
        ("Resources:\n  A: [ AWS::IAM::\n  B: }", "f: line 3: not YAML"),
        ("Resources: &a\n  A: *a # AWS::IAM::", "f: line 2: the alias .a holds itself"),
        ("# AWS::IAM::\nResources: " + "[" * 200, "f: line 2: nested deeper than 100 levels"),
        ("# AWS::IAM::\nResources:\n  A: {}\n  A: {}", "f: line 4: the element 'A' is repeated"),
        (resources(P=("Policy", {"PolicyDocument": [1]})), "f: P: its PolicyDocument is neither"),
        (resources(P=("Policy", {})), "f: P: its PolicyDocument is neither"),
        (b"# AWS::IAM::\nResources: \xff", "f: not UTF-8 text"),
        ("# AWS::IAM::\nResources: {}\n" + "#" * MAX_TEMPLATE_BYTES, "f: more than 1,000,000 bytes"),
    ],
)
def test_an_unreadable_template_is_refused_with_its_place(data, reason):
    with pytest.raises(InvalidPolicy, match=reason):
        read(data)


@pytest.mark.parametrize("text", ['{"AWS::IAM::": {"Resources": ' + "[" * 50_000, '{"Resources": {"AWS::IAM::'])
def test_json_that_breaks_off_is_left_to_the_reader_of_policies(text):
    with pytest.raises(InvalidPolicy, match=r"not JSON|nested too deep"):
        parse_policy(read(text)["f"], name="f")


def test_a_large_file_is_no_policy_but_may_be_a_template():
    padding = "#" * (MAX_BYTES + 1)
    assert statements(read(f"{IN_YAML}\n{padding}")) == statements(read(IN_YAML))
    with pytest.raises(InvalidPolicy, match=f"more than {MAX_BYTES:,} bytes"):
        read(padding)


WORDS = st.sampled_from(
    ["Type", "Properties", "PolicyDocument", "Policies", "PolicyName", "Roles", "RoleName", "ManagedPolicyArns",
     "AWS::IAM::Role", "AWS::IAM::Policy", "Ref", "Fn::Sub", "Fn::Join", "Fn::GetAtt", "Statement", "${a}", "{}", "%7B"]
)  # fmt: skip
TREES = st.recursive(
    st.none() | st.booleans() | st.integers() | WORDS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(WORDS, inner, max_size=4),
    max_leaves=20,
)


def place_of_what_is_wrong(text):
    """Where the refusal stands; the file's own name where nothing is wrong."""
    try:
        for name, document in read(text).items():
            parse_policy(document, name=name)
    except InvalidPolicy as wrong:
        return wrong.where
    return "f"


@given(st.dictionaries(st.sampled_from("AB"), TREES | st.fixed_dictionaries({"Type": TREES, "Properties": TREES})))
def test_whatever_stands_in_a_template_it_is_read_or_refused(found):
    text = json.dumps({"Description": "AWS::IAM::", "Resources": found})
    assert place_of_what_is_wrong(text).partition(":")[0] == "f"

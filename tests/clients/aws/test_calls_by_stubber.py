"""Calls that moto does not know (simulation, access entries, Pod Identity, add-ons), and failures, by Stubber.

The answers are shapes as the API reference gives them; Stubber checks them and the parameters against the models.
"""

from datetime import UTC, datetime

import pytest
from botocore import xform_name
from botocore.exceptions import ConnectTimeoutError
from botocore.stub import Stubber

from migrations_app.clients.aws import permissions as rights
from migrations_app.clients.aws.client import open_aws
from migrations_app.clients.aws.cross_account import AwsCredentials, AwsLimits, ClusterAccountAccess, OwnIdentity
from migrations_app.clients.aws.session import AwsSession
from migrations_app.clients.secret import Secret
from migrations_app.errors import Forbidden, InvalidResponse, ServerFailed, TimedOut, TooLarge, Unauthorized
from migrations_app.inventory.aws_facts.simulation import Question, Reply
from migrations_app.inventory.objects.aws import AccessEntry, Association
from tests.fakes.aws_api import PLACE, role_arn

THEN = datetime(2026, 11, 21, tzinfo=UTC)
KEYS = AwsCredentials(access_key_id="AKIA", secret=Secret("s"))
QUESTION = Question(
    actions=("ec2:CreateTags",),
    resource="arn:aws:ec2:eu-west-1:111122223333:instance/i-1",
    context=(("aws:RequestTag/Name", ("n",)), ("aws:TagKeys", ("Name", "karpenter.sh/nodeclaim"))),
)


class Stubbed(AwsSession):
    """A session that hands out stubbed clients."""

    def __init__(self):
        super().__init__(ClusterAccountAccess(region="eu-west-1", keys=KEYS), OwnIdentity())
        self.clients = {service: super(Stubbed, self).client(service) for service in ("iam", "eks", "sts", "sqs")}
        self.stubs = {service: Stubber(client) for service, client in self.clients.items()}
        for stub in self.stubs.values():
            stub.activate()

    def client(self, service):
        return self.clients[service]


@pytest.fixture
def session():
    made = Stubbed()
    yield made
    for stub in made.stubs.values():
        stub.assert_no_pending_responses()


def api(session, **limits):
    return open_aws(session, PLACE, limits=AwsLimits(**limits))


def entry(**changed):
    facts = {
        "clusterName": "shop", "principalArn": role_arn("nodes"), "kubernetesGroups": ["system:nodes"],
        "accessEntryArn": "arn:aws:eks:eu-west-1:111122223333:access-entry/shop/role/111122223333/nodes/1",
        "createdAt": THEN, "modifiedAt": THEN, "tags": {}, "username": "system:node:{{EC2PrivateDNSName}}",
        "type": "EC2_LINUX",
    }  # fmt: skip
    return facts | changed


def test_an_access_entry(session):
    asked = {"clusterName": "shop", "principalArn": role_arn("nodes")}
    session.stubs["eks"].add_response("describe_access_entry", {"accessEntry": entry()}, asked)
    assert api(session).access_entry(role_arn("nodes")) == AccessEntry(
        principal_arn=role_arn("nodes"),
        type="EC2_LINUX",
        groups=("system:nodes",),
        username="system:node:{{EC2PrivateDNSName}}",
    )


def test_no_access_entry(session):
    session.stubs["eks"].add_client_error("describe_access_entry", "ResourceNotFoundException", http_status_code=404)
    assert api(session).access_entry(role_arn("nodes")) is None


def summary(identity):
    return {"clusterName": "shop", "namespace": "kube-system", "serviceAccount": "karpenter", "associationId": identity,
            "associationArn": f"arn:aws:eks:eu-west-1:111122223333:podidentityassociation/shop/{identity}"}  # fmt: skip


def test_associations_are_listed_page_by_page_and_described(session):
    stub = session.stubs["eks"]
    asked = {"clusterName": "shop", "namespace": "kube-system", "serviceAccount": "karpenter"}
    stub.add_response("list_pod_identity_associations", {"associations": [summary("a-1")], "nextToken": "t"}, asked)
    for identity, role in (("a-1", {"roleArn": role_arn("karpenter"), "targetRoleArn": role_arn("target")}),
                           ("a-2", {"roleArn": role_arn("other")})):  # fmt: skip
        if identity == "a-2":
            stub.add_response("list_pod_identity_associations", {"associations": [summary("a-2")]},
                              asked | {"nextToken": "t"})  # fmt: skip
        stub.add_response(
            "describe_pod_identity_association",
            {"association": summary(identity) | role | {"createdAt": THEN, "modifiedAt": THEN}},
            {"clusterName": "shop", "associationId": identity},
        )
    found = api(session).associations(namespace="kube-system", service_account="karpenter")
    account = {"namespace": "kube-system", "service_account": "karpenter"}
    assert found == (
        Association(id="a-1", role_arn=role_arn("karpenter"), target_role_arn=role_arn("target"), **account),
        Association(id="a-2", role_arn=role_arn("other"), **account),
    )


def test_what_an_association_says_about_sessions(session):
    stub = session.stubs["eks"]
    stub.add_response("list_pod_identity_associations", {"associations": [summary("a-1")]})
    told = {"roleArn": role_arn("k"), "disableSessionTags": True, "externalId": "x-1", "policy": "{}"}
    stub.add_response("describe_pod_identity_association", {"association": summary("a-1") | told})
    (found,) = api(session).associations(namespace="kube-system", service_account="karpenter")
    assert (found.session_tags, found.external_id, found.limited) == (False, "x-1", True)


def test_an_association_that_went_away_is_left_out(session):
    stub = session.stubs["eks"]
    stub.add_response("list_pod_identity_associations", {"associations": [summary("a-1")]})
    stub.add_client_error("describe_pod_identity_association", "ResourceNotFoundException", http_status_code=404)
    assert api(session).associations(namespace="kube-system", service_account="karpenter") == ()


def test_the_status_of_an_add_on(session):
    asked = {"clusterName": "shop", "addonName": "eks-pod-identity-agent"}
    session.stubs["eks"].add_response("describe_addon", {"addon": {"addonName": "a", "status": "ACTIVE"}}, asked)
    session.stubs["eks"].add_client_error("describe_addon", "ResourceNotFoundException", http_status_code=404)
    client = api(session)
    assert [client.addon_status("eks-pod-identity-agent") for _ in range(2)] == ["ACTIVE", None]


def test_a_simulation_states_tags_as_context_and_reads_all_of_the_answer(session):
    session.stubs["iam"].add_response(
        "simulate_principal_policy",
        {
            "EvaluationResults": [
                {
                    "EvalActionName": "ec2:CreateTags", "EvalResourceName": "*", "EvalDecision": "implicitDeny",
                    "MatchedStatements": [], "MissingContextValues": ["ec2:CreateAction"],
                    "PermissionsBoundaryDecisionDetail": {"AllowedByPermissionsBoundary": False},
                    "OrganizationsDecisionDetail": {"AllowedByOrganizations": False},
                }
            ],
            "IsTruncated": False,
        },
        {
            "PolicySourceArn": role_arn("karpenter"),
            "ActionNames": ["ec2:CreateTags"],
            "ResourceArns": [QUESTION.resource],
            "ContextEntries": [
                {"ContextKeyName": "aws:RequestTag/Name", "ContextKeyValues": ["n"], "ContextKeyType": "string"},
                {"ContextKeyName": "aws:TagKeys", "ContextKeyValues": ["Name", "karpenter.sh/nodeclaim"],
                 "ContextKeyType": "stringList"},
            ],
        },
    )  # fmt: skip
    assert api(session).simulated(role_arn("karpenter"), QUESTION) == (
        Reply(action="ec2:CreateTags", decision="implicitDeny", missing=("ec2:CreateAction",), by_boundary=True,
              by_organization=True),
    )  # fmt: skip


CALLS = {
    rights.WHO_AM_I: lambda found: found.caller(),
    rights.GET_ROLE: lambda found: found.role("r"),
    rights.LIST_ATTACHED: lambda found: found.attached_policies("r"),
    rights.LIST_INLINE: lambda found: found.inline_names("r"),
    rights.GET_INLINE: lambda found: found.inline_policy("r", "p"),
    rights.SIMULATE: lambda found: found.simulated(role_arn("karpenter"), QUESTION),
    rights.GET_POLICY: lambda found: found.managed_policy("arn:aws:iam::aws:policy/AmazonEKS_CNI_Policy"),
    rights.GET_PROFILE: lambda found: found.instance_profile("p"),
    rights.GET_PROVIDER: lambda found: found.oidc_provider("arn:aws:iam::111122223333:oidc-provider/x"),
    rights.DESCRIBE_CLUSTER: lambda found: found.cluster(),
    rights.LIST_ASSOCIATIONS: lambda found: found.associations(namespace="n", service_account="s"),
    rights.DESCRIBE_ENTRY: lambda found: found.access_entry(role_arn("nodes")),
    rights.DESCRIBE_ADDON: lambda found: found.addon_status("a"),
    rights.GET_QUEUE_URL: lambda found: found.queue("q", account="111122223333"),
}


def method(right):
    return xform_name(right.operation)


@pytest.mark.parametrize(
    ("code", "kind", "told"),
    [
        ("AccessDenied", Forbidden, "forbidden"),
        ("Throttling", ServerFailed, "throttled"),
        ("ExpiredToken", Unauthorized, "expired_credentials"),
        ("InvalidClientTokenId", Unauthorized, "unauthorized"),
    ],
)
@pytest.mark.parametrize("right", CALLS, ids=lambda right: right.action)
def test_every_call_tells_why_it_failed(session, right, code, kind, told):
    session.stubs[right.service].add_client_error(method(right), code)
    with pytest.raises(kind) as caught:
        CALLS[right](api(session))
    assert caught.value.code == told
    assert kind is Unauthorized or right.action in caught.value.message


def test_a_list_without_end_is_stopped(session):
    for number in range(3):
        page = {"AttachedPolicies": [], "IsTruncated": True, "Marker": f"m{number}"}
        session.stubs["iam"].add_response("list_attached_role_policies", page)
    with pytest.raises(TooLarge):
        api(session, pages=3).attached_policies("r")


def test_a_list_that_repeats_its_marker_has_a_reason(session):
    page = {"PolicyNames": ["a"], "IsTruncated": True, "Marker": "m"}
    for _ in range(2):
        session.stubs["iam"].add_response("list_role_policies", page)
    with pytest.raises(InvalidResponse):
        api(session).inline_names("r")


def test_an_answer_of_another_shape_has_a_reason(session):
    session.stubs["eks"].add_response("describe_cluster", {})
    with pytest.raises(InvalidResponse) as caught:
        api(session).cluster()
    assert caught.value.message == "the answer to eks:DescribeCluster is not in the form that AWS documents"


def test_names_that_aws_could_not_hold_are_not_sent(session):
    session.stubs["iam"].deactivate()
    with pytest.raises(InvalidResponse) as caught:
        api(session).role("")
    assert caught.value.code == "bad_name"


def test_when_time_is_over_nothing_is_sent(session):
    with pytest.raises(TimedOut):
        api(session, all_seconds=0).cluster()


def test_a_slow_connection_is_a_time_out(session, monkeypatch):
    def slow(**_given):
        raise ConnectTimeoutError(endpoint_url="u")

    monkeypatch.setattr(session.clients["iam"], "get_role", slow)
    with pytest.raises(TimedOut):
        api(session).role("r")


def test_closing_twice_is_harmless(session):
    client = api(session)
    client.close()
    client.close()

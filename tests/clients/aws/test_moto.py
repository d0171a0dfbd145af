"""The live client against moto's server: a whole account read, and the calls it took held against aws_rights.py.

moto judges no policy here, and has neither SimulatePrincipalPolicy, access entries, Pod Identity, add-ons, lists of
quotas nor capacity reservations: those answers are recorded shapes (moto_account.py).
"""

import json
from datetime import UTC, datetime

import pytest

from migrations_app.clients.aws.client import open_aws
from migrations_app.clients.aws.cross_account import ClusterAccountAccess, OwnIdentity
from migrations_app.clients.aws.permissions import RIGHTS
from migrations_app.clients.aws.session import AwsSession
from migrations_app.collect.aws import collect_aws
from migrations_app.inventory.objects.aws import AWS_PART_NAMES
from migrations_app.inventory.objects.capacity import VcpuQuota
from migrations_app.inventory.objects.cluster_arn import AwsPlace
from migrations_app.inventory.parts import Seen, Unseen
from tests.clients.aws.moto_account import (
    ACCOUNT,
    ANYTHING,
    CLUSTER_TAGS,
    KEYS,
    QUOTAS,
    REGION,
    Account,
    Recording,
    arn,
)
from tests.fakes.aws_inventory import an_inventory, config_map, controller, node, node_class, service_account

pytestmark = [pytest.mark.moto, pytest.mark.xdist_group("moto")]

PLACE = AwsPlace(region=REGION, cluster="shop", account=ACCOUNT)
SPOT_PATH = "/aws-service-role/spot.amazonaws.com/"
THEN = datetime(2026, 11, 21, tzinfo=UTC)
ASSOCIATION = {"clusterName": "shop", "namespace": "kube-system", "serviceAccount": "karpenter", "associationId": "a-1"}
RECORDED = {
    "ListServiceQuotas": QUOTAS,
    "DescribeCapacityReservations": {
        "CapacityReservations": [
            {
                "CapacityReservationId": "cr-0123456789abcdef0",
                "InstanceType": "m5.large",
                "AvailabilityZone": f"{REGION}a",
                "TotalInstanceCount": 4,
                "AvailableInstanceCount": 1,
                "State": "active",
            }
        ]
    },
    "ListPodIdentityAssociations": {"associations": [ASSOCIATION]},
    "DescribePodIdentityAssociation": {"association": ASSOCIATION | {"roleArn": arn("role", "karpenter")}},
    "DescribeAccessEntry": {
        "accessEntry": {"principalArn": arn("role", "nodes"), "type": "EC2_LINUX", "createdAt": THEN}
    },
    "DescribeAddon": {"addon": {"addonName": "eks-pod-identity-agent", "status": "ACTIVE"}},
    "SimulatePrincipalPolicy": {
        "EvaluationResults": [{"EvalActionName": "pricing:GetProducts", "EvalDecision": "explicitDeny"}],
        "IsTruncated": False,
    },
}


def shop():
    return an_inventory(
        controller=(controller(INTERRUPTION_QUEUE="shop", CLUSTER_NAME="shop"),),
        controller_accounts=(service_account(),),
        ec2nodeclasses=(
            node_class("a", role="nodes", subnetSelectorTerms=[{"tags": {"discovery": "shop"}}]),
            node_class("b", instanceProfile="kept"),
        ),
        aws_auth=(config_map("aws-auth", mapRoles=f"- rolearn: {arn('role', 'nodes')}"),),
        nodes=(node("n", instance_type="m5.large", zone=f"{REGION}a"),),
    )


@pytest.fixture(scope="module")
def session(moto_url):
    """One session at a moto that holds one cluster's worth of things; making clients is what takes time."""
    account = Account(moto_url)
    issuer = account.cluster()["identity"]["oidc"]["issuer"]
    account.iam.create_open_id_connect_provider(
        Url=issuer, ClientIDList=["sts.amazonaws.com"], ThumbprintList=["0" * 40]
    )
    limit = account.policy("limit")
    account.role("karpenter", service="pods.eks.amazonaws.com", PermissionsBoundary=limit)
    account.iam.attach_role_policy(RoleName="karpenter", PolicyArn=account.policy("main"))
    account.iam.put_role_policy(RoleName="karpenter", PolicyName="extra", PolicyDocument=ANYTHING)
    account.role("nodes")
    worker = "arn:aws:iam::aws:policy/AmazonEKSWorkerNodePolicy"
    account.iam.attach_role_policy(RoleName="nodes", PolicyArn=worker)
    account.role("kept-nodes")
    account.profile("kept", "kept-nodes")
    account.role("AWSServiceRoleForEC2Spot", service="spot.amazonaws.com", Path=SPOT_PATH)
    account.role("karpdash")
    queue = account.sqs.create_queue(QueueName="shop", Attributes={"MessageRetentionPeriod": "300"})["QueueUrl"]
    account.sqs.set_queue_attributes(QueueUrl=queue, Attributes={"Policy": queue_policy()})
    account.instances(2, CLUSTER_TAGS | {"Name": "n", "karpenter.sh/nodeclaim": "c"})
    account.instances(1, {"Name": "somebody else's"})
    account.subnets({"discovery": "shop"}, "10.0.0.0/24")
    made = Recording(moto_url)
    made.vpc = account.subnets({"discovery": "shop", "Name": "not kept"}, "10.0.0.0/20", "10.0.16.0/28")
    return made


def queue_policy():
    statement = {
        "Effect": "Allow", "Principal": {"Service": ["events.amazonaws.com", "sqs.amazonaws.com"]},
        "Action": "sqs:SendMessage", "Resource": "*",
    }  # fmt: skip
    return json.dumps({"Version": "2012-10-17", "Statement": [statement]})


def read(session, answers=None, *, place=PLACE, inventory=None, releases=()):
    session.answers, session.calls = RECORDED | (answers or {}), set()
    return collect_aws(open_aws(session, place), inventory or shop(), releases=releases)


@pytest.fixture(scope="module")
def whole(session):
    """Everything read once."""
    return read(session)


def test_the_calls_are_exactly_those_of_the_policy(session):
    found = read(session, releases=("1.0",))
    assert session.calls == {(right.client or right.service, right.operation) for right in RIGHTS}
    (row,) = found.disagreements
    assert (row.action, row.ours, row.theirs, row.release) == ("pricing:GetProducts", "allowed", "explicitDeny", "1.0")
    assert read(session, {"SimulatePrincipalPolicy": "AccessDenied"}, releases=("1.0",)).simulation == Unseen(
        "forbidden", "may not iam:SimulatePrincipalPolicy: no policy of karpdash's role allows it"
    )


def test_a_whole_account(whole):
    found = whole
    assert [name for name in AWS_PART_NAMES if isinstance(found.part(name), Unseen)] == ["simulation"]
    (cluster,) = found.cluster.items
    assert (cluster.name, cluster.version, cluster.status, cluster.arn) == ("shop", "1.30", "ACTIVE", PLACE.arn)
    (provider,) = found.oidc_provider.items
    assert provider.client_ids == ("sts.amazonaws.com",)
    assert found.pod_identity_agent == Seen(("ACTIVE",))
    (queue,) = found.queue.items
    assert (queue.name, queue.exists) == ("shop", True)
    assert json.loads(queue.policy) == json.loads(queue_policy())
    assert [(role.name, role.path) for role in found.spot_role.items] == [("AWSServiceRoleForEC2Spot", SPOT_PATH)]


def test_the_controllers_role(whole):
    (role,) = whole.controller_roles.items
    assert (role.found_by, role.arn, role.inline_size) == ("pod_identity", arn("role", "karpenter"), 85)
    assert [(one.name, one.kind, one.size, one.room) for one in role.policies.items] == [
        ("main", "customer_managed", 85, 6059),
        ("extra", "inline", 85, 10155),
    ]
    assert [json.loads(one.text) for one in role.policies.items] == [json.loads(ANYTHING)] * 2
    assert [one.name for one in role.boundary.items] == ["limit"]
    trusted = json.loads(role.role.items[0].trust)["Statement"][0]["Principal"]
    assert trusted == {"Service": "pods.eks.amazonaws.com"}


def test_nodes_and_their_roles(whole):
    found = whole
    assert [(one.name, one.exists, one.role_arns) for one in found.instance_profiles.items] == [
        ("kept", True, (arn("role", "kept-nodes"),))
    ]
    assert [(one.name, [p.name for p in one.policies.items]) for one in found.node_roles.items] == [
        ("nodes", ["AmazonEKSWorkerNodePolicy"]),
        ("kept-nodes", []),
    ]
    assert [(one.tags, one.count) for one in found.instances.items] == [(tuple(sorted(CLUSTER_TAGS.items())), 2)]


def test_room_for_new_nodes(whole):
    found = whole
    assert [(one.zone, one.size, one.free, one.ipv6_only, one.classes) for one in found.subnets.items] == [
        (f"{REGION}a", 4096, 4091, False, ("EC2NodeClass/a",)),
        (f"{REGION}b", 16, 11, False, ("EC2NodeClass/a",)),
    ]
    assert found.quotas == Seen((VcpuQuota(code="L-1216C47A", limit=640),))
    assert [(one.instance_type, one.zone, one.total, one.free) for one in found.reservations.items] == [
        ("m5.large", f"{REGION}a", 4, 1)
    ]
    assert {one.zone for one in found.offerings.items} >= {f"{REGION}a"}
    assert {one.instance_type for one in found.offerings.items} == {"m5.large"}


def test_a_measurement_of_what_is_used(session):
    answer = {"Id": "q0", "Timestamps": [THEN], "Values": [100.0], "StatusCode": "Complete"}
    found = read(session, {"GetMetricData": {"MetricDataResults": [answer]}})
    used = VcpuQuota(code="L-1216C47A", limit=640, used=100, measured_at="2026-11-21T00:00:00Z")
    assert found.quotas == Seen((used,))


def test_another_region_has_no_such_cluster(session):
    found = read(session, place=AwsPlace(region=REGION, cluster="elsewhere", account=ACCOUNT))
    assert found.cluster == Seen(())
    assert found.oidc_provider == Seen(())


def test_another_account_is_not_read(session):
    found = read(session, place=AwsPlace(region=REGION, cluster="shop", account="111122223333"))
    assert found.cluster.why == "wrong_account"
    assert session.calls == {("sts", "GetCallerIdentity")}


REFUSABLE = sorted({right.operation for right in RIGHTS} - {"GetCallerIdentity", "SimulatePrincipalPolicy"})


@pytest.mark.parametrize("operation", REFUSABLE)
def test_access_denied_on_any_call_is_said_and_never_reads_as_absent(session, whole, operation):
    found = read(session, {operation: "AccessDenied"})
    changed = {name for name in AWS_PART_NAMES if found.part(name) != whole.part(name)}
    assert changed - {"simulation"}
    assert all("may not " in repr(found.part(name)) for name in changed)


def test_what_is_named_but_not_there(session):
    inventory = an_inventory(
        controller=(controller(INTERRUPTION_QUEUE="no-queue"),),
        ec2nodeclasses=(node_class("a", role="no-role"), node_class("b", instanceProfile="no-profile")),
    )
    place = AwsPlace(region=REGION, cluster="no-cluster", account=ACCOUNT)
    found = read(session, {"ListPodIdentityAssociations": {"associations": []}}, place=place, inventory=inventory)
    assert [one.exists for one in found.instance_profiles.items] == [False]
    assert [one.role for one in found.node_roles.items] == [Seen(())]
    assert [one.exists for one in found.queue.items] == [False]
    assert (found.cluster, found.controller_roles, found.instances) == (Seen(()), Seen(()), Seen(()))


def test_a_role_is_entered_for_real(moto_url, session):
    assert session.region == REGION
    entry = ClusterAccountAccess(region=REGION, role_arn=arn("role", "karpdash"), external_id="karpdash-1", user="ada")
    entered = AwsSession(entry, OwnIdentity(keys=KEYS, endpoint=moto_url))
    caller = open_aws(entered, PLACE).caller()
    assert caller.arn == f"arn:aws:sts::{ACCOUNT}:assumed-role/karpdash/karpdash-scan-ada"

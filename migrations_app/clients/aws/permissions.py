"""Every AWS call that karpdash makes, and the IAM policies that allow exactly these calls.

The client can only make calls listed here, so the policy cannot fall behind the code.
"""

from dataclasses import dataclass

from migrations_app.inventory.objects.cluster_arn import AwsPlace
from migrations_app.manifests import JsonMap


@dataclass(frozen=True, slots=True)
class AwsPermission:
    """One operation of one service, which is named as IAM does; `client` is boto3's name for it, where that differs.

    `resource` is an ARN template; `free` means that AWS requires no permission for it.
    """

    service: str
    operation: str
    resource: str = "*"
    sid: str = "Anywhere"
    free: bool = False
    client: str = ""

    @property
    def action(self) -> str:
        """The IAM action, such as iam:GetRole."""
        return f"{self.service}:{self.operation}"


_IAM = "arn:{partition}:iam::{account}:"
_EKS = "arn:{partition}:eks:{region}:{account}:"
_ROLES = (_IAM + "role/*", "ReadRoles")
_CLUSTER = (_EKS + "cluster/{cluster}", "ReadCluster")
_QUEUES = ("arn:{partition}:sqs:{region}:{account}:*", "ReadQueue")

WHO_AM_I = AwsPermission("sts", "GetCallerIdentity", free=True)
GET_ROLE = AwsPermission("iam", "GetRole", *_ROLES)
LIST_ATTACHED = AwsPermission("iam", "ListAttachedRolePolicies", *_ROLES)
LIST_INLINE = AwsPermission("iam", "ListRolePolicies", *_ROLES)
GET_INLINE = AwsPermission("iam", "GetRolePolicy", *_ROLES)
SIMULATE = AwsPermission("iam", "SimulatePrincipalPolicy", *_ROLES)
# AWS managed policies belong to no account, so the account in the ARN is a wildcard.
GET_POLICY = AwsPermission("iam", "GetPolicy", "arn:{partition}:iam::*:policy/*", "ReadPolicies")
GET_VERSION = AwsPermission("iam", "GetPolicyVersion", "arn:{partition}:iam::*:policy/*", "ReadPolicies")
GET_PROFILE = AwsPermission("iam", "GetInstanceProfile", _IAM + "instance-profile/*", "ReadProfiles")
GET_PROVIDER = AwsPermission("iam", "GetOpenIDConnectProvider", _IAM + "oidc-provider/*", "ReadIdentityProviders")
DESCRIBE_CLUSTER = AwsPermission("eks", "DescribeCluster", *_CLUSTER)
LIST_ASSOCIATIONS = AwsPermission("eks", "ListPodIdentityAssociations", *_CLUSTER)
DESCRIBE_ASSOCIATION = AwsPermission(
    "eks", "DescribePodIdentityAssociation", _EKS + "podidentityassociation/{cluster}/*", "ReadAssociations"
)
DESCRIBE_ENTRY = AwsPermission("eks", "DescribeAccessEntry", _EKS + "access-entry/{cluster}/*", "ReadAccessEntries")
DESCRIBE_ADDON = AwsPermission("eks", "DescribeAddon", _EKS + "addon/{cluster}/*", "ReadAddons")
GET_QUEUE_URL = AwsPermission("sqs", "GetQueueUrl", *_QUEUES)
GET_QUEUE = AwsPermission("sqs", "GetQueueAttributes", *_QUEUES)
DESCRIBE_INSTANCES = AwsPermission("ec2", "DescribeInstances")
DESCRIBE_SUBNETS = AwsPermission("ec2", "DescribeSubnets")
DESCRIBE_RESERVATIONS = AwsPermission("ec2", "DescribeCapacityReservations")
DESCRIBE_OFFERINGS = AwsPermission("ec2", "DescribeInstanceTypeOfferings")
LIST_QUOTAS = AwsPermission("servicequotas", "ListServiceQuotas", client="service-quotas")
GET_USAGE = AwsPermission("cloudwatch", "GetMetricData")

RIGHTS: tuple[AwsPermission, ...] = (
    WHO_AM_I,
    GET_ROLE,
    LIST_ATTACHED,
    LIST_INLINE,
    GET_INLINE,
    SIMULATE,
    GET_POLICY,
    GET_VERSION,
    GET_PROFILE,
    GET_PROVIDER,
    DESCRIBE_CLUSTER,
    LIST_ASSOCIATIONS,
    DESCRIBE_ASSOCIATION,
    DESCRIBE_ENTRY,
    DESCRIBE_ADDON,
    GET_QUEUE_URL,
    GET_QUEUE,
    DESCRIBE_INSTANCES,
    DESCRIBE_SUBNETS,
    DESCRIBE_RESERVATIONS,
    DESCRIBE_OFFERINGS,
    LIST_QUOTAS,
    GET_USAGE,
)
"""All calls made with the cluster's role. The role itself is assumed with sts:AssumeRole.
EKS tokens need no entry: they are presigned GetCallerIdentity requests.
"""
ASSUME = AwsPermission("sts", "AssumeRole")
"""Made with karpdash's own identity, as is GetCallerIdentity, which requires no permission."""

LIST_ACCOUNTS = AwsPermission("organizations", "ListAccounts")
"""Made with an organization's hub role, which also assumes the roles of the accounts."""
LIST_CLUSTERS = AwsPermission("eks", "ListClusters", sid="ListClusters")
"""Made with an account's role, in addition to RIGHTS."""

_SOME = AwsPlace(region="us-west-2", cluster="my-cluster", account="111122223333")


def minimal_policy(place: AwsPlace = _SOME) -> JsonMap:
    """The read-only policy for the role that karpdash assumes in the cluster's account."""
    account = place.account or "*"
    gaps = {"partition": place.partition, "account": account, "region": place.region, "cluster": place.cluster}
    return _reading_policy(gaps)


def _reading_policy(gaps: dict[str, str]) -> JsonMap:
    by_sid: dict[str, list[AwsPermission]] = {}
    for right in RIGHTS:
        if not right.free:
            by_sid.setdefault(right.sid, []).append(right)
    statements = [
        {
            "Sid": sid,
            "Effect": "Allow",
            "Action": sorted(right.action for right in rights),
            "Resource": rights[0].resource.format_map(gaps),
        }
        for sid, rights in by_sid.items()
    ]
    return {"Version": "2012-10-17", "Statement": statements}


def hub_policy(partition: str, *, member_role: str) -> JsonMap:
    """What the hub role of an organization may do: list the accounts, and assume the role of that name in each."""
    statements = [
        _statement("ListAccounts", LIST_ACCOUNTS, resource="*"),
        _statement("AssumeReaders", ASSUME, resource=f"arn:{partition}:iam::*:role/{member_role}"),
    ]
    return {"Version": "2012-10-17", "Statement": statements}


def member_policy(partition: str) -> JsonMap:
    """The read-only policy for the role in an account of an organization: every EKS cluster of that account."""
    policy = _reading_policy({"partition": partition, "account": "*", "region": "*", "cluster": "*"})
    return policy | {"Statement": [*policy["Statement"], _statement(LIST_CLUSTERS.sid, LIST_CLUSTERS, resource="*")]}


def _statement(sid: str, right: AwsPermission, *, resource: str) -> JsonMap:
    return {"Sid": sid, "Effect": "Allow", "Action": right.action, "Resource": resource}


def trust_policy(*, principal_arn: str, external_id: str) -> JsonMap:
    """The trust policy of that role: only karpdash's own identity, and only with the external id of this cluster."""
    statement = {
        "Effect": "Allow",
        "Principal": {"AWS": principal_arn},
        "Action": "sts:AssumeRole",
        "Condition": {"StringEquals": {"sts:ExternalId": external_id}},
    }
    return {"Version": "2012-10-17", "Statement": [statement]}

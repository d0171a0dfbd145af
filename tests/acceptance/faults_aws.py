"""Faults that only AWS shows, planted into the account of a clean cluster as its owner could make them."""

import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from tests.acceptance.aws_account import ACCOUNT, NODE_POLICIES, SPOT, CleanAccount, policy, trust
from tests.acceptance.clusters import Clean, find
from tests.acceptance.faults_beta import another_class
from tests.acceptance.planting import Plant, put, variable

PlantInAws = Callable[[CleanAccount], Any]
EARLIER = ("v0.30.0", "v0.31.4")
ALPHA, BETA, CURRENT = ("v0.31.4", "v0.32.10"), ("v0.37.8", "v1.0.14"), ("v1.14.1",)
"""The releases whose policies the hop of alpha-028, alpha-031, beta-033 and v1-13 asks for, with the one before."""


def _nothing(_account: CleanAccount) -> None:
    """The fault is what the policies leave out."""


def _unplanted(_documents: list[dict[str, Any]]) -> None:
    """The cluster stays as it is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AwsFault:
    """`check` fails, and its evidence or summary holds `says`. `of` are the changes and pains that it stands for.

    `not_in_moto` says why the fix cannot be run against moto; empty where its lines are run.
    """

    of: tuple[str, ...]
    on: str
    check: str
    says: str
    tags: tuple[str, ...]
    passes: str = ""
    plant: PlantInAws = _nothing
    in_cluster: Plant = _unplanted
    not_in_moto: str = ""
    hop: str = ""
    version: str = ""

    @property
    def clean(self) -> Clean:
        """The cluster that it is planted in, at `version` where one is given."""
        found = find(self.on)
        return replace(found, version=self.version) if self.version else found

    @property
    def name(self) -> str:
        return f"{self.on}/{self.of[-1] if ' ' in self.of[-1] else self.of[0]}/{self.check}"


def _queue(account: CleanAccount) -> str:
    return f"{account.url}/{ACCOUNT}/{account.clean.name}"


def _no_queue(account: CleanAccount) -> None:
    account.client("sqs").delete_queue(QueueUrl=_queue(account))


def _nobody_sends(account: CleanAccount) -> None:
    account.client("sqs").set_queue_attributes(QueueUrl=_queue(account), Attributes={"Policy": ""})


def _no_spot_role(account: CleanAccount) -> None:
    account.client("iam").delete_role(RoleName=SPOT)


def _trusts_another(account: CleanAccount) -> None:
    document = trust("ec2.amazonaws.com")
    account.client("iam").update_assume_role_policy(RoleName=account.controller, PolicyDocument=document)


def _nobodys_instance(account: CleanAccount) -> None:
    _instance(account, {"karpenter.sh/nodepool": "default"})


def _instance(account: CleanAccount, tags: dict[str, str]) -> None:
    """An instance of the cluster with these tags, which nothing in the cluster knows."""
    ec2 = account.client("ec2")
    image = ec2.describe_images()["Images"][0]["ImageId"]
    owned = tags | {f"kubernetes.io/cluster/{account.clean.name}": "owned"}
    rows = [{"Key": key, "Value": value} for key, value in owned.items()]
    given = {"ResourceType": "instance", "Tags": rows}
    ec2.run_instances(ImageId=image, MinCount=1, MaxCount=1, TagSpecifications=[given])


def _another_role(*policies: str) -> PlantInAws:
    """A role for nodes with these policies of AWS."""

    def plant(account: CleanAccount) -> None:
        iam = account.client("iam")
        iam.create_role(RoleName=ANOTHER, AssumeRolePolicyDocument=trust("ec2.amazonaws.com"))
        for name in policies:
            iam.attach_role_policy(RoleName=ANOTHER, PolicyArn=f"arn:aws:iam::aws:policy/{name}")

    return plant


def _unknown_role(account: CleanAccount) -> None:
    _another_role(*NODE_POLICIES)(account)
    account.entries = False


def _empty_profile(account: CleanAccount) -> None:
    account.client("iam").create_instance_profile(InstanceProfileName="MyProfile")


def _no_vcpus(account: CleanAccount) -> None:
    account.used = 640


def _small_subnets(account: CleanAccount) -> None:
    """Subnets with eleven addresses each in the place of large ones."""
    ec2 = account.client("ec2")
    for one in ec2.describe_subnets(Filters=[{"Name": "vpc-id", "Values": [account.vpc]}])["Subnets"]:
        ec2.delete_subnet(SubnetId=one["SubnetId"])
        account.subnet(account.vpc, one["CidrBlock"].replace("/20", "/28"), zone=one["AvailabilityZone"])


def _nothing_spot(account: CleanAccount) -> None:
    """The document with what spot requests need taken out of every statement."""
    iam = account.client("iam")
    for name in iam.list_role_policies(RoleName=account.controller)["PolicyNames"]:
        found = iam.get_role_policy(RoleName=account.controller, PolicyName=name)["PolicyDocument"]
        text = json.dumps(found).replace(":spot-instances-request/*", ":no-such-thing/*")
        account.attach(name, text)


def _without_action(action: str) -> PlantInAws:
    """The document with that action taken out of every statement."""

    def plant(account: CleanAccount) -> None:
        iam = account.client("iam")
        for name in iam.list_role_policies(RoleName=account.controller)["PolicyNames"]:
            found = iam.get_role_policy(RoleName=account.controller, PolicyName=name)["PolicyDocument"]
            for one in found["Statement"]:
                told = [one["Action"]] if isinstance(one["Action"], str) else one["Action"]
                one["Action"] = [each for each in told if each != action]
            kept = [one for one in found["Statement"] if one["Action"]]
            account.attach(name, json.dumps({**found, "Statement": kept}))

    return plant


def _machine_gone(account: CleanAccount) -> None:
    """An instance that a release with Machines tagged, and that lost its Machine in the rollback."""
    _instance(account, {"karpenter.sh/managed-by": account.clean.name, "karpenter.sh/provisioner-name": "default"})


def _asks_for_address(account: CleanAccount) -> None:
    """Instances may be launched without a public address only."""
    asked = {"Bool": {"ec2:AssociatePublicIpAddress": "true"}}
    account.attach("no-public-address", policy(DENIED | {"Condition": asked}))


def _full_role(account: CleanAccount) -> None:
    """A role whose inline policies leave no room, and that has as many managed policies as it may have."""
    iam = account.client("iam")
    held = iam.list_role_policies(RoleName=account.controller)["PolicyNames"]
    used = sum(len(json.dumps(iam.get_role_policy(RoleName=account.controller, PolicyName=name)["PolicyDocument"],
                              separators=(",", ":"))) for name in held)  # fmt: skip
    filler = policy({"Effect": "Allow", "Action": "s3:GetObject", "Resource": "arn:aws:s3:::" + "x" * (10100 - used)})
    account.attach("filler", filler)
    for number in range(10):
        made = iam.create_policy(PolicyName=f"full-{number}", PolicyDocument=policy(READS | {"Resource": "*"}))
        iam.attach_role_policy(RoleName=account.controller, PolicyArn=made["Policy"]["Arn"])


DENIED: dict[str, Any] = {"Effect": "Deny", "Action": "ec2:RunInstances", "Resource": "*"}
READS: dict[str, Any] = {"Effect": "Allow", "Action": "s3:GetObject"}
SPOT_POOL = put(
    "Provisioner",
    "",
    "spec/requirements",
    [{"key": "karpenter.sh/capacity-type", "operator": "In", "values": ["spot"]}],
)

SPOT_NODE_POOL = put(
    "NodePool",
    "",
    "spec/template/spec/requirements",
    [{"key": "karpenter.sh/capacity-type", "operator": "In", "values": ["spot"]}],
)

ANOTHER = "AnotherNodeRole"
PROFILE = put("AWSNodeTemplate", "default", "spec/instanceProfile", "MyProfile")

AWS_FAULTS: tuple[AwsFault, ...] = (
    AwsFault(
        of=("iam-beta-policy",), on="alpha-031", check="controller_permitted", says="ec2:RunInstances",
        tags=("v0.31.4",),
    ),
    AwsFault(
        of=("IAM-01",), on="alpha-031", check="role_profiles_permitted", says="iam:CreateInstanceProfile",
        tags=("v0.31.4",),
    ),
    AwsFault(
        of=("iam-alpha-policy-removed-early",), on="alpha-031", check="legacy_permissions_kept",
        says="ec2:TerminateInstances", tags=("v0.32.10",),
    ),
    AwsFault(
        of=("IAM-02", "iam-spot-instances-request"), on="finished-032", check="controller_permitted",
        says="spot-instances-request", tags=("v0.32.10", "v0.37.8"), plant=_nothing_spot, in_cluster=SPOT_NODE_POOL,
    ),
    AwsFault(
        of=("iam-v1-policy", "IAM-03"), on="beta-033", check="controller_permitted", says="ec2:CreateTags",
        tags=("v0.37.8",),
    ),
    AwsFault(
        of=("IAM-05",), on="beta-033", check="role_profiles_permitted", says="iam:PassRole", tags=BETA, passes="Other",
    ),
    AwsFault(
        of=("iam-describe-instance-status", "AWS-05"), on="v1-13", check="controller_permitted",
        says="ec2:DescribeInstanceStatus", tags=("v1.0.14",),
    ),
    AwsFault(
        of=("iam-capacity-reservations",), on="v1-13", check="controller_permitted",
        says="ec2:DescribeCapacityReservations", tags=CURRENT,
        plant=_without_action("ec2:DescribeCapacityReservations"),
        in_cluster=put("EC2NodeClass", "", "spec/capacityReservationSelectorTerms", [{"tags": {"team": "shop"}}]),
    ),
    AwsFault(
        of=("iam-placement-groups",), on="v1-18", version="1.12.1", check="controller_permitted",
        says="ec2:DescribePlacementGroups", tags=CURRENT, plant=_without_action("ec2:DescribePlacementGroups"),
        in_cluster=put("EC2NodeClass", "", "spec/placementGroupSelector", {"name": "close"}),
    ),
    AwsFault(
        of=("iam-list-instance-profiles",), on="v1-13", check="role_profiles_permitted",
        says="iam:ListInstanceProfiles", tags=CURRENT, plant=_without_action("iam:ListInstanceProfiles"),
    ),
    AwsFault(
        of=("iam-zonal-shift",), on="v1-18", version="1.12.1", check="controller_permitted",
        says="arc-zonal-shift:GetManagedResource", tags=CURRENT,
        plant=_without_action("arc-zonal-shift:GetManagedResource"),
        in_cluster=variable("ENABLE_ZONAL_SHIFT", "true"),
    ),
    AwsFault(
        of=("iam-policy-split", "IAM-04"), on="v1-13", check="policy_size_fits", says="more of", tags=("v1.0.14",),
        plant=_full_role, not_in_moto="which policy of a full role may go is a choice of its owner",
    ),
    AwsFault(
        of=("rollback-managed-by-tag", "PATH-06"), on="alpha-028", check="instances_have_claims", says="1 instance",
        tags=EARLIER, plant=_machine_gone,
        not_in_moto="whose the instance is has to be seen before it is ended",
    ),
    AwsFault(
        of=("associate-public-ip", "IAM-07"), on="beta-033", check="public_addresses_stated",
        says="no-public-address requires ec2:AssociatePublicIpAddress", tags=BETA, plant=_asks_for_address,
        not_in_moto="the fix is a field of the node class",
    ),
    AwsFault(
        of=("AWS-03",), on="alpha-031", check="interruption_queue_answers", says="alpha-031", tags=ALPHA,
        plant=_no_queue,
    ),
    AwsFault(
        of=("queue without senders",), on="beta-033", check="interruption_queue_answers", says="events.amazonaws.com",
        tags=BETA, plant=_nobody_sends,
    ),
    AwsFault(
        of=("role of another service",), on="beta-033", check="controller_trust_fits", says="", tags=BETA,
        plant=_trusts_another,
    ),
    AwsFault(
        of=("spot-service-linked-role", "CONV-02"), on="alpha-031", check="spot_role_present", says="", tags=ALPHA,
        plant=_no_spot_role, in_cluster=SPOT_POOL,
        not_in_moto="moto names the role after the service, AWS names it AWSServiceRoleForEC2Spot",
    ),
    AwsFault(
        of=("instance-profile-to-role",), on="alpha-031", check="instance_profiles_have_roles",
        says="MyProfile: no such profile", tags=ALPHA, in_cluster=PROFILE,
    ),
    AwsFault(
        of=("instance-profile-to-role", "a profile without a role"), on="alpha-031",
        check="instance_profiles_have_roles", says="MyProfile: 0 roles", tags=ALPHA, plant=_empty_profile,
        in_cluster=PROFILE,
    ),
    AwsFault(
        of=("CONV-10",), on="finished-032", check="node_roles_may_join", says="absent in IAM",
        tags=("v0.32.10", "v0.37.8"), passes=ANOTHER, in_cluster=another_class,
    ),
    AwsFault(
        of=("CONV-10", "a role without a policy"), on="finished-032", check="node_roles_may_join",
        says="AmazonEC2ContainerRegistryPullOnly", tags=("v0.32.10", "v0.37.8"), passes=ANOTHER,
        plant=_another_role(*NODE_POLICIES[:2]), in_cluster=another_class,
    ),
    AwsFault(
        of=("CONV-10", "a role that the cluster does not know"), on="finished-032", check="node_roles_may_join",
        says="no entry", tags=("v0.32.10", "v0.37.8"), plant=_unknown_role, passes=ANOTHER, in_cluster=another_class,
        not_in_moto="moto has no access entries",
    ),
    AwsFault(
        of=("AWS-04",), on="beta-033", check="instances_have_claims", says="", tags=BETA, plant=_nobodys_instance,
        not_in_moto="whose the instance is has to be seen before it is ended",
    ),
    AwsFault(
        of=("AWS-01",), on="beta-033", check="aws_has_room", says="0 free (640 of 640 used", tags=BETA, plant=_no_vcpus,
        not_in_moto="moto takes no request for a higher quota, and AWS decides on it",
    ),
    AwsFault(
        of=("AWS-01", "subnets that are too small"), on="beta-033", check="aws_has_room", says="11 free (each node",
        tags=BETA, plant=_small_subnets, not_in_moto="which addresses the VPC has left is a choice of its owner",
    ),
)  # fmt: skip

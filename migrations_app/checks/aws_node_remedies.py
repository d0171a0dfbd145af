"""Remedies for what nodes need in AWS: roles, instance profiles, access entries."""

from collections.abc import Iterator
from typing import Any

from migrations_app.checks.aws_remedies import aws, command, compact, encoded, hcl
from migrations_app.checks.remedies import kubectl
from migrations_app.checks.values import Remedy
from migrations_app.inventory.aws import AwsSeen, InstanceProfile
from migrations_app.inventory.aws_place import AwsPlace
from migrations_app.inventory.joining import Fault
from migrations_app.karpenter.iam.node_needs import NODE_NEEDS

SOME_ROLE = "NODE_ROLE"


def profile_made(profile: InstanceProfile, seen: AwsSeen) -> Iterator[Remedy]:
    """How to make the profile, or to put a role into one that has none."""
    known = [one.name for one in seen.node_roles.items if one.role.items]
    role = known[0] if len(known) == 1 else SOME_ROLE
    named = ("--instance-profile-name", profile.name)
    make = () if profile.exists else (command("iam", "create-instance-profile", *named),)
    yield aws(*make, command("iam", "add-role-to-instance-profile", *named, "--role-name", role))
    yield _terraform(hcl("aws_iam_instance_profile", profile.name, arguments={"name": profile.name, "role": role}))


def role_made(name: str, place: AwsPlace) -> Iterator[Remedy]:
    """How to make a role for nodes, with the policies that they need."""
    trust = _trust(place)
    every = [need.policies[0] for need in NODE_NEEDS]
    yield aws(
        command("iam", "create-role", "--role-name", name, "--assume-role-policy-document", compact(trust)),
        *(_attach(name, policy, place=place) for policy in every),
    )
    role = hcl("aws_iam_role", name, arguments={"name": name, "assume_role_policy": encoded(trust)})
    yield _terraform(role, *(_attached(name, policy, place=place) for policy in every))


def let_in(fault: Fault, seen: AwsSeen) -> Iterator[Remedy]:
    """How to mend what keeps nodes of a role out."""
    place = seen.place
    if fault.about == "role":
        yield from role_made(fault.role, place)
    elif fault.about == "policy":
        yield aws(_attach(fault.role, fault.policy, place=place))
        yield _terraform(_attached(fault.role, fault.policy, place=place))
    elif any(cluster.asks_access_entries for cluster in seen.cluster.items):
        yield from _entry(_arn(fault.role, seen), place)
    else:
        yield _row(fault.role, place)


def _entry(arn: str, place: AwsPlace) -> Iterator[Remedy]:
    where = ("--region", place.region, "--cluster-name", place.cluster)
    yield aws(command("eks", "create-access-entry", *where, "--principal-arn", arn, "--type", "EC2_LINUX"))
    arguments = {"cluster_name": place.cluster, "principal_arn": arn, "type": "EC2_LINUX"}
    yield _terraform(hcl("aws_eks_access_entry", arn.rpartition("/")[2], arguments=arguments))


def _row(role: str, place: AwsPlace) -> Remedy:
    return kubectl(
        "kubectl edit configmap aws-auth --namespace kube-system",
        "# add to mapRoles:",
        f"# - rolearn: arn:{place.partition}:iam::{place.account}:role/{role}",
        "#   username: system:node:{{EC2PrivateDNSName}}",
        "#   groups: [system:bootstrappers, system:nodes]",
    )


def _arn(role: str, seen: AwsSeen) -> str:
    found = (one.arn for node_role in seen.node_roles.items for one in node_role.role.items if one.name == role)
    return next(found, f"arn:{seen.place.partition}:iam::{seen.place.account}:role/{role}")


def _trust(place: AwsPlace) -> dict[str, Any]:
    service = "ec2.amazonaws.com.cn" if place.partition == "aws-cn" else "ec2.amazonaws.com"
    statement = {"Effect": "Allow", "Principal": {"Service": service}, "Action": "sts:AssumeRole"}
    return {"Version": "2012-10-17", "Statement": [statement]}


def _attach(role: str, policy: str, *, place: AwsPlace) -> str:
    return command("iam", "attach-role-policy", "--role-name", role, "--policy-arn", _managed(policy, place))


def _attached(role: str, policy: str, *, place: AwsPlace) -> str:
    arguments = {"role": role, "policy_arn": _managed(policy, place)}
    return hcl("aws_iam_role_policy_attachment", f"{role}_{policy}", arguments=arguments)


def _managed(policy: str, place: AwsPlace) -> str:
    return f"arn:{place.partition}:iam::aws:policy/{policy}"


def _terraform(*blocks: str) -> Remedy:
    return Remedy(how="terraform", text="\n\n".join(blocks))

"""Remedies for instances that exist: tags that are missing, and policies that fit the tags that are there.

Remedies for what nodes need in AWS: roles, instance profiles, access entries.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from migrations_app.checks.base import Evidence, Remedy
from migrations_app.checks.remedies.aws import added_to_role, aws
from migrations_app.checks.remedies.commands import kubectl
from migrations_app.checks.render.aws_cli import command, compact
from migrations_app.checks.render.terraform import encoded, hcl
from migrations_app.checks.shell import note
from migrations_app.iam.evaluate import RequestVerdict
from migrations_app.iam.requirements.features import NODE_NEEDS
from migrations_app.iam.requirements.remedies import MANAGED_LIMIT, fitted
from migrations_app.iam.site import AwsSite
from migrations_app.inventory.aws_facts.instances import InstanceRequestAnswer, statements_for
from migrations_app.inventory.aws_facts.node_access import JoinFault
from migrations_app.inventory.objects.aws import AwsSeen, InstanceProfile
from migrations_app.inventory.objects.cluster_arn import AwsPlace, read_role_arn
from migrations_app.karpenter import labels


def within_reach(refused: Sequence[InstanceRequestAnswer], site: AwsSite) -> Iterator[Remedy]:
    """For each role the smallest policy that allows these requests, and what no added statement would lift."""
    for arn in dict.fromkeys(one.role.role.arn for one in refused):
        mine = [one for one in refused if one.role.role.arn == arn]
        open_to_grants = [
            one for one in mine if one.answer.verdict is not RequestVerdict.DENIED and statements_for([one], site)
        ]
        documents = fitted(statements_for(open_to_grants, site), limit=MANAGED_LIMIT)
        yield from added_to_role(arn, f"KarpenterInstances-{site.cluster}", documents=documents)
        stubborn = [one for one in mine if one not in open_to_grants]
        if stubborn:
            yield _stubborn(arn, stubborn)


def _stubborn(arn: str, refused: Sequence[InstanceRequestAnswer]) -> Remedy:
    role = read_role_arn(arn)
    causes = dict.fromkeys(note(f"{one.request.action}: {one.answer.because}") for one in refused)
    return aws(
        "# No added statement lifts this; the one that is named has to change:",
        *causes,
        command("iam", "list-attached-role-policies", "--role-name", role.name if role else "ROLE"),
    )


def retagged(place: AwsPlace, evidence: Iterable[Evidence]) -> Iterator[Remedy]:
    """Commands for instances whose tag with the cluster's name is missing or whose mark of a claim is left over."""
    for row in evidence:
        ids = row.name.removesuffix(" ...").split()
        at = ("--region", place.region, "--resources", *ids, "--tags")
        more = (f"# {row.count} in all; list the others with aws ec2 describe-instances",) if "..." in row.name else ()
        if row.path == f"tags[{labels.CLUSTER_NAME_TAG}]":
            note = "# 1.0 does this by itself once ec2:CreateTags with that key is allowed to it"
            tag = f"Key={labels.CLUSTER_NAME_TAG},Value={place.cluster}"
            yield aws(note, *more, command("ec2", "create-tags", *at, tag))
        elif row.path == f"tags[{labels.MANAGED_BY_CLUSTER}]":
            yield aws(*more, command("ec2", "delete-tags", *at, f"Key={labels.MANAGED_BY_CLUSTER}"))


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


def let_in(fault: JoinFault, seen: AwsSeen) -> Iterator[Remedy]:
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

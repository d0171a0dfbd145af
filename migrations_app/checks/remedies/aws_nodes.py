"""Remedies for nodes in AWS: missing instance tags, roles, instance profiles and access entries."""

import json
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Any

from msgspec.structs import replace

from migrations_app.checks.base import Evidence, Remedy
from migrations_app.checks.changes import AwsCall, ChangeTarget, ObjectPatch, Observation, PersonTask, group, seen_patch
from migrations_app.checks.remedies.aws import aws_call, terraform_remedy
from migrations_app.checks.remedies.commands import NAMES_SHOWN, in_aws, in_cluster
from migrations_app.checks.remedies.iam_trust import WHOLE
from migrations_app.checks.remedies.observations import read_command
from migrations_app.checks.render.aws_cli import compact
from migrations_app.checks.render.terraform import encoded, hcl
from migrations_app.checks.shell import no_option, word
from migrations_app.iam.partitions import ec2_services_of
from migrations_app.iam.requirements.features import NODE_NEEDS
from migrations_app.iam.trust import statements_of
from migrations_app.inventory.aws_facts.node_access import JoinFault
from migrations_app.inventory.objects.aws import AccessEntry, AwsSeen, InstanceProfile
from migrations_app.inventory.objects.cluster_arn import AwsPlace
from migrations_app.inventory.objects.karpenter import ConfigMap
from migrations_app.karpenter import labels

STANDARD = "STANDARD"
"""The type of access entries that let no nodes in."""
OTHER_TYPE = "EKS does not change the type of an access entry; access policies of the one that is deleted go with it"
SHARED_ENTRY = "nodes of another kind use the access entry of this role: to delete it locks them out"
IN_THE_WAY = "# terraform apply fails until the entry of type STANDARD is deleted or imported"


def instance_tag_remedies(place: AwsPlace, evidence: Iterable[Evidence]) -> Iterator[Remedy]:
    """Commands that add the missing cluster tag to instances, or remove a left-over managed-by tag."""
    for row in evidence:
        ids = row.name.removesuffix(" ...").split()
        options = ("--region", place.region, "--resources", *ids, "--tags")
        cut = "..." in row.name
        if row.path == f"tags[{labels.CLUSTER_NAME_TAG}]":
            note = "1.0 does this by itself once ec2:CreateTags with that key is allowed to it"
            tag = f"Key={labels.CLUSTER_NAME_TAG}"
            undo = aws_call("ec2", "delete-tags", *options, tag)
            make = aws_call("ec2", "create-tags", *options, f"{tag},Value={place.cluster}", undo=undo)
            rest = (_listing(place, tag, count=row.count),) if cut else ()
            yield in_aws(group(make, *rest, notes=(note,)))
        elif row.path == f"tags[{labels.MANAGED_BY_CLUSTER}]":
            mark = f"Key={labels.MANAGED_BY_CLUSTER}"
            undo = aws_call("ec2", "create-tags", *options, f"{mark},Value={place.cluster}")
            notes = (f"{row.count} in all; list the others with aws ec2 describe-instances",) if cut else ()
            yield in_aws(group(aws_call("ec2", "delete-tags", *options, mark, undo=undo), notes=notes))


def _listing(place: AwsPlace, tag: str, *, count: int) -> Observation:
    """Lists the instances of the cluster that do not have that tag, if a command names only the first of `count`."""
    key = tag.removeprefix("Key=")
    owned = f"Name=tag:kubernetes.io/cluster/{place.cluster},Values=owned"
    pools = f"Name=tag-key,Values={labels.NODEPOOL},{labels.PROVISIONER_NAME}"
    states = "Name=instance-state-name,Values=pending,running,stopping,stopped"
    query = f"Reservations[].Instances[] | [?!(Tags[?Key=='{key}' && Value=='{place.cluster}'])].InstanceId"
    return read_command(
        *("aws", "ec2", "describe-instances", "--region", place.region, "--filters", owned, pools, states),
        *("--query", query, "--output", "text"),
        notes=(f"The first of {count}; the others, for the same command:",),
    )


def cluster_tag_remedy(place: AwsPlace, ids: Iterable[str]) -> Remedy:
    """Lets 1.0 tag instances with their cluster, and tags the instances with these ids; empty ids are ignored."""
    all_ids = [fromkey for fromkey in dict.fromkeys(ids) if fromkey]
    allow = PersonTask(
        what=f"see that the controller may call ec2:CreateTags with {labels.CLUSTER_NAME_TAG} among aws:TagKeys",
        why="1.0 then writes the tag and the annotation by itself",
        where="the policies of the controller's role, and errors about tagging in its log",
        aws=True,
    )
    if not all_ids or not (place.region and place.cluster):
        return in_aws(allow)
    options = ("--region", place.region, "--resources", *all_ids[:NAMES_SHOWN], "--tags")
    tag = f"Key={labels.CLUSTER_NAME_TAG}"
    undo = aws_call("ec2", "delete-tags", *options, tag)
    tell = f"{labels.CLUSTER_NAME_TAG} is {place.cluster} on each instance, and 1.0 annotates its claim"
    make = replace(aws_call("ec2", "create-tags", *options, f"{tag},Value={place.cluster}", undo=undo), done=tell)
    notes = ["Where it may not be allowed, write the tag yourself; 1.0 then writes the annotation alone"]
    if len(all_ids) > NAMES_SHOWN:
        notes.append(f"and {len(all_ids) - NAMES_SHOWN} more instances, in the same way")
    return in_aws(group(allow, group(make, notes=tuple(notes))))


def remove_tags(settings: ConfigMap, key: str, *, keys: Collection[str]) -> ObjectPatch:
    """Removes these keys from a ConfigMap entry that is a JSON object of tags. Raises ValueError if it is not one."""
    tags_json = (settings.data or {})[key]
    remaining = json.dumps({name: value for name, value in json.loads(tags_json).items() if name not in keys})
    target = ChangeTarget("ConfigMap", settings.name, settings.namespace)
    done = f"data[{key}] is {remaining}"
    return seen_patch(target, {"data": {key: remaining}}, tree={"data": {key: tags_json}}, done=done)


def profile_remedies(profile: InstanceProfile, seen: AwsSeen) -> Iterator[Remedy]:
    """Creates the instance profile, or adds a role to a profile without one."""
    role_names = [node_role.name for node_role in seen.node_roles.items if node_role.role.items]
    named = ("--instance-profile-name", profile.name)
    deletion = aws_call("iam", "delete-instance-profile", *named)
    make = [] if profile.exists else [aws_call("iam", "create-instance-profile", *named, undo=deletion)]
    if len(role_names) != 1 or profile.role_arns:
        yield in_aws(group(*make, _choose_role(profile.name, role_names)))
        return
    on = (*named, "--role-name", role_names[0])
    out = aws_call("iam", "remove-role-from-instance-profile", *on)
    change = group(*make, aws_call("iam", "add-role-to-instance-profile", *on, undo=out))
    yield in_aws(change)
    yield terraform_remedy(
        change, hcl("aws_iam_instance_profile", profile.name, arguments={"name": profile.name, "role": role_names[0]})
    )


def show_profile(name: str) -> Remedy:
    """The command that shows the role of an instance profile."""
    roles = ("--query", "InstanceProfile.Roles[].RoleName", "--output", "text")
    return in_aws(
        read_command("aws", "iam", "get-instance-profile", "--instance-profile-name", no_option(name), *roles)
    )


def _choose_role(profile: str, role_names: Sequence[str]) -> PersonTask:
    command = f"aws iam add-role-to-instance-profile --instance-profile-name {word(profile)} --role-name ROLE"
    return PersonTask(
        what=f"put a role into the profile: {command}",
        why="the cluster does not tell which role its nodes are to have",
        where=f"roles of nodes that were seen: {', '.join(role_names) or 'none'}",
        aws=True,
    )


def role_remedies(name: str, place: AwsPlace) -> Iterator[Remedy]:
    """Creates a node role with the policies that nodes need."""
    trust = _node_trust_policy(place)
    policy_names = [need.policies[0] for need in NODE_NEEDS]
    deletion = aws_call("iam", "delete-role", "--role-name", name)
    words = ("--role-name", name, "--assume-role-policy-document", compact(trust))
    make = aws_call("iam", "create-role", *words, undo=deletion)
    change = group(make, *(_attach_policy(name, policy, place=place) for policy in policy_names))
    yield in_aws(change)
    role = hcl("aws_iam_role", name, arguments={"name": name, "assume_role_policy": encoded(trust)})
    yield terraform_remedy(change, role, *(_attachment_code(name, policy, place=place) for policy in policy_names))


def join_remedies(fault: JoinFault, seen: AwsSeen) -> Iterator[Remedy]:
    """Fixes what keeps nodes with a role from joining the cluster."""
    place = seen.place
    if fault.about == "role":
        yield from role_remedies(fault.role, place)
    elif fault.about == "trust":
        yield from _trust_remedies(fault.role, seen)
    elif fault.about == "policy":
        change = _attach_policy(fault.role, fault.policy, place=place)
        yield in_aws(change)
        yield terraform_remedy(change, _attachment_code(fault.role, fault.policy, place=place))
    elif any(cluster.asks_access_entries for cluster in seen.cluster.items):
        yield from _access_entry_remedies(_role_arn(fault.role, seen), place, entries=_entries(fault.role, seen))
    else:
        yield _aws_auth_remedy(fault.role, place)


def _trust_remedies(name: str, seen: AwsSeen) -> Iterator[Remedy]:
    """Adds EC2 to the trust policy of the role."""
    trust = next(
        (role.trust for one in seen.node_roles.items if one.name == name for role in one.role.items if role.trust), ""
    )
    whole = _node_trust_policy(seen.place)
    document = whole | {"Statement": [*statements_of(trust, name=name), *whole["Statement"]]} if trust else whole
    words = ("iam", "update-assume-role-policy", "--role-name", name, "--policy-document")
    undo = aws_call(*words, trust) if trust else None
    change = group(aws_call(*words, compact(document), undo=undo), notes=(WHOLE,))
    yield in_aws(change)
    code = f"# aws_iam_role {name}\nassume_role_policy = {encoded(document)}"
    yield terraform_remedy(change, code)


def _access_entry_remedies(arn: str, place: AwsPlace, *, entries: Sequence[AccessEntry]) -> Iterator[Remedy]:
    """A new access entry for the role. EKS keeps one entry for a role and does not change its type, so an entry of type
    STANDARD is deleted first. A manual task where the entry lets nodes of another kind in."""
    name = arn.rpartition("/")[2]
    if any(entry.type != STANDARD for entry in entries):
        yield in_aws(PersonTask(what=f"give the node class another role than {name}", why=SHARED_ENTRY, aws=True))
        return
    on = ("--region", place.region, "--cluster-name", place.cluster, "--principal-arn", arn)
    deletion = aws_call("eks", "delete-access-entry", *on)
    creation = aws_call("eks", "create-access-entry", *on, "--type", "EC2_LINUX", undo=deletion)
    before = [replace(deletion, undo=_creation_of(entry, on)) for entry in entries]
    change = group(*before, creation, notes=(OTHER_TYPE,) if before else ())
    yield in_aws(change)
    arguments = {"cluster_name": place.cluster, "principal_arn": arn, "type": "EC2_LINUX"}
    head = (IN_THE_WAY,) if before else ()
    yield terraform_remedy(change, *head, hcl("aws_eks_access_entry", name, arguments=arguments))


def _creation_of(entry: AccessEntry, on: Sequence[str]) -> AwsCall:
    """The call that makes an access entry as it was; access policies are associated with it by a person."""
    groups = ("--kubernetes-groups", *entry.groups) if entry.groups else ()
    username = ("--username", entry.username) if entry.username and entry.type == STANDARD else ()
    kind = ("--type", entry.type) if entry.type else ()
    return aws_call("eks", "create-access-entry", *on, *kind, *groups, *username)


def _entries(role: str, seen: AwsSeen) -> tuple[AccessEntry, ...]:
    return tuple(entry for one in seen.node_roles.items if one.name == role for entry in one.access_entry.items)


def show_access_entry(role: str, place: AwsPlace) -> Iterator[Remedy]:
    """The command that shows the access entry for the role; it lists all entries if the role's ARN is unknown. Nothing
    if the cluster's name or region is unknown."""
    where = ("--region", place.region, "--cluster-name", place.cluster)
    if not (place.region and place.cluster):
        return
    if not (role and place.account):
        notes = ("The role that nodes of the class have has to be among them",)
        yield in_aws(read_command("aws", "eks", "list-access-entries", *where, notes=notes))
        return
    arn = f"arn:{place.partition}:iam::{place.account}:role/{role}"
    notes = ("There has to be one, of type EC2_LINUX, or EC2_WINDOWS for Windows",)
    yield in_aws(read_command("aws", "eks", "describe-access-entry", *where, "--principal-arn", arn, notes=notes))


def _aws_auth_remedy(role: str, place: AwsPlace) -> Remedy:
    row = (
        "add to mapRoles:",
        f"- rolearn: arn:{place.partition}:iam::{place.account}:role/{role}",
        "  username: system:node:{{EC2PrivateDNSName}}",
        "  groups: [system:bootstrappers, system:nodes]",
    )
    target = ChangeTarget("ConfigMap", "aws-auth", "kube-system", resource="configmap")
    reason = "mapRoles is one text for all roles, and a wrong one keeps every node out"
    return in_cluster(PersonTask(target=target, what="a row of mapRoles more", why=reason, notes=row))


def _role_arn(role: str, seen: AwsSeen) -> str:
    arns = (
        role_row.arn
        for node_role in seen.node_roles.items
        for role_row in node_role.role.items
        if role_row.name == role
    )
    return next(arns, f"arn:{seen.place.partition}:iam::{seen.place.account}:role/{role}")


def _node_trust_policy(place: AwsPlace) -> dict[str, Any]:
    service = next(reversed(ec2_services_of(place.partition)), "ec2.amazonaws.com")
    statement = {"Effect": "Allow", "Principal": {"Service": service}, "Action": "sts:AssumeRole"}
    return {"Version": "2012-10-17", "Statement": [statement]}


def _attach_policy(role: str, policy: str, *, place: AwsPlace) -> AwsCall:
    on = ("--role-name", role, "--policy-arn", _policy_arn(policy, place))
    return aws_call("iam", "attach-role-policy", *on, undo=aws_call("iam", "detach-role-policy", *on))


def _attachment_code(role: str, policy: str, *, place: AwsPlace) -> str:
    arguments = {"role": role, "policy_arn": _policy_arn(policy, place)}
    return hcl("aws_iam_role_policy_attachment", f"{role}_{policy}", arguments=arguments)


def _policy_arn(policy: str, place: AwsPlace) -> str:
    return f"arn:{place.partition}:iam::aws:policy/{policy}"

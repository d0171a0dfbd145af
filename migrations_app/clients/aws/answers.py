"""Converts AWS API responses into values. A missing optional field reads as empty; a wrong shape raises KeyError,
TypeError or ValueError.
"""

import json
from collections import Counter, defaultdict
from collections.abc import Iterable
from typing import Any

from migrations_app.iam.requirements.remedies import size_of
from migrations_app.inventory.aws_facts.instances import is_kept_tag
from migrations_app.inventory.aws_facts.simulation import Reply
from migrations_app.inventory.objects.aws import (
    AccessEntry,
    Association,
    AttachedPolicy,
    AwsRole,
    EksCluster,
    InstanceProfile,
    OidcProvider,
    PolicyDocument,
    Queue,
    TaggedInstances,
)

AwsAnswer = dict[str, Any]

SAMPLES = 3


def eks_cluster(document: AwsAnswer) -> EksCluster:
    return EksCluster(
        name=document["name"],
        arn=document["arn"],
        status=document.get("status", ""),
        version=document.get("version", ""),
        endpoint=document.get("endpoint", ""),
        ca_data=document.get("certificateAuthority", {}).get("data", ""),
        issuer=document.get("identity", {}).get("oidc", {}).get("issuer", ""),
        authentication_mode=document.get("accessConfig", {}).get("authenticationMode", ""),
        vpc=str(document.get("resourcesVpcConfig", {}).get("vpcId", "")),
    )


def role(document: AwsAnswer) -> AwsRole:
    return AwsRole(
        name=document["RoleName"],
        arn=document["Arn"],
        path=document.get("Path", "/"),
        trust=text_of(document.get("AssumeRolePolicyDocument", {})),
        boundary_arn=document.get("PermissionsBoundary", {}).get("PermissionsBoundaryArn", ""),
    )


def managed_policy(policy: AwsAnswer, version: AwsAnswer) -> PolicyDocument:
    text = text_of(version["Document"])
    return PolicyDocument(
        name=policy["PolicyName"],
        kind=AttachedPolicy(name=policy["PolicyName"], arn=policy["Arn"]).kind,
        text=text,
        size=_size(text),
        arn=policy["Arn"],
        version=version.get("VersionId", ""),
    )


def inline_policy(document: AwsAnswer) -> PolicyDocument:
    text = text_of(document["PolicyDocument"])
    return PolicyDocument(name=document["PolicyName"], kind="inline", text=text, size=_size(text))


def text_of(document: object) -> str:
    """A policy document as JSON text. botocore has already decoded it, except where it is not JSON."""
    return document if isinstance(document, str) else json.dumps(document, separators=(",", ":"), ensure_ascii=False)


def _size(text: str) -> int:
    try:
        return size_of(json.loads(text))
    except ValueError:
        return len("".join(text.split()))


def instance_profile(document: AwsAnswer) -> InstanceProfile:
    arns = tuple(role_document["Arn"] for role_document in document.get("Roles", ()))
    return InstanceProfile(name=document["InstanceProfileName"], exists=True, arn=document["Arn"], role_arns=arns)


def oidc_provider(arn: str, document: AwsAnswer) -> OidcProvider:
    return OidcProvider(arn=arn, url=document.get("Url", ""), client_ids=tuple(document.get("ClientIDList", ())))


def association(document: AwsAnswer) -> Association:
    return Association(
        id=document["associationId"],
        namespace=document["namespace"],
        service_account=document["serviceAccount"],
        role_arn=document.get("roleArn", ""),
        target_role_arn=document.get("targetRoleArn", ""),
        external_id=document.get("externalId", ""),
        session_tags=not document.get("disableSessionTags", False),
        limited=bool(document.get("policy")),
    )


def access_entry(document: AwsAnswer) -> AccessEntry:
    return AccessEntry(
        principal_arn=document["principalArn"],
        type=document.get("type", ""),
        groups=tuple(document.get("kubernetesGroups", ())),
        username=document.get("username", ""),
    )


def queue(name: str, document: AwsAnswer) -> Queue:
    return Queue(
        name=name,
        exists=True,
        arn=document["QueueArn"],
        policy=document.get("Policy", ""),
        kms_key=document.get("KmsMasterKeyId", ""),
    )


def reply(document: AwsAnswer) -> Reply:
    boundary = document.get("PermissionsBoundaryDecisionDetail", {}).get("AllowedByPermissionsBoundary", True)
    organization = document.get("OrganizationsDecisionDetail", {}).get("AllowedByOrganizations", True)
    return Reply(
        action=document["EvalActionName"],
        decision=document["EvalDecision"],
        missing=tuple(sorted(document.get("MissingContextValues", ()))),
        by_boundary=not boundary,
        by_organization=not organization,
    )


def tagged_instances(instances: Iterable[AwsAnswer]) -> tuple[TaggedInstances, ...]:
    """Groups of instances with equal tags, largest first. Only tags that controllers use to list or judge instances
    are kept.
    """
    counts: Counter[tuple[tuple[str, str], ...]] = Counter()
    samples: dict[tuple[tuple[str, str], ...], list[str]] = defaultdict(list)
    for instance in instances:
        tags = tuple(
            sorted((tag["Key"], tag.get("Value", "")) for tag in instance.get("Tags", ()) if is_kept_tag(tag["Key"]))
        )
        counts[tags] += 1
        if len(samples[tags]) < SAMPLES:
            samples[tags].append(instance["InstanceId"])
    return tuple(
        TaggedInstances(tags=tags, count=count, samples=tuple(samples[tags])) for tags, count in counts.most_common()
    )

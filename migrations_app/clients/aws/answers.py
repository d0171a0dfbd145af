"""Converts AWS API responses into values. A missing optional field reads as empty; a wrong shape raises KeyError,
TypeError or ValueError.
"""

import json
from collections import Counter, defaultdict
from collections.abc import Iterable
from typing import Any

from migrations_app.iam.requirements.remedies import size_of
from migrations_app.inventory.aws_facts.instances import telling
from migrations_app.inventory.aws_facts.simulation import Reply
from migrations_app.inventory.objects.aws import (
    AccessEntry,
    Association,
    AttachedPolicy,
    EksCluster,
    InstanceProfile,
    OidcProvider,
    PolicyDocument,
    Queue,
    Role,
    TaggedInstances,
)

Answer = dict[str, Any]

SAMPLES = 3


def eks_cluster(found: Answer) -> EksCluster:
    return EksCluster(
        name=found["name"],
        arn=found["arn"],
        status=found.get("status", ""),
        version=found.get("version", ""),
        platform_version=found.get("platformVersion", ""),
        endpoint=found.get("endpoint", ""),
        ca_data=found.get("certificateAuthority", {}).get("data", ""),
        issuer=found.get("identity", {}).get("oidc", {}).get("issuer", ""),
        authentication_mode=found.get("accessConfig", {}).get("authenticationMode", ""),
        auto_mode=bool(found.get("computeConfig", {}).get("enabled", False)),
        vpc=str(found.get("resourcesVpcConfig", {}).get("vpcId", "")),
    )


def role(found: Answer) -> Role:
    return Role(
        name=found["RoleName"],
        arn=found["Arn"],
        path=found.get("Path", "/"),
        trust=text_of(found.get("AssumeRolePolicyDocument", {})),
        boundary_arn=found.get("PermissionsBoundary", {}).get("PermissionsBoundaryArn", ""),
        max_session_seconds=found.get("MaxSessionDuration", 3600),
    )


def managed_policy(policy: Answer, version: Answer) -> PolicyDocument:
    text = text_of(version["Document"])
    return PolicyDocument(
        name=policy["PolicyName"],
        kind=AttachedPolicy(name=policy["PolicyName"], arn=policy["Arn"]).kind,
        text=text,
        size=_size(text),
        arn=policy["Arn"],
        version=version.get("VersionId", ""),
    )


def inline_policy(found: Answer) -> PolicyDocument:
    text = text_of(found["PolicyDocument"])
    return PolicyDocument(name=found["PolicyName"], kind="inline", text=text, size=_size(text))


def text_of(document: object) -> str:
    """A policy document as JSON text. botocore has already decoded it, except where it is not JSON."""
    return document if isinstance(document, str) else json.dumps(document, separators=(",", ":"), ensure_ascii=False)


def _size(text: str) -> int:
    try:
        return size_of(json.loads(text))
    except ValueError:
        return len("".join(text.split()))


def instance_profile(found: Answer) -> InstanceProfile:
    arns = tuple(one["Arn"] for one in found.get("Roles", ()))
    return InstanceProfile(name=found["InstanceProfileName"], exists=True, arn=found["Arn"], role_arns=arns)


def oidc_provider(arn: str, found: Answer) -> OidcProvider:
    return OidcProvider(arn=arn, url=found.get("Url", ""), client_ids=tuple(found.get("ClientIDList", ())))


def association(found: Answer) -> Association:
    return Association(
        id=found["associationId"],
        namespace=found["namespace"],
        service_account=found["serviceAccount"],
        role_arn=found.get("roleArn", ""),
        target_role_arn=found.get("targetRoleArn", ""),
    )


def access_entry(found: Answer) -> AccessEntry:
    return AccessEntry(
        principal_arn=found["principalArn"],
        type=found.get("type", ""),
        groups=tuple(found.get("kubernetesGroups", ())),
        username=found.get("username", ""),
    )


def queue(name: str, found: Answer) -> Queue:
    retention = str(found.get("MessageRetentionPeriod", ""))
    return Queue(
        name=name,
        exists=True,
        arn=found["QueueArn"],
        policy=found.get("Policy", ""),
        retention_seconds=int(retention) if retention.isdigit() else None,
        kms_key=found.get("KmsMasterKeyId", ""),
        managed_encryption=found.get("SqsManagedSseEnabled") == "true",
    )


def reply(found: Answer) -> Reply:
    boundary = found.get("PermissionsBoundaryDecisionDetail", {}).get("AllowedByPermissionsBoundary", True)
    organization = found.get("OrganizationsDecisionDetail", {}).get("AllowedByOrganizations", True)
    return Reply(
        action=found["EvalActionName"],
        decision=found["EvalDecision"],
        missing=tuple(sorted(found.get("MissingContextValues", ()))),
        by_boundary=not boundary,
        by_organization=not organization,
    )


def tagged_instances(instances: Iterable[Answer]) -> tuple[TaggedInstances, ...]:
    """Groups of instances with equal tags, largest first. Only tags that controllers use to list or judge instances
    are kept.
    """
    counts: Counter[tuple[tuple[str, str], ...]] = Counter()
    samples: dict[tuple[tuple[str, str], ...], list[str]] = defaultdict(list)
    for one in instances:
        tags = tuple(sorted((tag["Key"], tag.get("Value", "")) for tag in one.get("Tags", ()) if telling(tag["Key"])))
        counts[tags] += 1
        if len(samples[tags]) < SAMPLES:
            samples[tags].append(one["InstanceId"])
    return tuple(
        TaggedInstances(tags=tags, count=count, samples=tuple(samples[tags])) for tags, count in counts.most_common()
    )

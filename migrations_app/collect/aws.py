"""Reads AWS into the inventory: the caller's identity, the EKS cluster, then every AWS object that its objects name.

Policy documents from the user can replace those read from AWS.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import fields, is_dataclass, replace
from typing import Any

from migrations_app.clients.aws.client import AwsApi
from migrations_app.collect.aws_capacity import capacity_jobs
from migrations_app.collect.aws_reader import AwsReading, part, read_one
from migrations_app.collect.aws_roles import controller_roles, instance_profiles, node_roles, simulation
from migrations_app.errors import InvalidInput
from migrations_app.iam.policy import parse_policy
from migrations_app.iam.requirements.remedies import document_of, size_of
from migrations_app.iam.site import AwsSite, role_name
from migrations_app.inventory.aws_facts import names
from migrations_app.inventory.aws_facts.image_parameters import image_parameters
from migrations_app.inventory.aws_facts.names import auth_rows
from migrations_app.inventory.aws_facts.permissions import controller_role
from migrations_app.inventory.inventory import AWS_PREFIX, Inventory
from migrations_app.inventory.objects.aws import (
    AWS_PART_NAMES,
    NO_AWS,
    AwsSeen,
    Caller,
    ControllerRole,
    NodeRole,
    OidcProvider,
    PolicyDocument,
    Queue,
)
from migrations_app.inventory.parts import NOT_ASKED, Part, Seen, Unseen
from migrations_app.readiness.report import CollectResult, PartLine
from migrations_app.readiness.stage import detect_running_release

MAX_CONCURRENT_READS = 4
"""Number of parts read concurrently: few, because IAM throttles early."""
SPOT_ROLE = "AWSServiceRoleForEC2Spot"
AGENT = "eks-pod-identity-agent"
QUEUE = "aws.interruptionQueueName"


def collect_aws(api: AwsApi, inventory: Inventory, *, releases: Sequence[str] | None = None) -> AwsSeen:
    """Everything that AWS shows about the cluster; AWS errors become unseen parts and are not raised.

    `releases` are evaluated with SimulatePrincipalPolicy: None means the running release, an empty list none. With
    credentials of another account nothing is read, since equal names there belong to other objects.
    """
    identity: Part[Caller] = part(lambda: read_one(api.caller()))
    stop = _why_not_read(api, identity)
    if stop is not None:
        return _all_unseen(api, inventory, identity=identity, why=stop)
    place = replace(api.place, account=identity.items[0].account)
    cluster = part(lambda: read_one(api.cluster()))
    reading = AwsReading(api=api, inventory=inventory, place=place, cluster=cluster)
    versions = _running(inventory) if releases is None else tuple(releases)
    return AwsSeen(place=place, identity=identity, cluster=cluster, **_parts(reading, versions))


def _why_not_read(api: AwsApi, identity: Part[Caller]) -> Unseen | None:
    if isinstance(identity, Unseen):
        return identity
    reached, expected = identity.items[0].account, api.place.account
    if not expected or reached == expected:
        return None
    return Unseen("wrong_account", f"these credentials are of account {reached}, the cluster is in {expected}")


def _all_unseen(api: AwsApi, inventory: Inventory, *, identity: Part[Caller], why: Unseen) -> AwsSeen:
    unseen: dict[str, Any] = dict.fromkeys(AWS_PART_NAMES, why)
    return AwsSeen(place=api.place, **unseen | {"identity": identity, "aws_auth": auth_rows(inventory.aws_auth)})


def _running(inventory: Inventory) -> tuple[str, ...]:
    release = detect_running_release(inventory).release
    return (str(release),) if release else ()


def _parts(reading: AwsReading, releases: Sequence[str]) -> dict[str, Any]:
    jobs: dict[str, Callable[[], Part[Any]]] = {
        "controller_roles": lambda: controller_roles(reading),
        "instance_profiles": lambda: instance_profiles(reading),
        "queue": lambda: _queue(reading),
        "oidc_provider": lambda: _oidc_provider(reading),
        "spot_role": lambda: read_one(reading.api.role(SPOT_ROLE)),
        "pod_identity_agent": lambda: read_one(reading.api.addon_status(AGENT)),
        "instances": lambda: Seen(reading.api.tagged_instances()),
        **capacity_jobs(reading),
    }
    with ThreadPoolExecutor(MAX_CONCURRENT_READS, thread_name_prefix="aws") as pool:
        parts = dict(zip(jobs, pool.map(part, jobs.values()), strict=True))
    parts["node_roles"] = part(lambda: node_roles(reading, parts["instance_profiles"]))
    parts["aws_auth"] = auth_rows(reading.inventory.aws_auth)
    site = site_of(reading, parts["node_roles"])
    parts["simulation"] = simulation(reading, parts["controller_roles"], releases=releases, site=site)
    return parts


def _queue(reading: AwsReading) -> Part[Queue]:
    named = names.setting(reading.inventory, QUEUE)
    if isinstance(named, Unseen) or not named.items:
        return named if isinstance(named, Unseen) else Seen(())
    name = named.items[0]
    if not names.QUEUE_NAME.fullmatch(name):
        return Unseen("bad_name", f"{name[:100]!r} is not the name of a queue")
    queue = reading.api.queue(name, account=reading.place.account)
    return read_one(queue or Queue(name=name, exists=False))


def _oidc_provider(reading: AwsReading) -> Part[OidcProvider]:
    if isinstance(reading.cluster, Unseen):
        return reading.cluster
    place = reading.place
    issuers = [cluster.issuer.removeprefix("https://") for cluster in reading.cluster.items if cluster.issuer]
    arns = [f"arn:{place.partition}:iam::{place.account}:oidc-provider/{issuer}" for issuer in issuers]
    return Seen(tuple(provider for arn in arns if (provider := reading.api.oidc_provider(arn))))


def site_of(reading: AwsReading, roles: Part[NodeRole]) -> AwsSite:
    """The names that the requests of this cluster are evaluated with."""
    arns = [role.arn for node_role in roles.items for role in node_role.role.items]
    return AwsSite(
        cluster=reading.place.cluster,
        account=reading.place.account,
        region=reading.place.region,
        partition=reading.place.partition,
        node_roles=tuple(map(role_name, arns)),
        queue=next(iter(names.setting(reading.inventory, QUEUE).items), ""),
        parameters=image_parameters(reading.inventory),
        extra_tags=names.class_tags(reading.inventory),
    )


def add_aws(collected: CollectResult, api: AwsApi | None) -> CollectResult:
    """The collection with everything that AWS shows about it; unchanged without access to AWS."""
    if api is None:
        return collected
    started = time.monotonic()
    seen = collect_aws(api, collected.inventory)
    return _with(collected, seen, seconds=round(time.monotonic() - started, 3))


def refuse_aws(collected: CollectResult, reason: Unseen) -> CollectResult:
    """The collection with every AWS part unseen for this reason: access is configured but does not work."""
    parts: dict[str, Any] = dict.fromkeys(AWS_PART_NAMES, reason)
    return _with(collected, replace(NO_AWS, **parts), seconds=0.0)


def with_policies(collected: CollectResult, documents: Mapping[str, bytes]) -> CollectResult:
    """The collection with these policies (by name) as the controller's; unchanged without policies.

    They replace those read from AWS. If one cannot be parsed, the part is unseen with the reason.
    """
    if not documents:
        return collected
    roles = _given_roles(documents, arn=controller_role(collected.inventory))
    return _with(collected, replace(collected.inventory.aws, controller_roles=roles), seconds=0.0)


def _given_roles(documents: Mapping[str, bytes], *, arn: str) -> Part[ControllerRole]:
    try:
        policies = tuple(_document(name, text) for name, text in sorted(documents.items()))
    except InvalidInput as wrong:
        return Unseen(wrong.code, str(wrong))
    role = ControllerRole(found_by="given", arn=arn, role=NOT_ASKED, policies=Seen(policies), boundary=Seen(()))
    return Seen((role,))


def _document(name: str, text: bytes) -> PolicyDocument:
    policy = parse_policy(text, name=name)
    size = size_of(document_of(policy.statements))
    return PolicyDocument(name=name, kind="customer_managed", text=text.decode("utf-8-sig"), size=size)


def _with(collected: CollectResult, seen: AwsSeen, *, seconds: float) -> CollectResult:
    own = tuple(line for line in collected.parts if not line.name.startswith(AWS_PREFIX))
    lines = (_line(name, seen.part(name), seconds=seconds) for name in AWS_PART_NAMES if seen.part(name) != NOT_ASKED)
    return CollectResult(replace(collected.inventory, aws=seen), (*own, *lines))


def _line(name: str, part: Part[object], *, seconds: float) -> PartLine:
    if isinstance(part, Unseen):
        return PartLine(name=AWS_PREFIX + name, seen=False, why=part.why, detail=part.detail[:500], seconds=seconds)
    doubts = [f"{bad.name}: {bad.why}" for bad in part.quarantined]
    doubts += [f"{inner}: {unseen.why}" for item in part.items for inner, unseen in _unseen_within(item)]
    first = doubts[0] if doubts else ""
    return PartLine(
        name=AWS_PREFIX + name, seen=True, count=part.count, quarantined=len(doubts), detail=first, seconds=seconds
    )


def _unseen_within(item: object) -> list[tuple[str, Unseen]]:
    """The unseen parts within an item, such as the policies of one role."""
    if not is_dataclass(item):
        return []
    inner = ((field.name, getattr(item, field.name)) for field in fields(item))
    return [(name, part) for name, part in inner if isinstance(part, Unseen) and part != NOT_ASKED]
